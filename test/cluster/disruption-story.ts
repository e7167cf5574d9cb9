/**
 * What the disruption tests do to a real cluster, and what they read from it. Each story has a pool of its own,
 * named after it. Only the story's workloads select its nodes, so several stories run side by side in one cluster.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { expect } from "vitest";
import { NODE, type Node } from "../../src/apis/core/node.ts";
import { POD, type Pod } from "../../src/apis/core/pod.ts";
import type { KubeObject } from "../../src/apis/meta.ts";
import { changeObject } from "../../src/kube/client/change-object.ts";
import {
  NODE_CLASS,
  nodePool,
  type PauseParts,
  type PoolParts,
  pauseDeployment,
} from "./kwok-objects.ts";
import { type LiveCluster, openLiveCluster } from "./live-cluster.ts";

const KARPENTER = "karpenter.sh/v1";
/** kwok plays the kubelet of the nodes with this label. */
const KWOK_LABEL = "kwok.x-k8s.io/node";
const POOL_LABEL = "karpenter.sh/nodepool";
/** Longer than one round of the disruption loop: an allowed command would have begun. */
const ONE_LOOK_MS = 14_000;
/** Longer than the time until a requested eviction is visible, also on a busy machine. */
const ONE_EVICTION_MS = 6_000;
/** Consolidation of a node takes 10 s until it counts as quiet, 10 s until the next round, and 15 s of validation. */
export const ONE_CONSOLIDATION_MS = 50_000;

export interface Story {
  readonly name: string;
  /** The label that the pool puts on its nodes and the workloads select. */
  readonly label: string;
  pool(parts?: PoolParts): Promise<void>;
  /** A merge patch of the pool. */
  edit(body: object): Promise<void>;
  /** Changes the pool's template, so that every node drifts. */
  drift(): Promise<void>;
  /** Creates a Deployment named after the story; resolves when its pods run. `suffix`: for a second Deployment. */
  deploy(parts: PauseParts & { readonly replicas: number }, suffix?: string): Promise<void>;
  remove(suffix: string): Promise<void>;
  scale(replicas: number): Promise<void>;
  nodes(): Promise<readonly Node[]>;
  /** NodeClaims of the pool; Machines of a Provisioner. */
  claims(): Promise<readonly KubeObject[]>;
  running(suffix?: string): Promise<readonly Pod[]>;
  until(what: string, holds: () => Promise<boolean>, limitMs?: number): Promise<void>;
  /** Waits until none of these nodes is left, and the same number of new nodes holds the pods. */
  replaced(before: readonly string[], limitMs?: number): Promise<void>;
  /** Deletes the story's workloads and its NodePool, and waits until its nodes and claims are gone. */
  end(): Promise<void>;
}

/** Ready for pools of all three generations, for fixed numbers of nodes and for node repair. */
export async function openWithAllKinds(): Promise<LiveCluster> {
  const cluster = await openLiveCluster(undefined, {
    webhooks: true,
    flags: [
      ...["--disable-leader-election", "true"],
      // These tests use the legacy repair, which ignores budgets. The repair that respects them is tested in
      // test/upstream.
      ...["--feature-gates", "StaticCapacity=true,NodeRepair=true"],
      ...["--legacy-node-repair", "true"],
    ],
  });
  await cluster.apply(NODE_CLASS);
  const served = async () => cluster.log().some((line) => line.includes("webhooks are served"));
  await cluster.until("webhooks are served", served);
  return cluster;
}

