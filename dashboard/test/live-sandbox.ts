/** Starts a sandbox as a user does, and reads the address of its console from the output. */
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const MAIN = fileURLToPath(new URL("../../dist/cli/main.js", import.meta.url));
const START_MS = 60_000;

export interface LiveSandbox {
  /** The address of the console, with the token. */
  readonly url: string;
  readonly kubeconfig: string;
  stop(): Promise<void>;
}

export async function startSandbox(speed: number): Promise<LiveSandbox> {
  const folder = mkdtempSync(join(tmpdir(), "karpenter-browser-"));
  const kubeconfig = join(folder, "kubeconfig");
  const flags = ["sandbox", "--speed", String(speed), "--kubeconfig", kubeconfig];
  const child = spawn(process.execPath, [MAIN, ...flags], { stdio: ["ignore", "pipe", "inherit"] });
  return {
    url: await addressOf(child),
    kubeconfig,
    stop: async () => {
      const ended = new Promise((resolve) => child.once("exit", resolve));
      child.kill("SIGINT");
      await ended;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function addressOf(child: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = "";
    const late = setTimeout(() => reject(new Error(`no address printed:\n${text}`)), START_MS);
    child.stdout?.on("data", (part: Buffer) => {
      text += String(part);
      const url = /http:\/\/127\.0\.0\.1:\d+\/#[0-9a-f]{32}/.exec(text)?.[0];
      if (url === undefined) return;
      clearTimeout(late);
      resolve(url);
    });
    child.once("exit", (code) => reject(new Error(`the sandbox ended with ${code}:\n${text}`)));
  });
}
