/**
 * `npm run generate`: writes the files that are derived from tables in code (`generated-files.ts`).
 * test/generated-files.test.ts fails if a file differs. `--check` writes nothing and exits with 1 on a difference.
 */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { generatedFiles } from "./generated-files.ts";

const root = fileURLToPath(new URL("../", import.meta.url));
const check = process.argv.includes("--check");
let stale = 0;
for (const { path, content } of generatedFiles()) {
  const file = `${root}${path}`;
  if (read(file) === content) continue;
  stale++;
  console.log(`${check ? "stale" : "wrote"} ${path}`);
  if (check) continue;
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, content);
}
if (check && stale > 0) process.exitCode = 1;

function read(file: string): string | undefined {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return undefined;
  }
}
