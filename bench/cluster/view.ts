/** What a bench sees of a cluster from outside: when each pod was first Ready, which Nodes exist, what they cost. */
import { NODE, type Node } from "../../src/apis/core/node.ts";
import { isTerminating, POD, type Pod } from "../../src/apis/core/pod.ts";
import { keyOf } from "../../src/apis/meta.ts";
import { Random } from "../../src/base/random.ts";
import { SystemClock } from "../../src/base/system-clock.ts";
import type { KubeClient } from "../../src/kube/client/client.ts";
import { LiveMirrors } from "../../src/kube/mirror/mirrors.ts";
import { createLogger } from "../../src/operator/logging/logger.ts";
import { kwokInstanceTypes } from "../../src/providers/kwok/instance-types.ts";

export interface View {
  synced(): Promise<void>;
  /** Starts counting seconds. */
  begin(): void;
  readyPods(): number;
  /** The second in which each existing pod was first Ready, ascending. Pods that were never Ready are left out. */
  readySeconds(): number[];
  nodes(): readonly Node[];
  /** Milliseconds since a Node was created or deleted. 0 while a Node is marked for disruption or deletion. */
  quietMs(): number;
  lastChangeSeconds(): number;
  close(): void;
}

export function watchCluster(client: KubeClient): View {
  const clock = new SystemClock();
  const log = createLogger({
    clock,
    level: "error",
    encoding: "console",
    commit: "",
    write: (line) => process.stderr.write(`${line}\n`),
  });
  const mirrors = new LiveMirrors({ client, clock, random: new Random(1), log });
  // Only running pods are watched. Most pods then cause one event, so that watching costs little.
  const pods = mirrors.of(POD, { fieldSelector: "status.phase=Running", project: smallPod });
  const nodes = mirrors.of(NODE, { labelSelector: "karpenter.sh/nodepool" });
  const readyAtMs = new Map<string, number>();
  let beganMs = performance.now();
  let changedMs = beganMs;
  pods.on((event, pod) => {
    const key = keyOf(pod);
    if (event === "removed" || isTerminating(pod)) readyAtMs.delete(key);
    // Counts the first time a pod is Ready. On a busy machine kwok renews a node's lease too late. The pods then become
    // unready, and kwok never sets them Ready again.
    else if (isReady(pod) && !readyAtMs.has(key)) readyAtMs.set(key, performance.now());
  });
  nodes.on((event) => {
    if (event !== "updated") changedMs = performance.now();
  });
  return {
    synced: () => mirrors.synced(),
    begin: () => {
      beganMs = performance.now();
      changedMs = beganMs;
    },
    readyPods: () => readyAtMs.size,
    readySeconds: () =>
      [...readyAtMs.values()].map((ms) => (ms - beganMs) / 1_000).sort((a, b) => a - b),
    nodes: () => nodes.list(),
    quietMs: () => {
      if (nodes.list().some(isLeaving)) changedMs = performance.now();
      return performance.now() - changedMs;
    },
    lastChangeSeconds: () => (changedMs - beganMs) / 1_000,
    close: () => mirrors.close(),
  };
}

function smallPod(pod: Pod): Pod {
  const { name, namespace, uid, resourceVersion, deletionTimestamp } = pod.metadata;
  const metadata = { name, namespace, uid, resourceVersion, deletionTimestamp };
  return { metadata, status: { conditions: pod.status?.conditions } } as Pod;
}

function isReady(pod: Pod): boolean {
  return (
    pod.status?.conditions?.some(({ type, status }) => type === "Ready" && status === "True") === true
  );
}

function isLeaving(node: Node): boolean {
  return (
    node.metadata.deletionTimestamp !== undefined ||
    node.spec?.taints?.some(({ key }) => key === "karpenter.sh/disrupted") === true
  );
}

/** Price of the nodes per hour, from the catalogue that both operators use. Throws for an unknown instance type. */
export function dollarsPerHour(nodes: readonly Node[]): number {
  let microUsd = 0;
  for (const { metadata } of nodes) {
    const labels = metadata.labels ?? {};
    const type = kwokInstanceTypes().find(
      ({ name }) => name === labels["node.kubernetes.io/instance-type"],
    );
    const offering = type?.offerings.find(
      ({ zone, capacityType }) =>
        zone === labels["topology.kubernetes.io/zone"] &&
        capacityType === labels["karpenter.sh/capacity-type"],
    );
    if (offering === undefined) throw new Error(`node ${metadata.name} is of no known type`);
    microUsd += offering.priceMicroUsd;
  }
  return microUsd / 1e6;
}
