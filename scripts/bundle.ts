/**
 * `npm run bundle`: the program without node_modules, for images and single machines. Beside `karpenter.mjs`
 * lie its parts, each loaded when it is wanted (a controller for kwok never reads the AWS SDK), and what it
 * reads: catalogues, CRDs, examples; and the licences of what went into it. The folder is complete: it runs
 * wherever it is copied to. `--out DIR`, default dist/bundle.
 */
import { execFileSync } from "node:child_process";
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join, relative, resolve, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { build, type Metafile, type Plugin } from "esbuild";

const ROOT = fileURLToPath(new URL("../", import.meta.url));
/** What the program reads at run time, from the project's root. */
const DATA = ["data", "deploy/crds", "examples"];
const ENTRIES = {
  karpenter: "src/cli/main.ts",
  "ec2-spot-interrupter": "src/cli/ec2-spot-interrupter.ts",
  "karpenter-convert": "src/cli/karpenter-convert.ts",
};

/**
 * Sources find their data by `new URL("../../data/…", import.meta.url)`, up to the project's root. In the bundle
 * the root is the folder of the file itself.
 */
const rootIsHere: Plugin = {
  name: "root-is-here",
  setup: ({ onLoad }) => {
    onLoad({ filter: /[\\/]src[\\/].*\.ts$/ }, ({ path }) => {
      const file = relative(ROOT, path);
      const text = readFileSync(path, "utf8");
      if (!text.includes("import.meta.url")) return undefined;
      const up = "../".repeat(file.split(sep).length - 1);
      const contents = text.replaceAll(/new URL\(\s*(["`])((?:\.\.\/)*)/g, (_, quote, climb) => {
        if (climb !== up)
          throw new Error(
            `${file}: names a file by "${climb}…", which is not the project's root "${up}"`,
          );
        return `new URL(${quote}./`;
      });
      return { contents, loader: "ts" };
    });
  },
};

const out = outFolder();
mkdirSync(out, { recursive: true });
const { metafile } = await build({
  absWorkingDir: ROOT,
  entryPoints: ENTRIES,
  outdir: out,
  outExtension: { ".js": ".mjs" },
  bundle: true,
  splitting: true,
  // Beside the entries: what finds its data by its own place finds it from there, too.
  chunkNames: "[name]-[hash]",
  platform: "node",
  format: "esm",
  target: "node20",
  minifySyntax: true,
  minifyWhitespace: true,
  // No keepNames: identifiers stay as they are, but for a number where two are alike, and it costs a call at
  // each closure that is made.
  legalComments: "none",
  metafile: true,
  logLevel: "warning",
  plugins: [rootIsHere],
  // Packages that still are CommonJS ask for Node's modules by `require`.
  banner: {
    js: 'import { createRequire as $createRequire } from "node:module"; const require = $createRequire(import.meta.url);',
  },
});
for (const path of DATA) cpSync(join(ROOT, path), join(out, path), { recursive: true });
writeFileSync(join(out, "package.json"), manifest());
cpSync(join(ROOT, "LICENSE"), join(out, "LICENSE"));
writeFileSync(join(out, "THIRD-PARTY-LICENSES.txt"), licences(metafile));
for (const name of Object.keys(ENTRIES)) console.log(relative(ROOT, join(out, `${name}.mjs`)));
const parts = Object.values(metafile.outputs);
console.log(
  `${parts.length} files, ${megabytes(parts.reduce((sum, { bytes }) => sum + bytes, 0))} MB`,
);

/** Only the folder of our own is emptied first. */
function outFolder(): string {
  const at = process.argv.indexOf("--out");
  if (at === -1) {
    const ours = join(ROOT, "dist", "bundle");
    rmSync(ours, { recursive: true, force: true });
    return ours;
  }
  const given = process.argv[at + 1];
  if (given === undefined) throw new Error("--out needs a folder");
  const folder = resolve(given);
  if (existsSync(folder) && readdirSync(folder).length > 0)
    throw new Error(`--out ${given}: the folder is not empty; name another`);
  return folder;
}

/** Which build it is: without a checkout beside it the program could not know. */
function manifest(): string {
  const { name, version, license } = JSON.parse(
    readFileSync(join(ROOT, "package.json"), "utf8"),
  ) as Record<string, string>;
  const commit = commitOf();
  return `${JSON.stringify({ name, version, license, type: "module", ...(commit === undefined ? {} : { commit }) }, null, 2)}\n`;
}

/** Where there is no checkout, as in an image's build, COMMIT says it. */
function commitOf(): string | undefined {
  const given = process.env["COMMIT"]?.slice(0, 7);
  if (given) return given;
  try {
    const args = ["rev-parse", "--short=7", "HEAD"];
    return execFileSync("git", args, {
      cwd: ROOT,
      encoding: "utf8",
      stdio: ["ignore", "pipe", "ignore"],
    }).trim();
  } catch {
    return undefined;
  }
}

/** The licence of each package of which something went in. Throws when one has none. */
function licences({ inputs }: Metafile): string {
  const packages = new Set<string>();
  for (const input of Object.keys(inputs)) {
    const found = /^(.*node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(input);
    if (found?.[1] !== undefined) packages.add(found[1]);
  }
  return [...packages]
    .sort()
    .map(licenceOf)
    .join(`\n${"-".repeat(80)}\n\n`);
}

function licenceOf(folder: string): string {
  const at = join(ROOT, folder);
  const { name, version, license } = JSON.parse(
    readFileSync(join(at, "package.json"), "utf8"),
  ) as Record<string, string>;
  const file = readdirSync(at).find(
    (one) => /^(licen[cs]e|copying)/i.test(one) && statSync(join(at, one)).isFile(),
  );
  if (file === undefined && license === undefined) throw new Error(`${folder} names no licence`);
  const text = file === undefined ? `${license}\n` : readFileSync(join(at, file), "utf8");
  return `${name} ${version} (${license})\n\n${text}`;
}

function megabytes(bytes: number): string {
  return (bytes / 1_000_000).toFixed(1);
}
