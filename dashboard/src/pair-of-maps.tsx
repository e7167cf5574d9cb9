/** The nodes before and after, as two maps in which each node has the same place. */
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { appearance } from "./appearance.ts";
import { counted } from "./format.ts";
import { categoriesOf, groupOf, nodesIn } from "./node-list.ts";
import { type Accent, type Drawn, paint, paletteOf, prepared } from "./paint.ts";
import { place } from "./place.ts";
import { layoutOf, type Slotted, slotted } from "./slots.ts";
import { unit } from "./unit.ts";
import type { MapRow } from "./wire.ts";

/** Maximum height of a map as a share of the window's height, unless the smallest tiles need more. */
const MOST_SHARE = 0.5;

type Rows = ReadonlyMap<string, MapRow>;

export function PairOfMaps({ before, after }: { before: Rows; after: Rows }) {
  const { group } = place.value;
  const slots = useMemo((): Slotted => {
    const all = new Map([...after, ...before]);
    const names = [...all.keys()].sort();
    const wanted = new Map(names.map((name) => [name, groupOf(all.get(name) as MapRow, group)]));
    const { groups } = slotted({ groups: new Map() }, wanted);
    // No node is added to these maps later, so each group needs no spare slots.
    const full = [...groups].map(
      ([name, one]) => [name, { ...one, room: one.slots.size }] as const,
    );
    return { groups: new Map(full) };
  }, [before, after, group]);
  const accents = useMemo(() => accentsOf(before, after), [before, after]);
  return (
    <div class="pair">
      <OneMap title="Before" rows={before} slots={slots} accents={accents.before} />
      <OneMap title="After" rows={after} slots={slots} accents={accents.after} />
    </div>
  );
}

function accentsOf(before: Rows, after: Rows) {
  const marks = (rows: Rows, others: Rows, alone: Accent) =>
    new Map(
      [...rows].flatMap(([name, row]): readonly [string, Accent][] => {
        const other = others.get(name);
        if (other === undefined) return [[name, alone]];
        const isSame = other.pods === row.pods && other.room === row.room;
        return isSame ? [] : [[name, "changes"]];
      }),
    );
  return { before: marks(before, after, "goes"), after: marks(after, before, "comes") };
}

function OneMap({
  title,
  rows,
  slots,
  accents,
}: {
  title: string;
  rows: Rows;
  slots: Slotted;
  accents: ReadonlyMap<string, Accent>;
}) {
  const frame = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const [width, setWidth] = useState(0);
  const { fill } = place.value;
  const theme = appearance.value;
  useEffect(() => {
    const element = frame.current;
    if (element === null) return undefined;
    const observer = new ResizeObserver(() => setWidth(element.clientWidth / unit()));
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  const layout = useMemo(
    () => layoutOf(slots, width, (innerHeight * MOST_SHARE) / unit()),
    [slots, width],
  );
  useEffect(() => {
    const size = { width, height: layout.height };
    const context = prepared(canvas.current, size);
    if (context === undefined || frame.current === null) return;
    const drawn: Drawn = {
      slots,
      layout,
      rows,
      fill,
      categories: categoriesOf(rows.values(), fill),
      accents,
    };
    const view = { scale: 1, x: 0, y: 0 };
    paint(context, drawn, paletteOf(frame.current), { view, ...size });
  }, [slots, layout, rows, accents, fill, width, theme]);
  return (
    <section aria-label={`${title}, as a map`}>
      <h3>
        {title} <span class="muted">· {counted(nodesIn(rows.values()), "node")}</span>
      </h3>
      <div
        ref={frame}
        class="map still"
        aria-hidden="true"
        style={{ height: `${layout.height * unit()}px` }}
      >
        <canvas ref={canvas} />
      </div>
    </section>
  );
}
