/**
 * This project's own files, read once: text, imports, exports. It scans lines and does not parse: the formatter
 * makes every declaration begin its line.
 */
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";

export const ROOT = fileURLToPath(new URL("../..", import.meta.url));

export interface SourceFile {
  /** The path from the project's root: `src/core/provisioning/solve.ts`. */
  readonly path: string;
  readonly text: string;
  readonly isTest: boolean;
  /** Resolved path of each relative import → the names taken from it, `*` for all. */
  readonly taken: ReadonlyMap<string, readonly string[]>;
  /** Resolved paths of relative imports. */
  readonly imports: readonly string[];
  readonly packages: readonly string[];
}

/** Every TypeScript file below a folder, by path. */
export function readSources(folder: string): SourceFile[] {
  const found: SourceFile[] = [];
  for (const item of readdirSync(join(ROOT, folder), { withFileTypes: true })) {
    const path = join(folder, item.name);
    if (item.isDirectory()) found.push(...readSources(path));
    else if (path.endsWith(".ts")) found.push(readSource(path));
  }
  return found.sort((a, b) => (a.path < b.path ? -1 : 1));
}

/** Every Markdown page below a folder, without fixtures, which come from other projects. */
export function pagesBelow(folder: string): string[] {
  return readdirSync(join(ROOT, folder), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".md") && !name.startsWith("fixtures"))
    .map((name) => join(folder, name))
    .sort();
}

const IMPORTS = [
  /^(?:import|export)\s+((?:type\s+)?(?:\*(?: as \w+)?|\{[^}]*\}|\w+(?:, \{[^}]*\})?))\s+from "([^"]+)"/gm,
  /^import() "([^"]+)"/gm,
  /(?:(\{[^{}]*\}) = )?\(?(?:await )?\bimport\("([^"]+)"\)/g,
];

function readSource(path: string): SourceFile {
  const text = readFileSync(join(ROOT, path), "utf8");
  const taken = new Map<string, string[]>();
  const packages: string[] = [];
  for (const [, what = "", from = ""] of IMPORTS.flatMap((form) => [...text.matchAll(form)])) {
    if (!from.startsWith(".")) {
      packages.push(from);
      continue;
    }
    const target = relative(ROOT, join(ROOT, dirname(path), from));
    taken.set(target, [...(taken.get(target) ?? []), ...namesIn(what)]);
  }
  return {
    path,
    text,
    isTest: /\.(test|prop\.test)\.ts$/.test(path) || /\/testing\//.test(path),
    taken,
    imports: [...taken.keys()],
    packages,
  };
}

/** The imported names: `{ a, type B as C }` → `a`, `B`; `*` for any other form. */
function namesIn(what: string): string[] {
  const list = /\{([^}]*)\}/.exec(what)?.[1];
  if (list === undefined) return ["*"];
  return list
    .split(",")
    .map(
      (name) =>
        name
          .trim()
          .replace(/^type /, "")
          .split(/ as |:/)[0]
          ?.trim() ?? "",
    )
    .filter((name) => name !== "");
}
