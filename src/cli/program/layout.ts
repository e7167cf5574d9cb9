/** How the answers of commands are laid out for people: titled sections, columns as wide as they need to be. */

/** Nothing at all when there are no lines. */
export function section(title: string, lines: readonly string[]): readonly string[] {
  return lines.length === 0 ? [] : ["", title, ...lines.map((line) => `  ${line}`)];
}

/** Rows of cells, the first row being the heads, indented by two. */
export function table(rows: readonly (readonly string[])[]): string[] {
  const widths = (rows[0] ?? []).map((_, column) =>
    Math.max(...rows.map((row) => row[column]?.length ?? 0)),
  );
  return rows.map((row) =>
    `  ${row.map((cell, column) => cell.padEnd(widths[column] as number)).join("  ")}`.trimEnd(),
  );
}
