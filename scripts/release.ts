/**
 * `npm run release -- --version X.Y.Z [--dry-run] …`: makes everything that is published, in one folder. One
 * commit gives the same bytes each time. Nothing is uploaded. docs/guide/release.md lists the flags, and says what to
 * do with the files.
 */
import { execFileSync } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { artefactsOf, type Built } from "./release/artefacts.ts";
import { type ChangeNote, parseNote, versionProblem, withRelease } from "./release/changelog.ts";
import { type Maker, provenanceOf, signatureOf, sumsOf } from "./release/statements.ts";
import { scriptFlags } from "./script-flags.ts";

const ROOT = fileURLToPath(new URL("../", import.meta.url));
const PROVENANCE = "provenance.intoto.json";
/** Files of the checkout that a release changes. */
const CHANGED = [
  "package.json",
  "package-lock.json",
  "CHANGELOG.md",
  "deploy/charts/karpenter/Chart.yaml",
  "deploy/charts/karpenter-crd/Chart.yaml",
];

const { values } = scriptFlags(import.meta.url, {
  options: {
    version: { type: "string" },
    "dry-run": { type: "boolean", default: false },
    out: { type: "string" },
    base: { type: "string" },
    "root-amd64": { type: "string" },
    "root-arm64": { type: "string" },
    "image-repository": { type: "string" },
    helm: { type: "string", default: "helm" },
    "sign-key": { type: "string" },
    "sign-command": { type: "string" },
    "builder-id": { type: "string", default: "https://karpenter-ts.invalid/local" },
  },
});

const say = (line: string): void => {
  process.stdout.write(`${line}\n`);
};

try {
  await release();
} catch (error) {
  process.stderr.write(`release: ${(error as Error).message}\n`);
  process.exitCode = 1;
}

/** Removes the folder if the command is interrupted. A copy that stays in the checkout stops `npm run lint`. */
function removeOnSignal(folder: string): void {
  for (const [signal, code] of [
    ["SIGINT", 130],
    ["SIGTERM", 143],
  ] as const)
    process.once(signal, () => {
      rmSync(folder, { recursive: true, force: true });
      process.exit(code);
    });
}

async function release(): Promise<void> {
  const { version } = values;
  if (version === undefined) throw new Error("--version X.Y.Z is missing");
  const notes = changeNotes();
  check(version, notes);
  const commit = git("rev-parse", "HEAD");
  const atMs = Number(process.env["SOURCE_DATE_EPOCH"] ?? git("log", "-1", "--format=%ct")) * 1_000;
  const out = outFolder(version);
  // A folder inside the checkout, so that imports find its node_modules.
  mkdirSync(join(ROOT, "dist"), { recursive: true });
  const source = mkdtempSync(join(ROOT, "dist/.release-"));
  removeOnSignal(source);
  try {
    say(`making version ${version} of commit ${commit.slice(0, 7)}; this takes some minutes`);
    exportTo(source, { version, notes, atMs });
    // The files are read before the commit is written into them, because in a checkout git tells the commit.
    const changed = CHANGED.map((file) => ({ file, content: readFileSync(join(source, file)) }));
    nameCommit(source, commit);
    const built: Built = {
      source,
      version,
      commit,
      atMs,
      helm: values.helm,
      image: imageOptions(),
      say,
    };
    const artefacts = await artefactsOf(built);
    for (const { name, content } of artefacts) writeFileSync(join(out, name), content);
    const provenance = {
      name: PROVENANCE,
      content: Buffer.from(provenanceOf(artefacts, { version, commit, atMs }, maker(source))),
    };
    writeFileSync(join(out, PROVENANCE), provenance.content);
    writeFileSync(join(out, "SHA256SUMS"), sumsOf([...artefacts, provenance]));
    signAll(out);
    if (!values["dry-run"]) takeOver(changed, notes);
  } finally {
    rmSync(source, { recursive: true });
  }
  for (const name of readdirSync(out).sort()) say(`${name}`);
  say(`${values["dry-run"] ? "tried" : "made"}: ${out}`);
  if (!values["dry-run"])
    say(
      `next: git commit -am "Release ${version}" && git tag v${version}; then docs/guide/release.md`,
    );
}

/** The folder for the files. Empties only the default folder; a given folder must be empty. */
function outFolder(version: string): string {
  const ours = join(ROOT, "dist/release", version);
  const out = resolve(values.out ?? ours);
  if (out === ours) rmSync(out, { recursive: true, force: true });
  else if (existsSync(out) && readdirSync(out).length > 0)
    throw new Error(`--out ${values.out}: the folder is not empty; name another`);
  mkdirSync(out, { recursive: true });
  return out;
}

