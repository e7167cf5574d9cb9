/**
 * The map as a picture. While the person pans or zooms, the last drawn picture is copied and scaled; after that it is
 * drawn again. Arrows, hover, selection and the mark for keyboard use are on a second canvas.
 */
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { appearance } from "./appearance.ts";
import { arrowsOf, movesText } from "./arrows.ts";
import { drawArrow } from "./draw-arrow.ts";
import { counted, percent, perHour, plain } from "./format.ts";
import { aboutRow, categoriesOf, groupOf, isMeant, rowNameOf } from "./node-list.ts";
import { type Drawn, paint, paletteOf, prepared, type Size, tileGap, type View } from "./paint.ts";
import { statesText } from "./pieces.tsx";
import { go, place } from "./place.ts";
import { layoutOf, placeOfSlot, type Slotted, slotAt, slotted } from "./slots.ts";
import { unit } from "./unit.ts";
import type { MapRow } from "./wire.ts";

const WHOLE: View = { scale: 1, x: 0, y: 0 };
const MOST_SCALE = 24;
/**
 * Pixels of movement from which a press of the button is a drag. Less counts as a click, because hands are not steady.
 */
const DRAG = 5;
/** Milliseconds after the last movement until the map is drawn again. */
const REST_MS = 120;
const NOTHING: Slotted = { groups: new Map() };

export function MapCanvas({
  rows,
  marked,
}: {
  rows: ReadonlyMap<string, MapRow>;
  marked: string | undefined;
}) {
  const frame = useRef<HTMLDivElement>(null);
  const base = useRef<HTMLCanvasElement>(null);
  const over = useRef<HTMLCanvasElement>(null);
  const known = useRef<{ group: string; slots: Slotted }>({ group: "", slots: NOTHING });
  const [size, setSize] = useState({ width: 0, height: 0 });
  const [view, setView] = useState(WHOLE);
  const [hovered, setHovered] = useState<{ name: string; x: number; y: number } | undefined>();
  const { group, fill, filter, about } = place.value;
  const theme = appearance.value;

  useEffect(() => {
    const element = frame.current;
    if (element === null) return undefined;
    const observer = new ResizeObserver(() =>
      setSize({ width: element.clientWidth / unit(), height: element.clientHeight / unit() }),
    );
    observer.observe(element);
    const fit = () => setView(WHOLE);
    addEventListener("map-fit", fit);
    return () => {
      observer.disconnect();
      removeEventListener("map-fit", fit);
    };
  }, []);

  const drawn = useMemo((): Drawn => {
    const before = known.current.group === group ? known.current.slots : NOTHING;
    const wanted = [...rows].map(([name, row]) => [name, groupOf(row, group)] as const);
    wanted.sort(([a], [b]) => {
      const [x = "", y = ""] = [rows.get(a)?.created, rows.get(b)?.created];
      return x < y ? -1 : x > y ? 1 : a < b ? -1 : 1;
    });
    const slots = slotted(before, new Map(wanted));
    known.current = { group, slots };
    const isGrouped = [...rows.values()].some(({ nodes }) => nodes !== undefined);
    const meant = [...rows].filter(([name, row]) => isMeant(name, row, filter));
    return {
      slots,
      layout: layoutOf(slots, size.width, size.height),
      rows,
      fill,
      categories: categoriesOf(rows.values(), fill),
      // The page does not know which nodes of a group match the filter, so no group is drawn pale.
      meant: filter === "" || isGrouped ? undefined : new Set(meant.map(([name]) => name)),
    };
  }, [rows, group, fill, filter, size]);

  const selected = rowNameOf(about);
  const arrows = arrowsOf(rows, [hovered?.name, marked, selected]);
  useBase(base, drawn, view, size, theme);
  useEffect(() => {
    const context = prepared(over.current, size);
    if (context === undefined || frame.current === null) return;
    const colours = paletteOf(frame.current);
    const edge = (drawn.layout.tile - tileGap(drawn.layout.tile)) * view.scale;
    const middleOf = (name: string) => {
      const spot = spotOf(drawn, name);
      if (spot === undefined) return undefined;
      return {
        x: spot.x * view.scale + view.x + edge / 2,
        y: spot.y * view.scale + view.y + edge / 2,
      };
    };
    for (const { from, to, pods } of arrows.drawn)
      drawArrow(context, { from: middleOf(from), to: middleOf(to), pods }, colours);
    for (const [name, width] of [
      [hovered?.name, 1],
      [marked, 2],
      [selected, 3],
    ] as const) {
      const spot = name === undefined ? undefined : spotOf(drawn, name);
      if (spot === undefined) continue;
      context.strokeStyle = colours.text;
      context.lineWidth = width;
      context.strokeRect(
        spot.x * view.scale + view.x - 1,
        spot.y * view.scale + view.y - 1,
        edge + 2,
        edge + 2,
      );
    }
  }, [drawn, view, size, hovered, marked, about, theme]);

  const nameAt = (x: number, y: number): string | undefined => {
    const spot = slotAt(drawn.layout, (x - view.x) / view.scale, (y - view.y) / view.scale);
    if (spot === undefined) return undefined;
    const slots = drawn.slots.groups.get(spot.group)?.slots ?? [];
    for (const [name, slot] of slots) if (slot === spot.slot) return name;
    return undefined;
  };
  const hoveredRow = hovered === undefined ? undefined : rows.get(hovered.name);
  return (
    <div
      ref={frame}
      class="map"
      aria-hidden="true"
      {...useMovement(view, setView, nameAt, setHovered, (name) =>
        go({ about: aboutRow(name, rows.get(name)) }),
      )}
    >
      <canvas ref={base} />
      <canvas ref={over} class="overlay" />
      {hovered !== undefined && hoveredRow !== undefined && (
        <div
          class="tip"
          style={{
            left: `${Math.max(0, Math.min(hovered.x + 12, size.width - 240)) * unit()}px`,
            top: `${Math.max(0, Math.min(hovered.y + 12, size.height - 84)) * unit()}px`,
          }}
        >
          <b>{plain(hovered.name)}</b>
          {hoveredRow.nodes === undefined ? "" : ` · ${counted(hoveredRow.nodes, "node")}`}
          <br />
          {[hoveredRow.type, hoveredRow.zone, hoveredRow.capacity].filter(Boolean).join(" · ")}
          <br />
          {perHour(hoveredRow.price)} · CPU {percent(...hoveredRow.cpu)} ·{" "}
          {counted(hoveredRow.pods, "pod")}
          <br />
          {statesText(hoveredRow)}
          {hoveredRow.to === undefined
            ? ""
            : ` · pods move to ${counted(hoveredRow.to.length, "node")}`}
          {arrows.drawn.length < arrows.wanted ? ` · ${movesText(arrows)}` : ""}
          {hoveredRow.held === undefined ? "" : ` · held: ${plain(hoveredRow.held)}`}
        </div>
      )}
    </div>
  );
}

