/** A chart in a box of the page, as wide as the box. It is created again if its lines change; new data is only set. */
import type { RefObject } from "preact";
import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import { appearance } from "./appearance.ts";
import { clockTime } from "./format.ts";
import { unit } from "./unit.ts";

/** The style that all charts share, in the colours of the page. */
export interface ChartStyle {
  /** A colour of the page by its name. */
  readonly colour: (name: string) => string;
  readonly axis: uPlot.Axis;
  /** The axis for times. */
  readonly time: uPlot.Axis;
}

interface Chart {
  /** Height of the chart in pixels. */
  readonly height: number;
  /** The share of the window's height that the chart takes if that is more. */
  readonly share: number;
  /** If the key changes, the chart is created again. */
  readonly key: string;
  /** The data of the chart. It must be the same object while nothing changes. */
  readonly data: uPlot.AlignedData;
  readonly options: (style: ChartStyle) => Omit<uPlot.Options, "width" | "height">;
}

/** Shows a chart. Returns the reference for the element that contains it. */
export function useChart({
  height,
  share,
  key,
  data,
  options,
}: Chart): RefObject<HTMLDivElement | null> {
  const box = useRef<HTMLDivElement>(null);
  const chart = useRef<uPlot | undefined>(undefined);
  useEffect(() => {
    const element = box.current;
    if (element === null) return undefined;
    const size = () => ({
      width: element.clientWidth,
      height: Math.round(Math.max(height * unit(), innerHeight * share)),
    });
    // Room for the half of the last time that is beside its line.
    const padding: uPlot.Padding = [null, 32 * unit(), null, null];
    const style = styleOf(element);
    chart.current = new uPlot({ padding, ...options(style), ...size() }, data, element);
    const observer = new ResizeObserver(() => chart.current?.setSize(size()));
    observer.observe(element);
    // The window's height alone may change.
    observer.observe(document.documentElement);
    return () => {
      observer.disconnect();
      chart.current?.destroy();
      chart.current = undefined;
    };
  }, [key, appearance.value]);
  useEffect(() => {
    chart.current?.setData(data);
  }, [data]);
  return box;
}

function styleOf(element: HTMLElement): ChartStyle {
  const style = getComputedStyle(element);
  const colour = (name: string) => style.getPropertyValue(`--${name}`).trim();
  const axis = {
    stroke: colour("muted"),
    grid: { stroke: colour("surface-3"), width: 1 },
    ticks: { show: false },
    font: `${12 * unit()}px system-ui, sans-serif`,
  };
  const values: uPlot.Axis.Values = (_, ticks) => ticks.map((tick) => clockTime(tick * 1_000));
  return { colour, axis, time: { ...axis, values, space: 90 * unit(), size: 40 * unit() } };
}

/** The range of a y axis: from 0 to 10 % above the largest value. `least`: the smallest upper end. */
export function fromZero(least: number): uPlot.Scale.Range {
  return (_, __, most) => [0, Math.max(most * 1.1, least)];
}
