/** Starts the bench's API server and a `karpenter console` of it, each in a process of its own. */
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

export interface StartedConsole {
  /** The address of the console, with the token. */
  readonly url: string;
  readonly kubeconfig: string;
  /** The file that `loop-probe.mjs` writes. */
  readonly probe: string;
  readonly server: ChildProcess;
  readonly served: ChildProcess;
  stop(): void;
}

/** The cluster: how many nodes and pods a node, and what is wrong with it (`troubles.ts`). */
export interface WantedCluster {
  readonly nodes: string;
  readonly pods: string;
  readonly trouble?: string;
}

/** Starts both. The processes run until `stop`. */
export async function startConsole(wanted: WantedCluster): Promise<StartedConsole> {
  const folder = mkdtempSync(join(tmpdir(), "console-bench-"));
  const children: ChildProcess[] = [];
  const stop = (): void => {
    for (const child of children) child.kill("SIGKILL");
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    const size = [wanted.nodes, wanted.pods, wanted.trouble ?? ""];
    const server = spawn(process.execPath, ["--import", "tsx", here("api-server.ts"), ...size], {
      stdio: ["pipe", "pipe", "inherit"],
    });
    children.push(server);
    const kubeconfig = join(folder, "kubeconfig");
    writeFileSync(kubeconfig, kubeconfigOf(await lineOf(server, /http:\S+/)));
    const probe = join(folder, "probe");
    const env = { ...process.env, KUBECONFIG: kubeconfig, LOOP_PROBE: probe };
    const served = spawn(
      process.execPath,
      ["--import", here("loop-probe.mjs"), here("../../dist/cli/main.js"), "console"],
      { env, stdio: ["ignore", "pipe", "inherit", "ipc"] },
    );
    children.push(served);
    const url = await lineOf(served, /http:\/\/\S+#[0-9a-f]+/);
    return { url, kubeconfig, probe, server, served, stop };
  } catch (error) {
    stop();
    throw error;
  }
}

function kubeconfigOf(server: string): string {
  return JSON.stringify({
    "current-context": "x",
    contexts: [{ name: "x", context: { cluster: "x", user: "x" } }],
    clusters: [{ name: "x", cluster: { server } }],
    users: [{ name: "x", user: {} }],
  });
}

function lineOf(child: ChildProcess, pattern: RegExp): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = "";
    child.stdout?.on("data", (part: Buffer) => {
      text += String(part);
      const found = pattern.exec(text)?.[0];
      if (found !== undefined) resolve(found);
    });
    child.once("exit", (code) => reject(new Error(`ended with ${code}: ${text}`)));
  });
}
