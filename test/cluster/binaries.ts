/**
 * The programs of the control plane, built from the Go modules beside this file, once per version, into a cache
 * outside the tree. The cache folder's name is a hash of everything that goes into the build: a changed version
 * never finds an old binary. An unfinished build has no such folder yet.
 */
import { spawn, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { goEnv } from "./go-env.ts";

const MODULE = fileURLToPath(new URL(".", import.meta.url));
/** Sources of the control plane. A change to another Go program in this folder does not rebuild it. */
const CONTROL_PLANE = ["go.mod", "go.sum", "cmd", "kwok", "parent"];
export const PROGRAMS = [
  "etcd",
  "kube-apiserver",
  "kube-controller-manager",
  "kube-scheduler",
  "kwok",
] as const;
export type Program = (typeof PROGRAMS)[number];
/** Folders of every Go module that tests build. */
export const MODULES: readonly string[] = [
  MODULE,
  ...["kwok", "helm", "clients"].map((name) => join(MODULE, name)),
];
export const NO_GO =
  "it is built with Go, which is not on PATH; install Go 1.26 or newer (https://go.dev/dl)";

/** Go is not installed and nothing is built yet; `message` says what to do. */
class NoGoError extends Error {
  override readonly name = "NoGoError";
}

/** Version of Kubernetes that go.mod asks for: `v1.34.4`. */
export function kubernetesVersion(): string {
  return versionIn(MODULE, "k8s.io/kubernetes");
}

/** The version of `dependency` that the module's go.mod requires. */
export function versionIn(module: string, dependency: string): string {
  const lines = readFileSync(join(module, "go.mod"), "utf8").split("\n");
  const line = lines
    .map((text) =>
      text
        .trim()
        .replace(/^require /, "")
        .split(" "),
    )
    .find(([name]) => name === dependency);
  if (line?.[1] === undefined) throw new Error(`${module}/go.mod does not name ${dependency}`);
  return line[1];
}

/** The folder with all programs. Builds them when they are missing, which takes minutes on a cold machine. */
export async function binaries(tell: (line: string) => void = () => undefined): Promise<string> {
  return built(controlPlaneName(), build, () =>
    tell(`building Kubernetes ${kubernetesVersion()} and kwok (once; some minutes)`),
  );
}

/** Whether everything that tests need from Go is built. */
export function isBuilt(): boolean {
  const names = [controlPlaneName(), helmName(), clientsName()];
  return names.every((name) => existsSync(join(cacheFolder(), name)));
}

function controlPlaneName(): string {
  return `${kubernetesVersion()}-${sourceKey(CONTROL_PLANE)}`;
}

function helmName(): string {
  return `helm-${helmVersion()}-${sourceKey(["helm"])}`;
}

function helmVersion(): string {
  return versionIn(join(MODULE, "helm"), "helm.sh/helm/v3");
}

function clientsName(): string {
  return `clients-${sourceKey(["clients", "parent"])}`;
}

/** The path of the real helm; builds it when it is not there. */
export async function helmBinary(tell: (line: string) => void = () => undefined): Promise<string> {
  const version = helmVersion();
  const folder = await built(
    helmName(),
    async (into) => {
      const stamps = [`helm.sh/helm/v3/internal/version.version=${version}`];
      await goBuild(join(MODULE, "helm"), into, "helm.sh/helm/v3/cmd/helm", stamps);
    },
    () => tell(`building helm ${version} (once; some minutes)`),
  );
  return join(folder, "helm");
}

/** The path of the program in clients/; builds it when it is not there. */
export async function clientsBinary(
  tell: (line: string) => void = () => undefined,
): Promise<string> {
  const module = join(MODULE, "clients");
  const folder = await built(
    clientsName(),
    (into) => goBuild(module, into, ".", []),
    () => tell("building a program with client-go and controller-runtime (once; two minutes)"),
  );
  return join(folder, "clients");
}

/**
 * Programs at released versions: k9s and others by which people look at pods, and actionlint, which checks
 * workflows of GitHub.
 */
const RELEASED = {
  actionlint: "github.com/rhysd/actionlint/cmd/actionlint@v1.7.12",
  k9s: "github.com/derailed/k9s@v0.50.16",
  stern: "github.com/stern/stern@v1.33.0",
} as const;

/** The path of a released program; builds it when it is not there. */
export async function releasedBinary(
  name: keyof typeof RELEASED,
  tell: (line: string) => void = () => undefined,
): Promise<string> {
  const program = RELEASED[name];
  const folder = await built(
    `${name}-${program.split("@")[1]}`,
    (into) => goRun(into, ["install", "-trimpath", "-ldflags=-s -w", program], { GOBIN: into }),
    () => tell(`building ${program} (once; some minutes)`),
  );
  return join(folder, name);
}

/** Whether Go is installed, which all these builds need. */
export function isGoHere(): boolean {
  return spawnSync("go", ["version"]).status === 0;
}

/** The folder of this name in the cache, made by `make` when it is not there yet. */
export async function built(
  name: string,
  make: (into: string) => Promise<void>,
  onBuild: () => void,
): Promise<string> {
  const folder = join(cacheFolder(), name);
  if (existsSync(folder)) return folder;
  if (!isGoHere()) {
    throw new NoGoError(`no real control plane here: ${NO_GO}`);
  }
  onBuild();
  const half = `${folder}.${process.pid}`;
  mkdirSync(half, { recursive: true });
  try {
    await make(half);
    // If two processes build at the same time, the first to finish wins, and the other one deletes its result.
    if (!existsSync(folder)) renameSync(half, folder);
  } finally {
    rmSync(half, { recursive: true, force: true });
  }
  return folder;
}

function cacheFolder(): string {
  const base = process.env["XDG_CACHE_HOME"] || join(homedir(), ".cache");
  return join(base, "karpenter-ts", "cluster");
}

/** A hash of the module's Go files below these folders, and of these files. */
function sourceKey(parts: readonly string[]): string {
  const hash = createHash("sha256");
  const files = readdirSync(MODULE, { recursive: true, encoding: "utf8" })
    .filter((file) => /(\.go|go\.mod|go\.sum)$/.test(file))
    .filter((file) => parts.some((part) => file === part || file.startsWith(`${part}/`)))
    .sort();
  for (const file of files) hash.update(`${file}\n`).update(readFileSync(join(MODULE, file)));
  return hash.digest("hex").slice(0, 12);
}

async function build(into: string): Promise<void> {
  const version = kubernetesVersion();
  const [major = "", minor = ""] = version.slice(1).split(".");
  // Without these kubectl cannot read the server's version.
  const stamps = [
    `k8s.io/component-base/version.gitVersion=${version}`,
    `k8s.io/client-go/pkg/version.gitVersion=${version}`,
    `k8s.io/component-base/version.gitMajor=${major}`,
    `k8s.io/component-base/version.gitMinor=${minor}`,
  ];
  await goBuild(MODULE, into, "./cmd/...", stamps);
  await goBuild(join(MODULE, "kwok"), into, ".", []);
}

async function goBuild(
  cwd: string,
  into: string,
  packages: string,
  stamps: readonly string[],
): Promise<void> {
  const flags = ["-s", "-w", ...stamps.map((stamp) => `-X ${stamp}`)].join(" ");
  const args = ["build", "-trimpath", `-ldflags=${flags}`, "-o", `${into}/`, packages];
  await goRun(cwd, args);
}

/** Runs `go` with these arguments; rejects when it fails. */
export async function goRun(
  cwd: string,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<void> {
  const child = spawn("go", args, {
    cwd,
    env: goEnv(env),
    stdio: ["ignore", "inherit", "inherit"],
  });
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once("error", reject);
    child.once("exit", resolve);
  });
  if (code !== 0) throw new Error(`go ${args[0]} in ${cwd} failed with exit code ${code}`);
}
