/**
 * Programs in one CommonJS file, each with a small `<name>.mjs` that starts it (`src/cli/program/load-program.ts`). One
 * file can have all that was compiled of it kept beside it (`code-cache.ts`), which parts of a split one cannot. Packages
 * that few runs need lie in files of their own, read when they are asked for.
 */
import { chmodSync, readFileSync, writeFileSync } from "node:fs";
import { basename, relative, resolve, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { type BuildOptions, build, type Plugin } from "esbuild";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
/**
 * Modules that are loaded only when needed, by the name of their file. A controller for kwok never needs the AWS SDK,
 * and one without HTTPS makes no certificate.
 */
const LAZY: Readonly<Record<string, RegExp>> = {
  "aws-sdk": /^@(aws-sdk|smithy)\//,
  selfsigned: /^selfsigned$/,
  // Its API alone is everywhere: the client for Prometheus brings it.
  opentelemetry: /^@opentelemetry\/(?!api$)/,
};

export interface Programs {
  /** The file that all programs are in; its cache would be `<file>.cache`. */
  readonly file: string;
  /** Package → the file of the bundle that contains it. */
  readonly lazy: Readonly<Record<string, string>>;
  /** What went in, as esbuild names it: paths from the project's root. */
  readonly inputs: readonly string[];
  readonly bytes: number;
}

/** Builds `entries`, paths from the project's root by the name of the program, into `out`. */
export async function buildPrograms(
  entries: Readonly<Record<string, string>>,
  out: string,
): Promise<Programs> {
  const asked = new Set<string>();
  const main = await buildFile("programs", startsOf(entries), out, [rootIsHere, laterOnes(asked)]);
  const built = [main];
  const lazy: Record<string, string> = {};
  for (const [name, pattern] of Object.entries(LAZY)) {
    const ids = [...asked].filter((id) => pattern.test(id)).sort();
    if (ids.length === 0) continue;
    const part = await buildFile(name, ids.map(exported).join("\n"), out, []);
    built.push(part);
    for (const id of ids) lazy[id] = part.file;
  }
  for (const name of Object.keys(entries)) {
    const outfile = resolve(out, `${name}.mjs`);
    const start = `#!/usr/bin/env node
import { readPart } from "./src/cli/program/load-program.ts";
const { programs } = readPart(new URL("./", import.meta.url).href, ${JSON.stringify(main.file)}, ${JSON.stringify(lazy)}).evaluate();
programs[${JSON.stringify(name)}]();`;
    await build({ ...COMMON, stdin: stdin(start), format: "esm", outfile });
    chmodSync(outfile, 0o755);
  }
  return {
    file: main.file,
    lazy,
    inputs: built.flatMap(({ inputs }) => inputs),
    bytes: built.reduce((sum, { bytes }) => sum + bytes, 0),
  };
}

const COMMON = {
  absWorkingDir: ROOT,
  bundle: true,
  platform: "node",
  target: "node20",
  minifySyntax: true,
  minifyWhitespace: true,
  // No keepNames: identifiers stay as they are, but for a number where two are alike, and it costs a call at
  // each closure that is made.
  legalComments: "none",
  logLevel: "warning",
} satisfies BuildOptions;

/** One file, named after what is in it: a cache that lies there from an older one is never taken for its own. */
async function buildFile(name: string, text: string, out: string, plugins: readonly Plugin[]) {
  const { metafile } = await build({
    ...COMMON,
    stdin: { ...stdin(text), sourcefile: name },
    format: "cjs",
    outdir: out,
    entryNames: `${name}-[hash]`,
    outExtension: { ".js": ".cjs" },
    // All that is imported later is in here; V8 would ask Node for it.
    supported: { "dynamic-import": false },
    define: { "import.meta.url": "bundleUrl" },
    banner: { js: "(function (require, module, exports, bundleUrl) {" },
    footer: { js: "})" },
    metafile: true,
    plugins: [...plugins],
  });
  const [[path, { inputs }]] = Object.entries(metafile.outputs) as [
    [string, (typeof metafile.outputs)[string]],
  ];
  const file = resolve(ROOT, path);
  const code = inAscii(readFileSync(file, "utf8"));
  writeFileSync(file, code);
  return { file: basename(file), bytes: code.length, inputs: Object.keys(inputs) };
}

/**
 * A bundle is read as Latin 1 (`src/cli/program/load-program.ts`). What esbuild leaves as it was are regular
 * expressions, which know the escapes of strings.
 */
function inAscii(code: string): string {
  const escaped = (unit: string) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
  return code.replace(/[^\0-\x7f]/g, escaped);
}

function stdin(contents: string) {
  return { contents, resolveDir: ROOT, loader: "js" as const };
}

function startsOf(entries: Readonly<Record<string, string>>): string {
  const starts = Object.entries(entries).map(
    ([name, path]) => `${JSON.stringify(name)}: () => import(${JSON.stringify(`./${path}`)}),`,
  );
  return `export const programs = {\n${starts.join("\n")}\n};`;
}

function exported(id: string): string {
  return `exports[${JSON.stringify(id)}] = require(${JSON.stringify(id)});`;
}

/** Leaves out what has a file of its own, and notes what was asked for. */
function laterOnes(asked: Set<string>): Plugin {
  return {
    name: "later-ones",
    setup: ({ onResolve }) => {
      onResolve({ filter: /^[@\w]/ }, ({ path }) => {
        if (!Object.values(LAZY).some((pattern) => pattern.test(path))) return undefined;
        asked.add(path);
        return { path, external: true };
      });
    },
  };
}

/**
 * Sources find their data by `new URL("../../data/…", import.meta.url)`, up to the project's root. In the bundle
 * the root is the folder of the file itself.
 */
const rootIsHere: Plugin = {
  name: "root-is-here",
  setup: ({ onLoad }) => {
    onLoad({ filter: /[\\/]src[\\/].*\.ts$/ }, ({ path }) => {
      const text = readFileSync(path, "utf8");
      if (!text.includes("import.meta.url")) return undefined;
      return { contents: withRootHere(relative(ROOT, path), text), loader: "ts" };
    });
  },
};

/** `file`: from the project's root. Throws an Error for a name of a file that does not begin there. */
export function withRootHere(file: string, text: string): string {
  const up = "../".repeat(file.split(sep).length - 1);
  return text.replaceAll(/new URL\(\s*(["`])((?:\.\.\/)*)/g, (_, quote, climb) => {
    if (climb !== up)
      throw new Error(
        `${file}: names a file by "${climb}…", which is not the project's root "${up}"`,
      );
    return `new URL(${quote}./`;
  });
}
