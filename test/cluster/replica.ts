/** One `karpenter controller --provider kwok` as a process that a test may kill, with its log and its memory use. */
import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, existsSync, openSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { NAMESPACE } from "./account.ts";
import { END_WITH_STDIN } from "./tied.ts";

const MAIN = fileURLToPath(new URL("../../dist/cli/main.js", import.meta.url));

export interface ReplicaProcess {
  readonly name: string;
  readonly alive: boolean;
  /** Whether its log says that it acquired the Lease. */
  readonly leads: boolean;
  log(): readonly string[];
  /** Resident memory now, in MiB. */
  rssMib(): number;
  /** Kills the process with `kill -9`. */
  kill(): Promise<void>;
}

export function startReplicaProcess(
  name: string,
  kubeconfig: string,
  logFile: string,
  flags: readonly string[] = [],
): ReplicaProcess {
  const log = openSync(logFile, "a");
  const quiet = ["--metrics-port", "0", "--health-probe-port", "0", "--disable-webhook", "true"];
  const child = spawn(
    process.execPath,
    [
      ...["--import", END_WITH_STDIN, MAIN, "controller", "--provider", "kwok"],
      ...["--log-level", "debug", ...quiet, ...flags],
    ],
    {
      stdio: ["pipe", log, log],
      env: { ...process.env, KUBECONFIG: kubeconfig, SYSTEM_NAMESPACE: NAMESPACE },
    },
  );
  closeSync(log);
  const lines = () =>
    existsSync(logFile) ? readFileSync(logFile, "utf8").split("\n").slice(0, -1) : [];
  const alive = () => child.exitCode === null && child.signalCode === null;
  return {
    name,
    get alive() {
      return alive();
    },
    get leads() {
      return alive() && lines().some((line) => line.includes("successfully acquired lease"));
    },
    log: lines,
    rssMib: () => rssMib(child),
    kill: async () => {
      if (!alive()) return;
      const ended = new Promise((resolve) => child.once("exit", resolve));
      child.kill("SIGKILL");
      await ended;
    },
  };
}

function rssMib({ pid }: ChildProcess): number {
  const kib = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1];
  return Math.round(Number(kib) / 1_024);
}
