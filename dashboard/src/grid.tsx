/**
 * A table of any length: only the visible rows are created. The table is one tab stop; arrows, Page keys, Home
 * and End move the marked row, and Enter opens it.
 */
import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { unit } from "./unit.ts";

export interface Column<Row> {
  readonly title: string;
  readonly isNumber?: boolean;
  /** Whether the column is hidden on narrow screens. */
  readonly isMinor?: boolean;
  /** Whether the column is twice as wide. */
  readonly isWide?: boolean;
  readonly cell: (row: Row, key: string) => ComponentChildren;
}

interface GridProps<Row> {
  readonly label: string;
  readonly rows: readonly (readonly [string, Row])[];
  readonly columns: readonly Column<Row>[];
  readonly onOpen: (key: string, row: Row) => void;
  readonly onMark?: (key: string) => void;
  /** Whether the table is invisible, so that only screen readers and the keyboard reach it. */
  readonly isHidden?: boolean;
}

/** Height of a row in units, as in style.css. */
const ROW = 28;
const MORE = 8;

export function Grid<Row>({ label, rows, columns, onOpen, onMark, isHidden }: GridProps<Row>) {
  const box = useRef<HTMLDivElement>(null);
  const [top, setTop] = useState(0);
  const [height, setHeight] = useState(600);
  // No row is marked before somebody reaches the table: a marked row looks chosen.
  const [marked, setMarked] = useState<number | undefined>();
  const rowPx = ROW * unit();
  const at = Math.min(marked ?? 0, Math.max(0, rows.length - 1));
  useEffect(() => {
    const element = box.current;
    if (element === null) return undefined;
    const observer = new ResizeObserver(() => setHeight(element.clientHeight));
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  const mark = (to: number) => {
    const next = Math.max(0, Math.min(rows.length - 1, to));
    setMarked(next);
    const key = rows[next]?.[0];
    if (key !== undefined) onMark?.(key);
    const element = box.current;
    if (element === null) return;
    const y = (next + 1) * rowPx;
    if (y - rowPx < element.scrollTop) element.scrollTop = y - rowPx;
    else if (y + rowPx > element.scrollTop + element.clientHeight)
      element.scrollTop = y + rowPx - element.clientHeight;
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const page = Math.max(1, Math.floor(height / rowPx) - 2);
    const steps: Record<string, number> = {
      ArrowDown: at + 1,
      ArrowUp: at - 1,
      PageDown: at + page,
      PageUp: at - page,
      Home: 0,
      End: rows.length - 1,
    };
    const to = steps[event.code];
    if (to !== undefined) mark(to);
    else if (event.code === "Enter" && rows[at] !== undefined) onOpen(rows[at][0], rows[at][1]);
    else return;
    event.preventDefault();
  };
  const first =
    isHidden === true ? Math.max(0, at - MORE) : Math.max(0, Math.floor(top / rowPx) - MORE);
  const inSight = Math.ceil(height / rowPx) + 2 * MORE;
  const shown = rows.slice(first, first + inSight);
  const id = (index: number) => `${label.replace(/\W/g, "")}-${index}`;
  return (
    <div
      ref={box}
      class={isHidden === true ? "grid unseen" : "grid"}
      role="grid"
      tabIndex={0}
      aria-label={label}
      aria-rowcount={rows.length + 1}
      aria-activedescendant={rows.length > 0 ? id(at) : undefined}
      onPointerOver={titleCut}
      onScroll={(event) => setTop(event.currentTarget.scrollTop)}
      onFocus={() => setMarked((known) => known ?? 0)}
      onKeyDown={onKeyDown}
    >
      <div class="grid-row grid-head" role="row" aria-rowindex={1}>
        {columns.map((column) => (
          <span key={column.title} role="columnheader" class={classOf(column)}>
            {column.title}
          </span>
        ))}
      </div>
      <div class="grid-space" role="presentation" style={{ height: `${first * rowPx}px` }} />
      {shown.map(([key, row], index) => (
        <div
          key={key}
          id={id(first + index)}
          class="grid-row"
          role="row"
          aria-rowindex={first + index + 2}
          aria-selected={marked !== undefined && first + index === at}
          onClick={() => {
            mark(first + index);
            onOpen(key, row);
          }}
        >
          {columns.map((column) => (
            <span key={column.title} role="gridcell" class={classOf(column)}>
              {column.cell(row, key)}
            </span>
          ))}
        </div>
      ))}
      <div
        class="grid-space"
        role="presentation"
        style={{ height: `${Math.max(0, rows.length - first - shown.length) * rowPx}px` }}
      />
    </div>
  );
}

/** Gives the cell under the pointer its whole text as a title if the text is cut. */
function titleCut({ target }: PointerEvent): void {
  const cell = (target as Element).closest<HTMLElement>('[role="gridcell"], [role="columnheader"]');
  if (cell === null) return;
  cell.title = cell.scrollWidth > cell.clientWidth ? cell.innerText : "";
}

function classOf({
  isNumber,
  isMinor,
  isWide,
}: Pick<Column<unknown>, "isNumber" | "isMinor" | "isWide">): string {
  return [isNumber && "number", isMinor && "minor", isWide && "roomy"].filter(Boolean).join(" ");
}
