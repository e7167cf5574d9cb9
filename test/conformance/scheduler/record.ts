/**
 * Asks the real kube-scheduler about all cases and records its answers: `npm run cluster:record-scheduler`.
 * At verbosity 10 it logs the final score of every node that passed its filters.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Pod } from "../../../src/apis/core/pod.ts";
import type { Transport } from "../../../src/kube/transport.ts";
import { kubernetesVersion } from "../../cluster/binaries.ts";
import { startControlPlane } from "../../cluster/control-plane.ts";
import { type SchedulingCase, schedulingCase } from "./cases.ts";
import { CASES, RECORDING, type SchedulerAnswer } from "./recording.ts";

const PODS = "/api/v1/namespaces/default/pods";
const NODES = "/api/v1/nodes";

async function call(
  transport: Transport,
  method: "GET" | "POST" | "PATCH" | "DELETE",
  path: string,
  body?: unknown,
): Promise<Pod> {
  const type = method === "PATCH" ? "application/merge-patch+json" : "application/json";
  const headers = { "content-type": type };
  const request = { method, path, headers, ...(body === undefined ? {} : { body }) };
  const answer = await transport.send(request);
  if (answer.status >= 300)
    throw new Error(`${method} ${path}: ${JSON.stringify(answer.body)} ${JSON.stringify(body)}`);
  return answer.body as Pod;
}

async function ask(transport: Transport, { nodes, placed, pending }: SchedulingCase): Promise<Pod> {
  for (const node of nodes) {
    await call(transport, "POST", NODES, node);
    // Nobody else takes away the taint that every new node gets.
    await call(transport, "PATCH", `${NODES}/${node.metadata.name}`, {
      spec: { taints: node.spec?.taints ?? [] },
    });
  }
  for (const pod of placed) await call(transport, "POST", PODS, pod);
  // The scheduler hears of these through watches.
  await sleep(80);
  await call(transport, "POST", PODS, pending);
  for (;;) {
    const pod = await call(transport, "GET", `${PODS}/${pending.metadata.name}`);
    const refused = pod.status?.conditions?.some(({ reason }) => reason === "Unschedulable");
    if (pod.spec.nodeName !== undefined || refused === true) {
      for (const { metadata } of [...placed, pending])
        await call(transport, "DELETE", `${PODS}/${metadata.name}?gracePeriodSeconds=0`);
      for (const { metadata } of nodes)
        await call(transport, "DELETE", `${NODES}/${metadata.name}`);
      return pod;
    }
    await sleep(20);
  }
}

/** Final scores by pod and node, from the log. */
function scoresOf(log: string): ReadonlyMap<string, Record<string, number>> {
  const scores = new Map<string, Record<string, number>>();
  const line =
    /Calculated node's final score for pod" pod="default\/([^"]+)" node="([^"]+)" score=(-?\d+)/g;
  for (const [, pod = "", node = "", score] of log.matchAll(line))
    scores.set(pod, { ...scores.get(pod), [node]: Number(score) });
  return scores;
}

const directory = mkdtempSync(join(tmpdir(), "karpenter-record-"));
const plane = await startControlPlane({
  directory,
  programs: ["etcd", "kube-apiserver", "kube-scheduler"],
  extraArguments: { "kube-scheduler": ["-v=10"] },
  tell: (line) => process.stdout.write(`${line}\n`),
});
try {
  await call(plane.transport, "POST", "/api/v1/namespaces/default/serviceaccounts", {
    apiVersion: "v1",
    kind: "ServiceAccount",
    metadata: { name: "default" },
  }).catch(() => undefined);
  const pods: Pod[] = [];
  for (let index = 0; index < CASES; index++)
    pods.push(await ask(plane.transport, schedulingCase(index)));
  await sleep(500);
  const scores = scoresOf(readFileSync(join(directory, "logs", "kube-scheduler.log"), "utf8"));
  const answers = pods.map((pod): SchedulerAnswer => {
    const { nodeName } = pod.spec;
    const found = scores.get(pod.metadata.name);
    if (nodeName !== undefined) return { node: nodeName, ...(found && { scores: found }) };
    const condition = pod.status?.conditions?.find(({ type }) => type === "PodScheduled");
    return { refused: condition?.message ?? "" };
  });
  const lines = answers.map((answer) => `    ${JSON.stringify(answer)}`).join(",\n");
  writeFileSync(
    RECORDING,
    `{\n  "kubernetes": ${JSON.stringify(kubernetesVersion())},\n  "answers": [\n${lines}\n  ]\n}\n`,
  );
  process.stdout.write(`${answers.length} cases recorded\n`);
} finally {
  await plane.stop();
  rmSync(directory, { recursive: true });
}
