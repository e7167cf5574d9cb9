/** Checks that the image runs as the chart needs it, without a cluster. */
import { spawn, spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { containerCommand, whyNoSeccomp } from "./container.ts";
import type { ContainerAsk } from "./runtime-config.ts";

const NODE = "/nodejs/bin/node";
const MIB = 1_024 * 1_024;
/** The security context that the chart gives the container. */
export const POD: ContainerAsk = {
  securityContext: {
    allowPrivilegeEscalation: false,
    readOnlyRootFilesystem: true,
    runAsNonRoot: true,
    runAsUser: 65_532,
    runAsGroup: 65_532,
    capabilities: { drop: ["ALL"] },
  },
  podSecurityContext: { fsGroup: 65_532, seccompProfile: { type: "RuntimeDefault" } },
};
/** A program that prints what its process may do, as JSON. */
const STANDING = `
const { readFileSync, writeFileSync } = require("node:fs");
const status = readFileSync("/proc/self/status", "utf8");
const field = (name) => new RegExp("^" + name + ":\\\\s*(.*)$", "m").exec(status)[1];
const refusal = (file) => { try { writeFileSync(file, ""); return "written"; } catch (e) { return e.code; } };
console.log(JSON.stringify({
  uid: process.getuid(), gid: process.getgid(), pid: process.pid, cwd: process.cwd(),
  capabilities: field("CapEff") + field("CapBnd"), escalates: field("NoNewPrivs") === "0", seccomp: field("Seccomp"),
  writes: ["/app/a", "/tmp/a", "/etc/a", "/a"].map(refusal),
  hour: new Date(Date.UTC(2026, 0, 1)).getHours(), zone: Intl.DateTimeFormat().resolvedOptions().timeZone,
}));`;

interface Ran {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Checks the image unpacked in `folder`; resolves to a line about it. Throws an Error that says what is wrong. */
export async function look(folder: string): Promise<string> {
  const run = (asked: ContainerAsk): Ran => {
    const [program, ...args] = containerCommand(folder, { ...POD, ...asked });
    return spawnSync(program, args, { encoding: "utf8", input: "" });
  };
  const must = (holds: boolean, what: string): void => {
    if (!holds) throw new Error(`the image ${what}`);
  };
  const manifest = readFileSync(join(folder, "root/app/package.json"), "utf8");
  const { version } = JSON.parse(manifest) as { version: string };
  const startedMs = performance.now();
  const told = run({ args: ["--version"] });
  const tookMs = performance.now() - startedMs;
  must(told.stdout.trim() === version, `says version ${told.stdout.trim() || told.stderr.trim()}`);
  const help = run({ args: ["--help"] });
  must(
    help.status === 0 && help.stdout.includes("controller"),
    `does not help: ${help.stderr.trim()}`,
  );
  const standing = run({
    command: [NODE],
    args: ["-e", STANDING],
    environment: { TZ: "Asia/Tokyo" },
  });
  must(standing.status === 0, `has no Node at ${NODE}: ${standing.stderr.trim()}`);
  const is = JSON.stringify(JSON.parse(standing.stdout));
  const wanted = JSON.stringify({
    ...{ uid: 65_532, gid: 65_532, pid: 1, cwd: "/app" },
    ...{ capabilities: "0".repeat(32), escalates: false },
    seccomp: whyNoSeccomp() === undefined ? "2" : "0",
    writes: ["EROFS", "EROFS", "EROFS", "EROFS"],
    ...{ hour: 9, zone: "Asia/Tokyo" },
  });
  must(is === wanted, `runs as ${is} and not as ${wanted}`);
  const story = run({ args: ["sandbox", "--scenario", "/app/examples/first-light.yaml"] });
  must(story.status === 0, `does not play a story: ${story.stderr.trim() || story.stdout.trim()}`);
  const killed = run({
    command: [NODE],
    args: ["-e", "const all = []; for (;;) all.push(Buffer.alloc(1 << 20, 1));"],
    memoryBytes: 128 * MIB,
  });
  must(killed.status === 137, `is not held to its memory limit: ${JSON.stringify(killed)}`);
  const ended = await endOf(folder);
  must(ended.code === 0, `ends with ${ended.code} when it is told to: ${ended.said}`);
  return `version ${version} after ${Math.round(tookMs)} ms; ends ${Math.round(ended.tookMs)} ms after SIGTERM`;
}

interface End {
  readonly code: number | null;
  readonly tookMs: number;
  readonly said: string;
}

/** Starts the sandbox in a network namespace of its own, and sends it SIGTERM when it serves. */
function endOf(folder: string): Promise<End> {
  const [program, ...args] = containerCommand(folder, {
    ...POD,
    args: ["sandbox", "--kubeconfig", "/dev/shm/kubeconfig"],
  });
  const child = spawn(program, args, { stdio: ["pipe", "pipe", "pipe"] });
  return new Promise((resolve) => {
    let said = "";
    let askedAtMs: number | undefined;
    for (const stream of [child.stdout, child.stderr])
      stream.on("data", (chunk: Buffer) => {
        said += chunk.toString();
        if (askedAtMs !== undefined || !said.includes("http://")) return;
        askedAtMs = performance.now();
        child.kill("SIGTERM");
      });
    child.once("exit", (code) => {
      resolve({ code, tookMs: performance.now() - (askedAtMs ?? 0), said: said.trim() });
    });
  });
}
