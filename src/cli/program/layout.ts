/** Layout of answers: titled sections, and tables with columns of fitting width. */
import { printable } from "../../base/printable.ts";

/** A section with a title. Without lines it is left out. */
export function section(title: string, lines: readonly string[]): readonly string[] {
  return lines.length === 0 ? [] : ["", title, ...lines.map((line) => `  ${line}`)];
}

/** The sections in `lines`: the inverse of {@link section}. */
export function sectionsIn(
  lines: readonly string[],
): readonly { readonly title: string; readonly lines: readonly string[] }[] {
  const sections: { title: string; lines: string[] }[] = [];
  lines.forEach((line, at) => {
    if (line === "") return;
    if (lines[at - 1] === "") sections.push({ title: line, lines: [] });
    else sections.at(-1)?.lines.push(line.trim());
  });
  return sections;
}

/** A table, indented by two. The first row has the heads. */
export function table(rows: readonly (readonly string[])[]): string[] {
  return laidOut(rows, widthsOf(rows));
}

/** Shortest width to which a column is cut, in characters. */
const LEAST_CELL = 8;

/**
 * A table with at most `columns` characters on a line. The widest column is cut first, and cut cells end in `…`. If
 * all columns would be shorter than 8 characters, the table stays wider.
 */
export function fittedTable(rows: readonly (readonly string[])[], columns: number): string[] {
  const widths = widthsOf(rows);
  const between = 2 * widths.length;
  let excess = widths.reduce((sum, width) => sum + width, between) - columns;
  while (excess > 0) {
    const widest = Math.max(...widths);
    if (widest <= LEAST_CELL) break;
    const at = widths.lastIndexOf(widest);
    const next = Math.max(LEAST_CELL, ...widths.filter((width) => width < widest));
    const cut = Math.min(excess, Math.max(1, widest - next));
    widths[at] = widest - cut;
    excess -= cut;
  }
  return laidOut(rows, widths);
}

function laidOut(rows: readonly (readonly string[])[], widths: readonly number[]): string[] {
  return rows.map((row) =>
    `  ${row
      .map((cell, column) => {
        const width = widths[column] as number;
        return clipped(cell, width).padEnd(width);
      })
      .join("  ")}`.trimEnd(),
  );
}

/** The text as it is printed, with escapes for control characters, cut to `width` with a `…`. */
export function clipped(text: string, width: number): string {
  const shown = printable(text);
  return shown.length <= width ? shown : `${shown.slice(0, Math.max(0, width - 1))}…`;
}

function widthsOf(rows: readonly (readonly string[])[]): number[] {
  return (rows[0] ?? []).map((_, column) =>
    Math.max(...rows.map((row) => row[column]?.length ?? 0)),
  );
}
