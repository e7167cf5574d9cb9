/**
 * Counts the acceptance rows of the five seed documents that a test names by id (`S0-23`): tested/total for each seed.
 * `--missing` lists the other rows. Rows that do not concern a program are listed with their reason.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** The number of rows of each seed; rows are numbered from 01. */
const ROWS: Readonly<Record<string, number>> = { S0: 65, S1: 39, S2: 51, S3: 87, S4: 39 };

/** Rows that no program can pass or fail. */
const NOTHING_ASKED: Readonly<Record<string, string>> = {
  "S0-42": "the reader changes the directory of his shell",
  "S4-39": "a link to a file of upstream's source",
};

const root = fileURLToPath(new URL("..", import.meta.url));
const named = new Set(["src", "test"].flatMap((folder) => idsIn(join(root, folder))));

function idsIn(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((item) => {
    const path = join(folder, item.name);
    if (item.isDirectory()) return idsIn(path);
    return item.name.endsWith(".test.ts") ? idsOfTitles(readFileSync(path, "utf8")) : [];
  });
}

/** Ids in titles of tests, and at the start of table rows. An id in a comment does not count. */
function idsOfTitles(text: string): string[] {
  const titles =
    text.match(
      /\b(?:it|test|describe)(?:\.each(?:<[^(]*>)?\([\s\S]*?\))?\(\s*(["'`])[\s\S]*?\1/g,
    ) ?? [];
  const rows = text.match(/^\s*(?:\[|\{)?\s*(?:row: |seed: )?["']S[0-4]-\d\d["']/gm) ?? [];
  return [...titles, ...rows].flatMap((title) => title.match(/S[0-4]-\d\d/g) ?? []);
}

let working = 0;
const missing: string[] = [];
for (const [seed, total] of Object.entries(ROWS)) {
  const ids = Array.from(
    { length: total },
    (_, index) => `${seed}-${String(index + 1).padStart(2, "0")}`,
  );
  const have = ids.filter((id) => named.has(id));
  working += have.length;
  missing.push(...ids.filter((id) => !named.has(id)));
  process.stdout.write(`${seed}  ${String(have.length).padStart(3)}/${total}\n`);
}
const total = Object.values(ROWS).reduce((sum, count) => sum + count, 0);
process.stdout.write(`all ${String(working).padStart(3)}/${total}\n`);
for (const [id, why] of Object.entries(NOTHING_ASKED)) {
  process.stdout.write(`${id} asks nothing of a product: ${why}\n`);
}
const unknown = [...named].filter(
  (id) => Number(id.slice(3)) > (ROWS[id.slice(0, 2)] ?? 0) || id.endsWith("-00"),
);
if (unknown.length > 0) {
  process.stderr.write(`tests name rows that do not exist: ${unknown.sort().join(", ")}\n`);
  process.exitCode = 1;
}
if (process.argv.includes("--missing")) process.stdout.write(`${missing.join(" ")}\n`);
