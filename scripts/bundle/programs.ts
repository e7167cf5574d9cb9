/**
 * Bundles all programs into one CommonJS file, each with a small `<name>.mjs` that starts it
 * (`src/cli/program/load-program.ts`). One file can have a code cache (`code-cache.ts`); a bundle split into
 * chunks cannot. Packages that few runs need are files of their own, loaded when needed.
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
  // All but OpenTelemetry's API, which the Prometheus client always loads.
  opentelemetry: /^@opentelemetry\/(?!api$)/,
};

export interface Programs {
  /** The file with all programs. Its code cache is `<file>.cache`. */
  readonly file: string;
  /** Package → the file of the bundle that contains it. */
  readonly lazy: Readonly<Record<string, string>>;
  /** The bundled source files, as paths from the project's root. */
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
  // No keepNames: names stay the same anyway, except for a number where two names are equal. keepNames would cost a
  // call for each closure.
  legalComments: "none",
  logLevel: "warning",
} satisfies BuildOptions;

/** Builds one file with a hash of its content in the name, so that it never gets the code cache of an older build. */
async function buildFile(name: string, text: string, out: string, plugins: readonly Plugin[]) {
  const { metafile } = await build({
    ...COMMON,
    stdin: { ...stdin(text), sourcefile: name },
    format: "cjs",
    outdir: out,
    entryNames: `${name}-[hash]`,
    outExtension: { ".js": ".cjs" },
    // Dynamic imports become part of this file. V8 would otherwise ask Node for them.
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
 * The code with only ASCII characters: load-program.ts reads a bundle as Latin 1. esbuild escapes strings itself, but
 * leaves regular expressions unchanged. In these the same escapes are valid, so this function adds them.
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

/** Leaves packages that get files of their own out of the bundle, and collects their names in `asked`. */
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

/**
 * The text with data paths that begin at its own folder instead of the root. `file`: path from the project's root.
 * Throws an Error if a data path does not begin at the root.
 */
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