function spotOf({ slots, layout }: Drawn, name: string) {
  for (const box of layout.boxes) {
    const slot = slots.groups.get(box.name)?.slots.get(name);
    if (slot !== undefined) return placeOfSlot(box, slot, layout.tile);
  }
  return undefined;
}

/** Draws the tiles at once if they changed. While the view moves, scales the last picture instead. */
function useBase(
  canvas: { readonly current: HTMLCanvasElement | null },
  drawn: Drawn,
  view: View,
  size: Size,
  theme: number,
): void {
  const last = useRef<{ picture: HTMLCanvasElement; view: View; drawn: Drawn } | undefined>(
    undefined,
  );
  useEffect(() => {
    const redraw = () => {
      const element = canvas.current;
      const context = prepared(element, size);
      if (context === undefined || element === null) return;
      const colours = paletteOf(element);
      paint(context, drawn, colours, { view, ...size });
      const picture = document.createElement("canvas");
      picture.width = element.width;
      picture.height = element.height;
      picture.getContext("2d")?.drawImage(element, 0, 0);
      last.current = { picture, view, drawn };
    };
    const before = last.current;
    if (before === undefined || before.drawn !== drawn || before.view === view) {
      redraw();
      return undefined;
    }
    const context = prepared(canvas.current, size);
    const scale = view.scale / before.view.scale;
    const [x, y] = [view.x - before.view.x * scale, view.y - before.view.y * scale];
    context?.drawImage(before.picture, x, y, size.width * scale, size.height * scale);
    const rest = setTimeout(redraw, REST_MS);
    return () => clearTimeout(rest);
  }, [drawn, view, size, theme]);
}

/** Handles the pointer: the wheel zooms at the pointer, dragging pans, a click opens a node. */
function useMovement(
  view: View,
  setView: (view: View) => void,
  nameAt: (x: number, y: number) => string | undefined,
  setHovered: (spot: { name: string; x: number; y: number } | undefined) => void,
  open: (name: string) => void,
) {
  // Pixels of movement since the button was pressed. The browser sends a click also at the end of a
  // drag.
  const travelled = useRef(0);
  const here = (event: MouseEvent) => {
    const box = (event.currentTarget as HTMLElement).getBoundingClientRect();
    return { x: (event.clientX - box.left) / unit(), y: (event.clientY - box.top) / unit() };
  };
  return {
    onWheel: (event: WheelEvent) => {
      event.preventDefault();
      const { x, y } = here(event);
      const factor = Math.exp(-event.deltaY / 400);
      const scale = Math.max(1, Math.min(MOST_SCALE, view.scale * factor));
      const by = scale / view.scale;
      setView(scale === 1 ? WHOLE : { scale, x: x - (x - view.x) * by, y: y - (y - view.y) * by });
    },
    onPointerMove: (event: PointerEvent) => {
      if (event.buttons === 1) {
        travelled.current += Math.abs(event.movementX) + Math.abs(event.movementY);
        const [x, y] = [event.movementX / unit(), event.movementY / unit()];
        setView({ ...view, x: view.x + x, y: view.y + y });
        return;
      }
      const { x, y } = here(event);
      const name = nameAt(x, y);
      setHovered(name === undefined ? undefined : { name, x, y });
    },
    onPointerDown: () => {
      travelled.current = 0;
    },
    onPointerLeave: () => setHovered(undefined),
    onClick: (event: MouseEvent) => {
      const { x, y } = here(event);
      const name = nameAt(x, y);
      if (name !== undefined && travelled.current < DRAG) open(name);
    },
  };
}
