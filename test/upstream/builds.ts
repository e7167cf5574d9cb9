/**
 * Upstream's end-to-end suites as test binaries, and upstream's operator for kwok. All are built unchanged from the Go
 * module that suites/go.mod names: once per version, into the cache of test/cluster. The operator of the minor version
 * before is the one that previous/go.mod names.
 */
import { execFileSync, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { copyFileSync, cpSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { built, goRun, versionIn } from "../cluster/binaries.ts";
import { goEnv } from "../cluster/go-env.ts";

const MODULE = fileURLToPath(new URL("suites", import.meta.url));
const PREVIOUS = fileURLToPath(new URL("previous", import.meta.url));
const MENDS_FOLDER = fileURLToPath(new URL("mends", import.meta.url));
const CORE = "sigs.k8s.io/karpenter";
export const SUITES = ["regression", "disruption", "performance", "dra"] as const;
export type Suite = (typeof SUITES)[number];

const DOWNLOAD_LIMIT_MS = 5 * 60_000;

/** The version of upstream's core, such as `v1.15.0`. */
export function coreVersion(): string {
  return versionIn(MODULE, CORE);
}

/** Why the suites cannot be built here; undefined if Go is installed and its modules can be fetched. */
export function whyNotBuildable(): string | undefined {
  if (spawnSync("go", ["version"]).status !== 0)
    return "Go is not on PATH; install Go 1.26 or newer (https://go.dev/dl)";
  const { status } = spawnSync("go", ["mod", "download"], {
    cwd: MODULE,
    env: goEnv(),
    timeout: DOWNLOAD_LIMIT_MS,
    stdio: "ignore",
  });
  if (status === 0) return undefined;
  return "the modules of upstream's suites cannot be had (`go mod download` in test/upstream/suites says why)";
}

/** Files without which a suite cannot work, by suite. Each file says why. Upstream's own files stay unchanged. */
const MENDS: Readonly<Partial<Record<Suite, string>>> = { dra: "dra_scheme_test.go" };

/** The path of a suite's test binary; builds it when it is not there. */
export async function suiteBinary(suite: Suite, tell: (line: string) => void): Promise<string> {
  const mend = MENDS[suite];
  const text = mend === undefined ? "" : readFileSync(join(MENDS_FOLDER, `${mend}.txt`), "utf8");
  const folder = await built(
    `upstream-${suite}-${coreVersion()}-${moduleKey({ more: text })}`,
    async (into) => {
      const module = mend === undefined ? [] : [`-modfile=${mended(into, suite, mend)}`];
      const flags = ["-vet=off", "-trimpath", "-ldflags=-s -w", "-o", join(into, "suite.test")];
      await goRun(MODULE, ["test", "-c", ...module, ...flags, `${CORE}/test/suites/${suite}`]);
      rmSync(join(into, "core"), { recursive: true, force: true });
    },
    () => tell(`building upstream's suite ${suite} of ${coreVersion()} (once; some minutes)`),
  );
  return join(folder, "suite.test");
}

/** Copies core with the file added; returns a go.mod that names the copy. Go's module cache may not be changed. */
function mended(into: string, suite: Suite, mend: string): string {
  const core = join(into, "core");
  cpSync(coreFolder(), core, { recursive: true });
  // The copy is as read-only as Go's cache.
  execFileSync("chmod", ["-R", "u+w", core]);
  const folder = join(core, "test", "suites", suite);
  copyFileSync(join(MENDS_FOLDER, `${mend}.txt`), join(folder, mend));
  copyFileSync(join(MODULE, "go.sum"), join(into, "mended.sum"));
  const file = join(into, "mended.mod");
  const replace = `replace ${CORE} => ${core}\n`;
  writeFileSync(file, `${readFileSync(join(MODULE, "go.mod"), "utf8")}\n${replace}`);
  return file;
}

/** Versions whose operator can be built, newest first: `v1.15.0`, `v1.14.1`. */
export function operatorVersions(): readonly string[] {
  return [MODULE, PREVIOUS].map((module) => versionIn(module, CORE));
}

/** The path of upstream's operator for kwok; builds it when it is not there. */
export async function upstreamOperator(
  tell: (line: string) => void,
  version = coreVersion(),
): Promise<string> {
  const module = version === coreVersion() ? MODULE : PREVIOUS;
  const folder = await built(
    `upstream-kwok-${version}-${moduleKey({ module })}`,
    (into) => {
      const flags = ["-trimpath", "-ldflags=-s -w", "-o", join(into, "karpenter")];
      return goRun(module, ["build", ...flags, `${CORE}/kwok`]);
    },
    () => tell(`building upstream's operator ${version} for kwok (once; some minutes)`),
  );
  return join(folder, "karpenter");
}

/** The folder of core's own files, unchanged. */
export function coreFolder(version = coreVersion()): string {
  return moduleFolder(`${CORE}@${version}`);
}

/** The folder of a module such as `sigs.k8s.io/kwok@v0.7.0`; fetches it when it is not there. */
export function moduleFolder(module: string): string {
  const answer = execFileSync("go", ["mod", "download", "-json", module], {
    encoding: "utf8",
    env: goEnv(),
    stdio: ["ignore", "pipe", "pipe"],
  });
  return (JSON.parse(answer) as { Dir: string }).Dir;
}

function moduleKey({ module = MODULE, more = "" } = {}): string {
  const hash = createHash("sha256").update(more);
  for (const file of ["go.mod", "go.sum"]) hash.update(readFileSync(join(module, file)));
  return hash.digest("hex").slice(0, 12);
}
