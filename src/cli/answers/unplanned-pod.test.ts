/** What `explain` says of pods that Karpenter plans no place for. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { KubeObject } from "../../apis/meta.ts";
import {
  SNAPSHOT_AT,
  SNAPSHOT_TYPES,
  snapshotNode,
  snapshotPod,
  snapshotPool,
} from "../../testing/snapshots.ts";
import { runExplain } from "./run-explain.ts";

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "karpenter-unplanned-"));
  writeFileSync(join(folder, "types.json"), SNAPSHOT_TYPES);
});
afterAll(() => rmSync(folder, { recursive: true }));

interface Said {
  readonly out: string;
  readonly err: string;
}

async function ask(question: string, objects: readonly KubeObject[]): Promise<Said> {
  const path = join(folder, "cluster.json");
  writeFileSync(path, JSON.stringify({ apiVersion: "v1", kind: "List", items: objects }));
  const [out, err]: [string[], string[]] = [[], []];
  const flags = {
    filename: [path],
    instanceTypes: join(folder, "types.json"),
    namespace: "shop",
    output: "json" as const,
    at: SNAPSHOT_AT,
  };
  try {
    await runExplain(question.split(" "), flags, {
      out: (text) => out.push(text),
      err: (text) => err.push(text),
    });
  } catch (error) {
    return { out: (error as Error).message, err: err.join("") };
  }
  return { out: JSON.parse(out.join("")).says, err: err.join("") };
}

/** A pod that the DaemonSet controller made for this node. */
function daemonPod(node: string, spec: Record<string, unknown> = {}): KubeObject {
  const term = { matchFields: [{ key: "metadata.name", operator: "In", values: [node] }] };
  const required = {
    requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [term] },
  };
  const pod = snapshotPod("agent-1", {
    cpu: "1",
    spec: { affinity: { nodeAffinity: required }, ...spec },
  });
  const owner = {
    apiVersion: "apps/v1",
    kind: "DaemonSet",
    name: "agent",
    uid: "u",
    controller: true,
  };
  return { ...pod, metadata: { ...pod.metadata, ownerReferences: [owner] } } as KubeObject;
}

const full = [
  snapshotPool(),
  ...snapshotNode("a", { cpu: 4 }),
  snapshotPod("a-0", { node: "a", cpu: "3500m" }),
];

it("explain says of a DaemonSet pod on a full node what kube-scheduler waits for, and what to do", async () => {
  expect((await ask("pod agent-1", [...full, daemonPod("a")])).out).toBe(
    "shop/agent-1 is not planned for: kube-scheduler waits for room on its node a: cpu: 1 asked for, 400m free. Karpenter launches no node for DaemonSet pods: it leaves room for them on each new node. Give the DaemonSet a priorityClassName above the other pods there, so that kube-scheduler evicts some of them (preemption), or move pods away",
  );
});

it("explain says of a DaemonSet pod of higher priority that kube-scheduler evicts pods for it", async () => {
  expect((await ask("pod agent-1", [...full, daemonPod("a", { priority: 1000 })])).out).toMatch(
    /Its priority is higher than that of other pods there, so kube-scheduler evicts some of them \(preemption\)$/,
  );
});

it("explain says of a DaemonSet pod whose node has room, or is gone, that kube-scheduler has to bind it", async () => {
  const [pool, node] = [snapshotPool(), snapshotNode("a")];
  expect((await ask("pod agent-1", [pool, ...node, daemonPod("a")])).out).toContain(
    "kube-scheduler has to bind it to a, where its requests fit. Karpenter launches no node",
  );
  expect((await ask("pod agent-1", [pool, ...node, daemonPod("gone")])).out).toContain(
    "kube-scheduler waits for its node gone, which is not in the input",
  );
});

it("explain names the scheduling gates that hold a pod", async () => {
  const gated = snapshotPod("held", { spec: { schedulingGates: [{ name: "example.com/quota" }] } });
  expect((await ask("pod held", [snapshotPool(), gated])).out).toContain(
    "its scheduling gates hold it: example.com/quota. Whoever set them must remove them",
  );
});

it("explain prints its notes also if it knows no such object", async () => {
  const { out, err } = await ask("nodepool general", [snapshotPod("p")]);
  expect(out).toBe("there is no NodePool general; known: none");
  expect(err).toContain("no NodePool or Provisioner in the input");
});
