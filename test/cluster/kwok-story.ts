/**
 * What the crash and fault tests do to a real cluster, and what they read from it: one pool of kwok nodes, and one
 * Deployment with one pod per node. At the end every claim and Node must match.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { DEPLOYMENT } from "../../src/apis/apps/kinds.ts";
import { NODE, type Node } from "../../src/apis/core/node.ts";
import { POD, type Pod } from "../../src/apis/core/pod.ts";
import { NODE_CLAIM, type NodeClaim } from "../../src/apis/karpenter/nodeclaim.ts";
import { SystemClock } from "../../src/base/system-clock.ts";
import type { KubeClient } from "../../src/kube/client/client.ts";
import { createKubeClient } from "../../src/kube/client/kube-client.ts";
import { discoverResources } from "../../src/sandbox/scenario/resources.ts";
import { installCustomKinds } from "../conformance/apiserver/custom-kinds.ts";
import { ACCOUNT, NAMESPACE, openAccount } from "./account.ts";
import { auditArguments, expectNoRefusals } from "./audit.ts";
import { type ControlPlane, startControlPlane } from "./control-plane.ts";
import { NODE_CLASS, nodePool, pauseDeployment } from "./kwok-objects.ts";

/** The annotation of a reminded pod. Any change to a pod makes kwok look at it again. */
const REMINDED = "example.com/reminded";
/** A bound pod runs within seconds after kwok has seen it. */
const KWOK_TAKES_MS = 30_000;

export interface KwokStory {
  readonly plane: ControlPlane;
  readonly directory: string;
  readonly client: KubeClient;
  /** Karpenter's kubeconfig. */
  readonly account: string;
  scale(replicas: number): Promise<void>;
  /** Changes the pool's template, so that every node drifts and is replaced. */
  drift(mark: string): Promise<void>;
  /** How many pods are not being deleted. */
  pods(): Promise<number>;
  running(): Promise<number>;
  /**
   * Changes, once each, the pods that kwok left Pending on their nodes, so that kwok looks at them again. A
   * kubelet repeats a status update that failed. kwok drops the update if the answer was 500, as from a server
   * that lost etcd.
   * upstream: kwok, pkg/kwok/controllers/utils.go (shouldRetry).
   * Resolves to the number of existing pods that were ever reminded.
   */
  remind(): Promise<number>;
  nodes(): Promise<readonly Node[]>;
  claims(): Promise<readonly NodeClaim[]>;
  /** Throws unless there are `count` claims and each has exactly one Node. */
  expectWhole(count: number): Promise<void>;
  /** One line for each pod and node: for the error of a failed test. */
  describe(): Promise<string>;
  until(what: string, holds: () => Promise<boolean>, limitMs?: number): Promise<void>;
  /**
   * Rejects if kube-apiserver refused a request of Karpenter. Refusals before the server had read the roles do not
   * count.
   */
  close(): Promise<void>;
}