function maker(source: string): Maker {
  const npm = execFileSync("npm", ["--version"], { encoding: "utf8" }).trim();
  const programs = { node: process.versions.node, npm, zlib: process.versions.zlib };
  const lockFile = readFileSync(join(source, "package-lock.json"));
  return { id: values["builder-id"], programs, lockFile };
}

function changeNotes(): readonly ChangeNote[] {
  const folder = join(ROOT, ".changeset");
  return readdirSync(folder)
    .filter((name) => name.endsWith(".md") && name !== "README.md")
    .sort()
    .map((name) => parseNote(`.changeset/${name}`, readFileSync(join(folder, name), "utf8")));
}

/** Checks that this commit can be released. Throws an Error that says what to correct. */
function check(version: string, notes: readonly ChangeNote[]): void {
  const changelog = readFileSync(join(ROOT, "CHANGELOG.md"), "utf8");
  const released = [...changelog.matchAll(/^## \[(\d+\.\d+\.\d+)\]/gm)].map(([, one = ""]) => one);
  const problem = versionProblem(version, released, notes);
  if (problem !== undefined) throw new Error(problem);
  if (notes.length === 0) throw new Error(".changeset has no note: nothing to release");
  if (git("status", "--porcelain") === "") return;
  if (!values["dry-run"]) throw new Error("the checkout has changes that are not committed");
  say("the checkout has changes that are not committed: they are left out");
}

/** Writes the commit's files into `source`, with the new version. */
function exportTo(
  source: string,
  { version, notes, atMs }: { version: string; notes: readonly ChangeNote[]; atMs: number },
): void {
  const archive = execFileSync("git", ["archive", "--format=tar", "HEAD"], {
    cwd: ROOT,
    maxBuffer: 1 << 30,
  });
  execFileSync("tar", ["-x", "-C", source], { input: archive });
  // A second biome.json below the checkout would make its linter fail during the release.
  rmSync(join(source, "biome.json"));
  for (const file of ["package.json", "package-lock.json"]) {
    const path = join(source, file);
    const text = readFileSync(path, "utf8");
    const { version: before } = JSON.parse(text) as { version: string };
    // The lock file names the version twice, for the package and for its root. Both come before all other versions.
    const times = file === "package.json" ? 1 : 2;
    let changed = text;
    for (let time = 0; time < times; time++)
      changed = changed.replace(`"version": "${before}"`, `"version":  "${version}"`);
    writeFileSync(path, changed.replaceAll('"version":  ', '"version": '));
  }
  const changelog = join(source, "CHANGELOG.md");
  const date = new Date(atMs).toISOString().slice(0, 10);
  const text = withRelease(readFileSync(changelog, "utf8"), { version, date, notes });
  writeFileSync(changelog, text);
  execFileSync("npm", ["run", "--silent", "generate"], { cwd: source, stdio: "pipe" });
}

/** Writes the commit into package.json: the npm package has no checkout from which the program could read it. */
function nameCommit(source: string, commit: string): void {
  const path = join(source, "package.json");
  const manifest = JSON.parse(readFileSync(path, "utf8")) as object;
  writeFileSync(path, `${JSON.stringify({ ...manifest, commit: commit.slice(0, 7) }, null, 2)}\n`);
}

function imageOptions(): Built["image"] {
  const { base, "root-amd64": amd64, "root-arm64": arm64, "image-repository": repository } = values;
  if (base === undefined && (amd64 === undefined) !== (arm64 === undefined))
    throw new Error("an image has both platforms: give --root-amd64 DIR and --root-arm64 DIR");
  const from = base ?? (amd64 !== undefined && arm64 !== undefined ? { amd64, arm64 } : undefined);
  return {
    ...(from === undefined ? {} : { base: from }),
    ...(repository === undefined ? {} : { repository }),
  };
}

/**
 * Signs the sums, which cover all other files, and the provenance. A sign command gets the file's name as its last
 * argument.
 */
function signAll(out: string): void {
  const { "sign-key": key, "sign-command": command } = values;
  for (const name of ["SHA256SUMS", PROVENANCE]) {
    const file = join(out, name);
    if (key !== undefined)
      writeFileSync(`${file}.sig`, signatureOf(readFileSync(file), readFileSync(key, "utf8")));
    if (command !== undefined)
      execFileSync("sh", ["-c", `${command} "$1"`, "sign", file], { stdio: "inherit" });
  }
}

/** Writes the files that the release changed into the checkout, and removes the used change notes. */
function takeOver(
  changed: readonly { readonly file: string; readonly content: Buffer }[],
  notes: readonly ChangeNote[],
): void {
  for (const { file, content } of changed) writeFileSync(join(ROOT, file), content);
  for (const { file } of notes) rmSync(join(ROOT, file));
}

function git(...args: readonly string[]): string {
  return execFileSync("git", args, { cwd: ROOT, encoding: "utf8" }).trim();
}
