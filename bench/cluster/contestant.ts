/**
 * Starts the two operators under equal conditions: the same kubeconfig, service account, settings and environment
 * variables. Reads their CPU time and memory from /proc. Each operator ends when its standard input closes, so none
 * outlives the bench.
 */
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { imageFlags } from "../../scripts/image-flags.ts";
import { upstreamOperator } from "../../test/upstream/builds.ts";
import { imageNode } from "../image-node.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
/**
 * A shell script: runs its arguments in the background, prints their process id, and ends them when its standard input
 * closes.
 */
const TIED =
  '"$@" & child=$!; echo $child >&3; exec 3>&-; cat >/dev/null; kill $child; ' +
  "(sleep 10; kill -9 $child) 2>/dev/null & wait $child";
const TICKS_PER_SECOND = 100;
const READY_LIMIT_MS = 60_000;

export interface Contestant {
  readonly name: "ours" | "upstream";
  readonly command: readonly string[];
}

export interface Running {
  /** Seconds of CPU time of all threads so far. */
  cpuSeconds(): number;
  /** Peak memory of the process so far, in MiB. */
  peakRssMib(): number;
  stop(): Promise<void>;
}

/**
 * The program as in the image: its Node, its flags, the bundle with its code cache. `nodeFlags`: additional flags, for
 * profiles or to try settings.
 */
function ours(nodeFlags: readonly string[], tell: (line: string) => void): Contestant {
  const folder = mkdtempSync(join(tmpdir(), "bench-bundle-"));
  process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
  const tsx = join(ROOT, "node_modules/tsx/dist/cli.mjs");
  const bundle = join(ROOT, "scripts/bundle.ts");
  const node = imageNode(tell).program;
  const args = ["--out", folder, "--code-cache", node];
  execFileSync(process.execPath, [tsx, bundle, ...args], { cwd: ROOT });
  const flags = [...imageFlags(), ...nodeFlags];
  const program = join(folder, "karpenter.mjs");
  const command = [node, ...flags, program, "controller", "--provider", "kwok"];
  return { name: "ours", command };
}

/**
 * Upstream's operator for kwok, unchanged. The runs of upstream's suites and the migration tests use the same program.
 */
async function upstream(tell: (line: string) => void): Promise<Contestant> {
  return { name: "upstream", command: [await upstreamOperator(tell)] };
}

/**
 * Upstream's operator, then karpenter-ts, or `only` one of them. `nodeFlags`: Node.js flags for karpenter-ts, separated
 * by spaces.
 */
export async function contestantsOf(
  only: string | undefined,
  nodeFlags: string,
  tell: (line: string) => void,
): Promise<readonly Contestant[]> {
  if (only !== undefined && only !== "ours" && only !== "upstream")
    throw new Error(`--only ${only}: it is ours or upstream`);
  const flags = nodeFlags.split(" ").filter((flag) => flag !== "");
  return [
    ...(only === "ours" ? [] : [await upstream(tell)]),
    ...(only === "upstream" ? [] : [ours(flags, tell)]),
  ];
}

/** Starts the operator. Resolves when it reports that it is ready. */
export async function start(
  contestant: Contestant,
  kubeconfig: string,
  logFile: string,
): Promise<Running> {
  const port = await freePort();
  const log = openSync(logFile, "a");
  const child = spawn("sh", ["-c", TIED, "sh", ...contestant.command], {
    stdio: ["pipe", log, log, "pipe"],
    env: {
      ...process.env,
      KUBECONFIG: kubeconfig,
      KUBERNETES_MIN_VERSION: "1.19.0-0",
      KARPENTER_SERVICE: "karpenter",
      SYSTEM_NAMESPACE: "kube-system",
      METRICS_PORT: "0",
      HEALTH_PROBE_PORT: String(port),
      DISABLE_LEADER_ELECTION: "true",
      DISABLE_WEBHOOK: "true",
      CPU_REQUESTS: "1000",
      MEMORY_LIMIT: "4000000000",
    },
  });
  closeSync(log);
  const pid = await pidFrom(child);
  const running: Running = {
    cpuSeconds: () => cpuSecondsOf(pid),
    peakRssMib: () => peakRssMibOf(pid),
    stop: async () => {
      const ended = new Promise((resolve) => child.once("exit", resolve));
      child.stdin?.end();
      await ended;
    },
  };
  const deadlineMs = performance.now() + READY_LIMIT_MS;
  while (!(await answers(`http://127.0.0.1:${port}/readyz`))) {
    if (hasEnded(pid) || performance.now() > deadlineMs) {
      await running.stop();
      const what = `${contestant.name} ended, or was not ready after ${READY_LIMIT_MS / 1_000} s`;
      throw new Error(`${what}; its log ends: ${readFileSync(logFile, "utf8").slice(-1_000)}`);
    }
    await sleep(100);
  }
  return running;
}

function pidFrom(child: ChildProcess): Promise<number> {
  return new Promise((resolve, reject) => {
    child.stdio[3]?.once("data", (chunk: Buffer) => resolve(Number(chunk.toString())));
    child.once("error", reject);
  });
}

function hasEnded(pid: number): boolean {
  try {
    return /\) Z /.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
  } catch {
    return true;
  }
}

/** Adds utime and stime: fields 14 and 15 of /proc/PID/stat, counted after the name in parentheses. */
function cpuSecondsOf(pid: number): number {
  const text = readFileSync(`/proc/${pid}/stat`, "utf8");
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND;
}

function peakRssMibOf(pid: number): number {
  const kib = /VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1];
  return Number(kib) / 1_024;
}

async function answers(url: string): Promise<boolean> {
  try {
    return (await fetch(url)).ok;
  } catch {
    return false;
  }
}

function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer();
    server.listen(0, "127.0.0.1", () => {
      const { port } = server.address() as { port: number };
      server.close(() => resolve(port));
    });
  });
}