export async function openKwokStory(): Promise<KwokStory> {
  const directory = mkdtempSync(join(tmpdir(), "karpenter-story-"));
  const plane = await startControlPlane({
    directory,
    tell: (line) => process.stderr.write(`${line}\n`),
    extraArguments: { "kube-apiserver": auditArguments(directory, NAMESPACE) },
  });
  const client = createKubeClient(plane.transport);
  const account = await openAccount(client, plane.kubeconfig);
  const web = { namespace: "default", labelSelector: "app=web" };
  const ours = { labelSelector: "karpenter.sh/nodepool" };
  const pods = async () =>
    (await client.list<Pod>(POD, web)).items.filter(
      ({ metadata }) => metadata.deletionTimestamp === undefined,
    );
  const story: KwokStory = {
    plane,
    directory,
    client,
    account,
    scale: async (replicas) => {
      const ref = { name: "web", namespace: "default" };
      await client.patch(DEPLOYMENT, ref, { type: "merge", body: { spec: { replicas } } }, "scale");
    },
    drift: async (mark) => {
      const kind = await discoverResources(client).kind("karpenter.sh/v1", "NodePool");
      const body = { spec: { template: { metadata: { labels: { mark } } } } };
      await client.patch(kind, { name: "default" }, { type: "merge", body });
    },
    pods: async () => (await pods()).length,
    running: async () => (await pods()).filter(({ status }) => status?.phase === "Running").length,
    remind: async () => remind(client, await pods()),
    nodes: async () => (await client.list(NODE, ours)).items,
    claims: async () => (await client.list(NODE_CLAIM)).items,
    expectWhole: async (count) => {
      const claims = (await story.claims()).map(({ status }) => status?.providerID);
      const nodes = (await story.nodes()).map(({ spec }) => spec?.providerID);
      expectPairs(claims, nodes, count);
    },
    describe: async () => describeAll(await pods(), await story.nodes()),
    until: async (what, holds, limitMs = 120_000) => {
      const deadlineMs = performance.now() + limitMs;
      // The server may be away. Then ask again.
      while (!(await holds().catch(() => false))) {
        if (performance.now() > deadlineMs) throw new Error(`never happened: ${what}`);
        await sleep(100);
      }
    },
    close: async () => {
      await plane.stop();
      try {
        expectNoRefusals(directory, ACCOUNT, plane.apiServerStartsMs);
      } finally {
        rmSync(directory, { recursive: true, force: true });
      }
    },
  };
  try {
    await installCustomKinds(plane.transport, new SystemClock());
    for (const body of [NODE_CLASS, POOL, WEB]) {
      const kind = await discoverResources(client).kind(body.apiVersion ?? "", body.kind ?? "");
      const ref = { name: body.metadata.name, namespace: body.metadata.namespace };
      await client.patch(kind, ref, { type: "apply", body, fieldManager: "test", force: true });
    }
  } catch (error) {
    await story.close();
    throw error;
  }
  return story;
}

async function remind(client: KubeClient, pods: readonly Pod[]): Promise<number> {
  const left = pods.filter(isLeftPending);
  for (const { metadata } of left) {
    const body = { metadata: { annotations: { [REMINDED]: "true" } } };
    await client.patch(POD, { name: metadata.name, namespace: "default" }, { type: "merge", body });
  }
  return left.length + pods.filter(isReminded).length;
}

function isReminded({ metadata }: Pod): boolean {
  return metadata.annotations?.[REMINDED] !== undefined;
}

/**
 * Whether the pod has been Pending on its node for longer than kwok takes on a busy machine, and was not reminded.
 */
function isLeftPending(pod: Pod): boolean {
  const { spec, status } = pod;
  if (isReminded(pod) || spec.nodeName === undefined || status?.phase !== "Pending") return false;
  const bound = status.conditions?.find(({ type }) => type === "PodScheduled");
  return Date.now() - Date.parse(bound?.lastTransitionTime ?? "") > KWOK_TAKES_MS;
}

function describeAll(pods: readonly Pod[], nodes: readonly Node[]): string {
  return [...pods.map(describePod), ...nodes.map(describeNode)].join("\n");
}

function describePod({ metadata, spec, status }: Pod): string {
  const said = status?.conditions?.find(({ type }) => type === "PodScheduled")?.message ?? "";
  return `Pod ${metadata.name}: ${status?.phase} on ${spec.nodeName ?? "no node"} ${said}`;
}

function describeNode({ metadata, spec, status }: Node): string {
  const ready = status?.conditions?.find(({ type }) => type === "Ready")?.status;
  const taints = spec?.taints?.map(({ key, effect }) => `${key}:${effect}`).join() ?? "";
  return `Node ${metadata.name}: ready ${ready}, taints ${taints}, since ${metadata.creationTimestamp}`;
}

/** Throws unless there are `count` claims, and each has its own instance with a Node. */
function expectPairs(
  claims: readonly (string | undefined)[],
  nodes: readonly (string | undefined)[],
  count: number,
): void {
  const [wanted, there] = [claims, nodes].map((ids) =>
    ids
      .map((id) => id ?? "none")
      .sort()
      .join(),
  );
  if (claims.length === count && new Set(claims).size === count && wanted === there) return;
  throw new Error(`not ${count} whole nodes: claims ${wanted}; Nodes ${there}`);
}

const POOL = nodePool("default", {
  template: {
    spec: { requirements: [{ key: "kubernetes.io/arch", operator: "In", values: ["amd64"] }] },
  },
});

/** A Deployment with one pod per node. */
const WEB = pauseDeployment("web", {
  requests: { cpu: "500m" },
  spec: {
    affinity: {
      podAntiAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: [
          { topologyKey: "kubernetes.io/hostname", labelSelector: { matchLabels: { app: "web" } } },
        ],
      },
    },
  },
});