export function storyOf(cluster: LiveCluster, name: string, label = POOL_LABEL): Story {
  const { client } = cluster;
  const mine = { labelSelector: `${label}=${name}` };
  const deployments = new Map<string, number>();
  const nameOf = (suffix: string) => (suffix === "" ? name : `${name}-${suffix}`);
  const story: Story = {
    name,
    label,
    pool: (parts) => cluster.apply(nodePool(name, parts)),
    edit: (body) => cluster.merge("NodePool", name, body, KARPENTER),
    drift: () => story.edit({ spec: { template: { metadata: { labels: { drifted: "true" } } } } }),
    deploy: async (parts, suffix = "") => {
      const spec = { nodeSelector: { [label]: name }, ...parts.spec };
      await cluster.apply(pauseDeployment(nameOf(suffix), { ...parts, spec }));
      deployments.set(suffix, parts.replicas);
      const run = async () => (await story.running(suffix)).length === parts.replicas;
      await story.until(`pods of ${nameOf(suffix)} run`, run);
    },
    remove: async (suffix) => {
      await cluster.remove("Deployment", nameOf(suffix), "apps/v1");
      deployments.delete(suffix);
    },
    scale: (replicas) => cluster.merge("Deployment", name, { spec: { replicas } }, "apps/v1"),
    nodes: async () => (await client.list<Node>(NODE, mine)).items,
    claims: () =>
      label === POOL_LABEL
        ? cluster.list("NodeClaim", KARPENTER, mine.labelSelector)
        : cluster.list("Machine", "karpenter.sh/v1alpha5", mine.labelSelector),
    running: async (suffix = "") => {
      const labelSelector = `app=${nameOf(suffix)}`;
      const { items } = await client.list<Pod>(POD, { namespace: "default", labelSelector });
      return items.filter(
        ({ metadata, status }) =>
          status?.phase === "Running" && metadata.deletionTimestamp === undefined,
      );
    },
    until: (what, holds, limitMs = 90_000) => cluster.until(`${name}: ${what}`, holds, limitMs),
    replaced: async (before, limitMs) => {
      const others = async () => {
        const now = namesOf(await story.nodes());
        return now.length === before.length && now.every((node) => !before.includes(node));
      };
      await story.until("other nodes are in place of the old ones", others, limitMs);
      for (const [suffix, replicas] of deployments) {
        const run = async () => (await story.running(suffix)).length === replicas;
        await story.until("its pods run again", run);
      }
    },
    end: async () => {
      for (const suffix of [...deployments.keys()]) await story.remove(suffix);
      if (label === POOL_LABEL) await cluster.remove("NodePool", name, KARPENTER);
      const gone = async () => (await story.nodes()).length + (await story.claims()).length === 0;
      await story.until("all is gone", gone);
    },
  };
  return story;
}

/** Like `replaced`, but fails when an old node is deleted before the same number of new nodes is initialized. */
export async function replacedFirst(story: Story, before: readonly string[]): Promise<void> {
  let tooEarly = "";
  const gone = async () => {
    const nodes = await story.nodes();
    const old = nodes.filter(({ metadata }) => before.includes(metadata.name));
    const left = old.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
    const others = nodes.filter((node) => !old.includes(node) && isInitialized(node));
    if (before.length - left.length > others.length)
      tooEarly ||= `${left.length} of ${before.length} are left, ${others.length} others are ready`;
    return old.length === 0;
  };
  await story.until("the old nodes are gone", gone);
  expect(tooEarly).toBe("");
  await story.replaced(before);
}

/** Expects that for `forMs` no node of the story is added, tainted or deleted. */
export async function stays(
  story: Story,
  before: readonly string[],
  forMs = ONE_LOOK_MS,
): Promise<void> {
  const until = performance.now() + forMs;
  while (performance.now() < until) {
    const nodes = await story.nodes();
    expect(goingOf(nodes)).toEqual([]);
    expect([...namesOf(nodes)].sort()).toEqual([...before].sort());
    await sleep(500);
  }
}

/** Which pod of the story's first Deployment runs where: `web-x on a`. */
export async function placesOf(story: Story): Promise<readonly string[]> {
  const pods = await story.running();
  return pods.map(({ metadata, spec }) => `${metadata.name} on ${spec.nodeName}`).sort();
}

/** Expects that for `forMs` these pods keep running on the same nodes. */
export async function podsStay(
  story: Story,
  before: readonly string[],
  forMs = ONE_EVICTION_MS,
): Promise<void> {
  const until = performance.now() + forMs;
  do {
    expect(await placesOf(story)).toEqual(before);
    await sleep(250);
  } while (performance.now() < until);
}

