/**
 * How the programs of the bundle start (`scripts/bundle.ts`): all of them are one CommonJS file, which V8 may be
 * given together with what it compiled of it in an earlier run, `<file>.cache`. Functions are compiled when they
 * are first called, and a cold run of 1,000 pods is mostly that. V8 refuses a cache of another V8, or of one with
 * other flags: then all is compiled as ever. NODE_DEBUG=karpenter tells what became of it.
 */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { debuglog } from "node:util";
import { Script } from "node:vm";

const debug = debuglog("karpenter");

/** One compiled script of the bundle. */
export interface Part {
  /** What V8 keeps of it: `createCachedData()` after it has run holds all that has been called. */
  readonly script: Script;
  /** Runs the script again and returns its exports. */
  evaluate(): Record<string, unknown>;
}

/** Packages that are loaded on first use: the file of the bundle that exports each one. */
export type LazyParts = Readonly<Record<string, string>>;

/**
 * Reads a file of the bundle, which is one expression: a function of `require`, `module`, `exports` and `bundleUrl`.
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
  // The bundle is ASCII. Read as Latin 1 nothing is decoded, and the text stays outside of the heap.
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
