/**
 * k9s and stern, two programs by which people look at a cluster, work with the sandbox. k9s runs in a tmux
 * terminal, and the test reads its screen. Without tmux, or if a program cannot be built, the test is skipped and
 * one line says so.
 */
import { execFile, execFileSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { lacks } from "../programs.ts";
import { releasedBinary } from "./binaries.ts";
import { type SandboxProcess, startSandboxProcess } from "./sandbox-process.ts";

const SCREEN_LIMIT_MS = 60_000;
const run = promisify(execFile);
const tell = (line: string): void => void process.stderr.write(`${line}\n`);
const noTmux = lacks("test/cluster/clients-screen", "tmux");

const directory = mkdtempSync(join(tmpdir(), "karpenter-screen-"));
const kubeconfig = join(directory, "sandbox", "kubeconfig");
let sandbox: SandboxProcess | undefined;
const programs = new Map<string, string>();

beforeAll(async () => {
  for (const name of ["stern", "k9s"] as const) {
    try {
      programs.set(name, await releasedBinary(name, tell));
    } catch (error) {
      tell(`test/cluster/clients-screen: ${name} is left out: ${String(error)}`);
    }
  }
  sandbox = await startSandboxProcess(kubeconfig);
});

afterAll(async () => {
  await sandbox?.stop();
  rmSync(directory, { recursive: true, force: true });
});

describe("stern", () => {
  it("shows the logs of many pods completely, with the server's timestamps", async (context) => {
    const stern = programs.get("stern");
    if (stern === undefined) return context.skip();
    const logs = async (...flags: readonly string[]): Promise<string> => {
      const args = [".", "--no-follow", "--tail", "2", "--color", "never", ...flags];
      return (await run(stern, args, { env: { ...process.env, KUBECONFIG: kubeconfig } })).stdout;
    };
    // Wait for the pods to start.
    const deadlineMs = performance.now() + SCREEN_LIMIT_MS;
    let all = await logs("-A");
    while (!/aws-node started[\s\S]*karpenter-0|karpenter-0[\s\S]*aws-node started/.test(all)) {
      if (performance.now() > deadlineMs) break;
      await sleep(500);
      all = await logs("-A");
    }
    expect(all).toMatch(
      /^kube-system (aws-node-\w{5}) aws-node started container aws-node of pod kube-system\/\1 on ip-\S+$/m,
    );
    expect(all).toMatch(/^karpenter karpenter-0 controller \d{4}-\d\d-\d\dT\S+Z\t[A-Z]+\t/m);
    const stamped = await logs("-n", "kube-system", "--timestamps");
    expect(stamped).toMatch(
      /^aws-node-\w{5} aws-node \d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z started container aws-node /m,
    );
  });
});

describe.skipIf(noTmux)("k9s", () => {
  const socket = join(directory, "tmux");
  const tmux = (...args: readonly string[]): string =>
    execFileSync("tmux", ["-S", socket, ...args], { encoding: "utf8" });

  /** Waits until the screen matches the pattern. On a timeout the error shows the screen. */
  async function sees(pattern: RegExp): Promise<string> {
    const deadlineMs = performance.now() + SCREEN_LIMIT_MS;
    for (;;) {
      const screen = tmux("capture-pane", "-p");
      if (pattern.test(screen)) return screen;
      if (performance.now() > deadlineMs) throw new Error(`no ${pattern} on:\n${screen}`);
      await sleep(200);
    }
  }

  afterAll(() => {
    if (existsSync(socket)) tmux("kill-server");
  });

  it("shows pods with their age, a log, a description, nodes and Karpenter's kinds", async (context) => {
    const k9s = programs.get("k9s");
    if (k9s === undefined) return context.skip();
    const home = join(directory, "home");
    mkdirSync(home);
    const folders = [
      "HOME",
      "XDG_CONFIG_HOME",
      "XDG_DATA_HOME",
      "XDG_STATE_HOME",
      "XDG_CACHE_HOME",
    ];
    const env = [...folders.map((name) => `${name}=${home}`), `KUBECONFIG=${kubeconfig}`];
    const command = `env ${env.join(" ")} TERM=xterm-256color ${k9s} -n karpenter --command pods`;
    tmux("-f", "/dev/null", "new-session", "-d", "-x", "200", "-y", "40", command);
    expect(await sees(/karpenter-0 .*1\/1 +Running .* \d+[smh]/)).not.toContain("<invalid>");
    tmux("send-keys", "l");
    await sees(/Autoscroll[\s\S]*\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z +(DEBUG|INFO) /);
    tmux("send-keys", "Escape");
    await sees(/karpenter-0 .*Running/);
    tmux("send-keys", "d");
    await sees(/Priority Class Name: +system-cluster-critical/);
    tmux("send-keys", "Escape");
    await sees(/karpenter-0 .*Running/);
    tmux("send-keys", ":nodes", "Enter");
    await sees(/ip-\S+\.compute\.internal +Ready .*-simulated/);
    tmux("send-keys", ":nodepools", "Enter");
    await sees(/NODECLASS +NODES +READY +WEIGHT/);
  });
});
