/**
 * Lets tests import the product as `tsc -b` compiled it, instead of compiling each source again in each test thread.
 * `npm test` then takes less CPU time, and its tests run the files that are shipped.
 */
import { existsSync, readdirSync, statSync } from "node:fs";
import { dirname, join, resolve, sep } from "node:path";

/** The part of a Vite plugin that is used here. */
interface Resolver {
  name: string;
  enforce: "pre";
  resolveId(source: string, importer?: string): { id: string; external: true } | undefined;
}

/** What `tsc -b` writes in each folder of `dist` that is a project, after all that it compiled there. */
const BUILD_RECORD = ".tsbuildinfo";

/**
 * Whether every source that `dist` comes from is older than the last build of its project. Only then may tests use
 * `dist`: one process must not load a module from both places.
 *
 * @param root the project's folder, with `src` and `dist`
 */
export function isCompiled(root: string): boolean {
  const folder = join(root, "src");
  if (!existsSync(folder)) return false;
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter(isSource)
    .every((file) => {
      const built = buildOf(root, file);
      return built !== undefined && statSync(join(folder, file)).mtimeMs <= built;
    });
}

/** A Vite plugin that turns an import of a source under `src` into an import of its compiled file. */
export function compiledImports(root: string): Resolver {
  const sources = join(root, "src") + sep;
  return {
    name: "compiled-imports",
    enforce: "pre",
    resolveId(source, importer) {
      if (importer === undefined || !source.startsWith(".")) return undefined;
      const path = resolve(dirname(importer), source);
      if (!path.startsWith(sources) || !isSource(path.slice(sources.length))) return undefined;
      // A source that was deleted may still have its compiled file.
      if (!existsSync(path)) return undefined;
      return { id: compiledFile(root, path.slice(sources.length)), external: true };
    },
  };
}

/** Whether a file under `src` is compiled into `dist`: no test, and no helper that only tests import. */
function isSource(file: string): boolean {
  return /(?<!\.test)\.ts$/.test(file) && !file.startsWith(`testing${sep}`);
}

function compiledFile(root: string, file: string): string {
  return join(root, "dist", file.replace(/\.ts$/, ".js"));
}

/** When the project that holds the file was last built, in milliseconds since 1970; `undefined` if it never was. */
function buildOf(root: string, file: string): number | undefined {
  if (!existsSync(compiledFile(root, file))) return undefined;
  for (let folder = dirname(file); folder !== "."; folder = dirname(folder)) {
    const record = join(root, "dist", folder, BUILD_RECORD);
    if (existsSync(record)) return statSync(record).mtimeMs;
  }
  return undefined;
}
