/**
 * A burst of pods in the live sandbox, as a user would see it: one Deployment is scaled from 0. The built CLI runs as a
 * process at speed 30 and serves its API over HTTPS. Prints the real seconds until all pods run, and the peak memory of
 * the process. Usage: `npx tsx bench/burst.ts [pods]` (default 1000).
 */
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { DEPLOYMENT } from "../src/apis/apps/kinds.ts";
import { NODE } from "../src/apis/core/node.ts";
import { SystemClock } from "../src/base/system-clock.ts";
import { readManifests } from "../src/cli/sandbox/box.ts";
import type { KubeClient } from "../src/kube/client/client.ts";
import { createHttpTransport } from "../src/kube/transport/http-transport.ts";
import { createKubeClient } from "../src/kube/client/kube-client.ts";
import { clusterAccess } from "../src/kube/kubeconfig/kubeconfig.ts";
import { discoverResources } from "../src/sandbox/scenario/resources.ts";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const PODS = Number(process.argv[2] ?? 1_000);
const LIMIT_MS = 120_000;
const clock = new SystemClock();

const folder = mkdtempSync(join(tmpdir(), "karpenter-burst-"));
const kubeconfig = join(folder, "kubeconfig");
const args = ["sandbox", "--speed", "30", "--kubeconfig", kubeconfig];
const sandbox = spawn(process.execPath, [join(ROOT, "dist/cli/main.js"), ...args]);
try {
  const startMs = clock.now();
  await upAndRunning(sandbox);
  const transport = createHttpTransport({ ...clusterAccess(kubeconfig, {}, new SystemClock()), userAgent: "burst" });
  const client = createKubeClient(transport);
  const readyMs = clock.now() - startMs;
  await applyExamples(client);
  const scaledMs = clock.now();
  const body = { spec: { replicas: PODS } };
  await client.patch(DEPLOYMENT, { name: "inflate", namespace: "default" }, { type: "merge", body }, "scale");
  while ((await running(client)) < PODS) {
    if (clock.now() - scaledMs > LIMIT_MS) throw new Error(`${await running(client)} of ${PODS} run`);
    await clock.sleep(100);
  }
  const seconds = (clock.now() - scaledMs) / 1_000;
  const nodes = (await client.list(NODE)).items.length - 2;
  process.stdout.write(
    `sandbox ready in ${(readyMs / 1_000).toFixed(1)} s; ${PODS} pods running on ${nodes} new nodes ` +
      `in ${seconds.toFixed(1)} s; peak RSS ${peakMib(sandbox)} MiB\n`,
  );
  transport.close();
} finally {
  sandbox.kill("SIGINT");
  rmSync(folder, { recursive: true });
}

function upAndRunning(child: ChildProcess): Promise<void> {
  return new Promise((resolve, reject) => {
    child.stdout?.on("data", (chunk: Buffer) => {
      if (chunk.includes("is up at")) resolve();
    });
    child.once("exit", (code) => reject(new Error(`the sandbox ended with ${code}; run npm run build`)));
  });
}

async function applyExamples(client: KubeClient): Promise<void> {
  const resources = discoverResources(client);
  for (const file of ["examples/v1/nodepool.yaml", "examples/inflate.yaml"]) {
    for (const object of readManifests(readFileSync(join(ROOT, file), "utf8"))) {
      const kind = await resources.kind(object.apiVersion ?? "", object.kind ?? "");
      const namespace = kind.namespaced ? "default" : undefined;
      await client.patch(kind, { name: object.metadata.name, namespace }, { type: "apply", body: object, fieldManager: "burst" });
    }
  }
}

async function running(client: KubeClient): Promise<number> {
  const deployment = await client.get(DEPLOYMENT, { name: "inflate", namespace: "default" });
  return Number(deployment.status?.["readyReplicas"] ?? 0);
}

/** The peak memory of a process in MiB. Only Linux keeps it. */
function peakMib(child: ChildProcess): string {
  try {
    const kib = /VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${child.pid}/status`, "utf8"))?.[1];
    return String(Math.round(Number(kib) / 1_024));
  } catch {
    return "unknown";
  }
}
