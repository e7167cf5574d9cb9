/**
 * Limits functions to 70 lines. Longer ones are listed below with their allowed length, and the list only shrinks.
 * A row that is no longer needed, or too high, is a fault too.
 */
import type { SourceFile } from "./sources.ts";

const LONGEST = 70;

/**
 * `path name` → allowed lines, rounded up to tens. Most are factories: one closure with many small functions in
 * it.
 */
const LONGER: Readonly<Record<string, number>> = {
  "bench/model.ts keepUp": 80,
};

/** One complaint for each function that is longer than it may be, and for each row that is out of date. */
export function longFunctions(files: readonly SourceFile[]): string[] {
  const found = files.flatMap(lengthsOf).filter((one) => one.lines > LONGEST);
  const names = new Set(found.map((one) => one.name));
  return [
    ...found
      .filter(({ name, lines }) => Math.ceil(lines / 10) * 10 !== LONGER[name])
      .map(({ name, lines }) =>
        LONGER[name] === undefined || lines > LONGER[name]
          ? `${name}: ${lines} lines, ${LONGER[name] ?? LONGEST} allowed; split it`
          : `${name}: is down to ${lines} lines; lower its row in test/tidy/functions.ts`,
      ),
    ...Object.keys(LONGER)
      .filter((name) => !names.has(name))
      .map((name) => `${name}: is short now, or gone; take its row out of test/tidy/functions.ts`),
  ];
}

/** Top-level functions and methods. A nested function counts as part of the outer one. */
function lengthsOf(file: SourceFile): { name: string; lines: number }[] {
  const found: { name: string; lines: number }[] = [];
  let open: { name: string; at: number; end: string } | undefined;
  let owner: string | undefined;
  for (const [at, line] of file.text.split("\n").entries()) {
    owner = line === "}" ? undefined : (/^(?:export )?class (\w+)/.exec(line)?.[1] ?? owner);
    const alone = /^(?:export )?(?:async )?function\*? (\w+)/.exec(line)?.[1];
    const method = owner && /^ {2}(?:\w+ )*\*?(#?\w+)\(/.exec(line)?.[1];
    if (alone !== undefined) open = { name: `${file.path} ${alone}`, at, end: "}" };
    else if (method) open = { name: `${file.path} ${owner}.${method}`, at, end: "  }" };
    if (open === undefined || line !== open.end) continue;
    found.push({ name: open.name, lines: at - open.at + 1 });
    open = undefined;
  }
  return found;
}
