/**
 * Upstream's end-to-end suites as test binaries, and upstream's operator for kwok, all built unchanged from the Go
 * module that suites/go.mod names: once per version, into the cache of test/cluster.
 */
import { execFileSync, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { built, goRun, versionIn } from "../cluster/binaries.ts";

const MODULE = fileURLToPath(new URL("suites", import.meta.url));
const CORE = "sigs.k8s.io/karpenter";
export const SUITES = ["regression", "disruption", "performance", "dra"] as const;
export type Suite = (typeof SUITES)[number];

/** Go fetches the toolchain that core's go.mod asks for, where the installed one is older. */
const ENV = { GOTOOLCHAIN: "auto" };
const DOWNLOAD_LIMIT_MS = 5 * 60_000;

/** `v1.15.0`. */
export function coreVersion(): string {
  return versionIn(MODULE, CORE);
}

/** Undefined where the suites can be built here: there is Go, and its modules can be had. */
export function whyNotBuildable(): string | undefined {
  if (spawnSync("go", ["version"]).status !== 0)
    return "Go is not on PATH; install Go 1.26 or newer (https://go.dev/dl)";
  const { status } = spawnSync("go", ["mod", "download"], {
    cwd: MODULE,
    env: { ...process.env, ...ENV },
    timeout: DOWNLOAD_LIMIT_MS,
    stdio: "ignore",
  });
  if (status === 0) return undefined;
  return "the modules of upstream's suites cannot be had (`go mod download` in test/upstream/suites says why)";
}

/** The path of a suite's test binary; builds it when it is not there. */
export async function suiteBinary(suite: Suite, tell: (line: string) => void): Promise<string> {
  const folder = await built(
    `upstream-${suite}-${coreVersion()}-${moduleKey()}`,
    (into) => {
      const flags = ["-vet=off", "-trimpath", "-ldflags=-s -w", "-o", join(into, "suite.test")];
      return goRun(MODULE, ["test", "-c", ...flags, `${CORE}/test/suites/${suite}`], ENV);
    },
    () => tell(`building upstream's suite ${suite} of ${coreVersion()} (once; some minutes)`),
  );
  return join(folder, "suite.test");
}

/** The path of upstream's own operator for kwok; builds it when it is not there. */
export async function upstreamOperator(tell: (line: string) => void): Promise<string> {
  const folder = await built(
    `upstream-kwok-${coreVersion()}-${moduleKey()}`,
    (into) => {
      const flags = ["-trimpath", "-ldflags=-s -w", "-o", join(into, "karpenter")];
      return goRun(MODULE, ["build", ...flags, `${CORE}/kwok`], ENV);
    },
    () => tell(`building upstream's operator ${coreVersion()} for kwok (once; some minutes)`),
  );
  return join(folder, "karpenter");
}

/** The folder of core's own files, unchanged. */
export function coreFolder(): string {
  return moduleFolder(`${CORE}@${coreVersion()}`);
}

/** The folder of a module, `sigs.k8s.io/kwok@v0.7.0`; fetched when it is not there. */
export function moduleFolder(module: string): string {
  const answer = execFileSync("go", ["mod", "download", "-json", module], {
    encoding: "utf8",
    env: { ...process.env, ...ENV },
    stdio: ["ignore", "pipe", "pipe"],
  });
  return (JSON.parse(answer) as { Dir: string }).Dir;
}

function moduleKey(): string {
  const hash = createHash("sha256");
  for (const file of ["go.mod", "go.sum"]) hash.update(readFileSync(join(MODULE, file)));
  return hash.digest("hex").slice(0, 12);
}