/** Actions on the cluster that do not belong to a single story. */
export interface Hands {
  annotate(kind: string, name: string, key: string, value: string | null): Promise<void>;
  /** Creates a PodDisruptionBudget with the story's name, for pods with the label `guarded: <story>`. */
  guard(story: Story, spec: object): Promise<void>;
  unguard(story: Story): Promise<void>;
  /** Messages of events about an object, as `kubectl describe` shows them. */
  told(kind: string, name: string, reason: string): Promise<readonly string[]>;
  /**
   * Stops kwok from playing this node's kubelet. From then on no program updates the node's status or ends its
   * pods.
   */
  letGo(node: string): Promise<void>;
  /** kwok plays this node's kubelet again. */
  takeUp(node: string): Promise<void>;
  /** Removes one taint and keeps the others: controllers write a node's taints too while it joins. */
  untaint(node: Node, key: string): Promise<void>;
  /** Sets the condition Ready of the node, as if it had this status for `forMs` already. */
  says(node: string, ready: "True" | "False", forMs: number): Promise<void>;
}

export function handsOn(cluster: LiveCluster): Hands {
  const apiVersionOf = (kind: string) =>
    kind === "NodePool" || kind === "NodeClaim" ? KARPENTER : "v1";
  const label = (node: string, value: string | null) =>
    cluster.merge("Node", node, { metadata: { labels: { [KWOK_LABEL]: value } } });
  return {
    annotate: (kind, name, key, value) =>
      cluster.merge(
        kind,
        name,
        { metadata: { annotations: { [key]: value } } },
        apiVersionOf(kind),
      ),
    guard: ({ name }, spec) =>
      cluster.apply({
        apiVersion: "policy/v1",
        kind: "PodDisruptionBudget",
        metadata: { name, namespace: "default" },
        spec: { selector: { matchLabels: { guarded: name } }, ...spec },
      } as KubeObject),
    unguard: ({ name }) => cluster.remove("PodDisruptionBudget", name, "policy/v1"),
    told: async (kind, name, reason) => {
      const events = await cluster.list<Told>("Event");
      return events
        .filter((one) => one.reason === reason && one.involvedObject.name === name)
        .filter(({ involvedObject }) => involvedObject.kind === kind)
        .map(({ message }) => message);
    },
    letGo: (node) => label(node, null),
    takeUp: (node) => label(node, "fake"),
    untaint: async (node, taint) => {
      await changeObject(cluster.client, NODE, node, (latest) => {
        const taints = latest.spec?.taints?.filter(({ key }) => key !== taint) ?? [];
        return { ...latest, spec: { ...latest.spec, taints } };
      });
    },
    says: async (name, status, forMs) => {
      const ready = {
        type: "Ready",
        status,
        reason: status === "True" ? "KubeletReady" : "KubeletNotReady",
        message: status === "True" ? "all is well" : "container runtime is down",
        lastHeartbeatTime: new Date().toISOString(),
        lastTransitionTime: new Date(Date.now() - forMs).toISOString(),
      };
      const body = { status: { conditions: [ready] } };
      await cluster.client.patch(NODE, { name }, { type: "merge", body }, "status");
    },
  };
}

interface Told extends KubeObject {
  readonly reason: string;
  readonly message: string;
  readonly involvedObject: { readonly kind: string; readonly name: string };
}

export function namesOf(objects: readonly KubeObject[]): readonly string[] {
  return objects.map(({ metadata }) => metadata.name);
}

/** The leaving nodes: those with the taint of disruption, and deleted ones. */
export function goingOf(nodes: readonly Node[]): readonly Node[] {
  return nodes.filter(
    ({ metadata, spec }) =>
      metadata.deletionTimestamp !== undefined ||
      spec?.taints?.some(({ key }) => key === "karpenter.sh/disrupted"),
  );
}

export function isInitialized({ metadata }: Node): boolean {
  return metadata.labels?.["karpenter.sh/initialized"] === "true";
}
