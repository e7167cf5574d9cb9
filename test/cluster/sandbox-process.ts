/** A sandbox in a process of its own, as a user starts it, for tests that bring their own clients. */
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { END_WITH_STDIN } from "./tied.ts";

const MAIN = fileURLToPath(new URL("../../dist/cli/main.js", import.meta.url));
const READY_LIMIT_MS = 60_000;

export interface SandboxProcess {
  /** Resolves once the process has ended. */
  stop(): Promise<void>;
}

/** Starts a sandbox. Resolves once its kubeconfig is written: from then on its API answers. */
export async function startSandboxProcess(kubeconfig: string): Promise<SandboxProcess> {
  const flags = ["--port", "0", "--kubeconfig", kubeconfig];
  const args = ["--import", END_WITH_STDIN, MAIN, "sandbox", ...flags];
  const sandbox = spawn(process.execPath, args, { stdio: ["pipe", "ignore", "ignore"] });
  const stop = async (): Promise<void> => {
    const ended = new Promise((resolve) => sandbox.once("exit", resolve));
    sandbox.kill("SIGTERM");
    await ended;
  };
  const deadlineMs = performance.now() + READY_LIMIT_MS;
  while (!existsSync(kubeconfig)) {
    if (performance.now() > deadlineMs) {
      await stop();
      throw new Error("the sandbox never came up");
    }
    await sleep(100);
  }
  return { stop };
}
