/**
 * `npm run bundle`: the program without node_modules, for images and single machines. Beside `karpenter.mjs` are
 * the files it loads (`bundle/programs.ts`), its data (catalogues, CRDs, examples), and the licences of the
 * bundled packages. The folder is complete: it runs wherever it is copied to.
 * `--out DIR`, default dist/bundle. `--code-cache [NODE]` also writes V8's compiled code, for that Node with the
 * image's flags (`bundle/code-cache.ts`). The default Node is the one that runs this script.
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
import { join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { makeCodeCache } from "./bundle/code-cache.ts";
import { BUNDLE_DATA } from "./bundle/data.ts";
import { buildPrograms } from "./bundle/programs.ts";
import { imageFlags } from "./image-flags.ts";
import { scriptFlags } from "./script-flags.ts";

const ROOT = fileURLToPath(new URL("../", import.meta.url));
const ENTRIES = {
  karpenter: "src/cli/main.ts",
  "ec2-spot-interrupter": "src/cli/ec2-spot-interrupter.ts",
  "karpenter-convert": "src/cli/karpenter-convert.ts",
  "kubectl-karpenter": "src/cli/kubectl-karpenter.ts",
};
const COMPLETER = "kubectl_complete-karpenter.mjs";
/** The commands whose code is cached: reading and planning. All other code is a small part of a start. */
const WARM_UP = fileURLToPath(new URL("bundle/warm-up.yaml", import.meta.url));
const COMMAND_LINES = [["karpenter", "plan", "--output", "json", "-f", WARM_UP]];

const { values } = scriptFlags(import.meta.url, {
  options: { out: { type: "string" }, "code-cache": { type: "string" } },
  // `--code-cache` without a value stands for this process' Node.
  args: process.argv.slice(2).flatMap((one, at, all) => {
    const isBare = one === "--code-cache" && !/^[^-]/.test(all[at + 1] ?? "");
    return isBare ? [`${one}=${process.execPath}`] : [one];
  }),
});
const out = outFolder(values.out);
mkdirSync(out, { recursive: true });
const programs = await buildPrograms(ENTRIES, out);
for (const path of BUNDLE_DATA) cpSync(join(ROOT, path), join(out, path), { recursive: true });
writeFileSync(join(out, "package.json"), manifest());
cpSync(join(ROOT, "LICENSE"), join(out, "LICENSE"));
writeFileSync(join(out, COMPLETER), completer(), { mode: 0o755 });
writeFileSync(join(out, "THIRD-PARTY-LICENSES.txt"), licences(programs.inputs));
for (const name of Object.keys(ENTRIES)) console.log(relative(ROOT, join(out, `${name}.mjs`)));
console.log(`${megabytes(programs.bytes)} MB`);
const node = values["code-cache"];
if (node !== undefined) {
  const warmUp = { node: [node, ...imageFlags()], commandLines: COMMAND_LINES };
  console.log(`code cache: ${megabytes(await makeCodeCache(programs, out, warmUp))} MB`);
}

/** The folder for the bundle. Empties only the default folder; a given folder must be empty. */
function outFolder(given: string | undefined): string {
  if (given === undefined) {
    const ours = join(ROOT, "dist", "bundle");
    rmSync(ours, { recursive: true, force: true });
    return ours;
  }
  const folder = resolve(given);
  if (existsSync(folder) && readdirSync(folder).length > 0)
    throw new Error(`--out ${given}: the folder is not empty; name another`);
  return folder;
}

/** The program that kubectl runs to complete `kubectl karpenter …`. */
function completer(): string {
  return `#!/usr/bin/env node
process.argv.splice(2, 0, "__complete");
await import("./kubectl-karpenter.mjs");
`;
}

/** The bundle's package.json with version and commit, which the program cannot read from a checkout here. */
function manifest(): string {
  const { name, version, license } = JSON.parse(
    readFileSync(join(ROOT, "package.json"), "utf8"),
  ) as Record<string, string>;
  const commit = commitOf();
  return `${JSON.stringify({ name, version, license, type: "module", ...(commit === undefined ? {} : { commit }) }, null, 2)}\n`;
}

/**
 * The commit in the variable COMMIT, as an image's build sets it; otherwise that of the checkout. Undefined
 * without both.
 */
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

/** The licences of all bundled packages. Throws if a package has none. */
function licences(inputs: readonly string[]): string {
  const packages = new Set<string>();
  for (const input of inputs) {
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
