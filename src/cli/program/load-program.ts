/**
 * Starts the programs of the bundle (`scripts/bundle.ts`). They are one CommonJS file. V8's compiled code from an
 * earlier run is in `<file>.cache`, because compiling is most of the time of a short run. V8 rejects a cache of
 * another version or other flags; then everything is compiled again. NODE_DEBUG=karpenter prints whether the cache
 * was used.
 */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { debuglog } from "node:util";
import { Script } from "node:vm";

const debug = debuglog("karpenter");

/** One compiled script of the bundle. */
export interface Part {
  /** After a run, `createCachedData()` of the script contains all functions that were called. */
  readonly script: Script;
  /** Calls the script's function and returns its exports. Each call runs it anew. */
  evaluate(): Record<string, unknown>;
}

/** Packages that are loaded on first use: the file of the bundle that exports each one. */
export type LazyParts = Readonly<Record<string, string>>;

/**
 * Reads a file of the bundle. It is one expression: a function of `require`, `module`, `exports` and `bundleUrl`.
 * `url` is that of the bundle's folder, with a slash at its end.
 */
export function readPart(url: string, file: string, lazy: LazyParts = {}): Part {
  const script = compile(new URL(file, url));
  const define = script.runInThisContext() as (...given: readonly unknown[]) => void;
  const require = requireOf(url, lazy);
  return {
    script,
    evaluate() {
      const module = { exports: {} as Record<string, unknown> };
      define(require, module, module.exports, url);
      return module.exports;
    },
  };
}

function compile(file: URL): Script {
  // The bundle is ASCII. Reading it as Latin 1 needs no decoding, and the text stays outside of the heap.
  const source = readFileSync(file, "latin1");
  const cachedData = cacheOf(file);
  if (cachedData === undefined) return new Script(source, { filename: file.href });
  const script = new Script(source, { filename: file.href, cachedData });
  debug(`code cache of ${file.pathname}: ${script.cachedDataRejected ? "refused" : "taken"}`);
  return script;
}

function cacheOf(file: URL): Buffer | undefined {
  try {
    return readFileSync(new URL(`${file.href}.cache`));
  } catch (error) {
    debug(`code cache of ${file.pathname}: ${(error as Error).message}`);
    return undefined;
  }
}

function requireOf(url: string, lazy: LazyParts): (id: string) => unknown {
  const fromNode = createRequire(url);
  const read = new Map<string, Record<string, unknown>>();
  return (id) => {
    const file = lazy[id];
    if (file === undefined) return fromNode(id);
    const exports = read.get(file) ?? readPart(url, file).evaluate();
    read.set(file, exports);
    return exports[id];
  };
}
