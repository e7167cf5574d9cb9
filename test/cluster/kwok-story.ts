/**
 * What the crash and fault tests do to a real cluster and look at: one pool of kwok nodes, one Deployment with
 * a pod a node, and everything that must be in order afterwards.
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

/** Any change to a pod makes kwok look at it again; this one also says that it was made. */
const REMINDED = "example.com/reminded";
/** A pod on its node runs within seconds of kwok having seen it. */
const KWOK_TAKES_MS = 30_000;

export interface KwokStory {
  readonly plane: ControlPlane;
  readonly directory: string;
  readonly client: KubeClient;
  /** Karpenter's kubeconfig. */
  readonly account: string;
  scale(replicas: number): Promise<void>;
  /** Makes every node of the pool differ from its template, so that all are replaced. */
  drift(mark: string): Promise<void>;
  /** Those that are not on their way out. */
  pods(): Promise<number>;
  running(): Promise<number>;
  /**
   * Shows kwok anew, once each, pods that it has left Pending on their nodes: a kubelet tries again what the server
   * did not take, kwok gives a status up for ever when the answer was 500, as from a server that loses etcd.
   * upstream: kwok, pkg/kwok/controllers/utils.go (shouldRetry). How many of the pods there are have been shown anew.
   */
  remind(): Promise<number>;
  nodes(): Promise<readonly Node[]>;
  claims(): Promise<readonly NodeClaim[]>;
  /** Every claim has one Node, every Node its claim, none twice; throws with what is not so. */
  expectWhole(count: number): Promise<void>;
  /** Pods and nodes, a line each: for a test that failed. */
  describe(): Promise<string>;
  until(what: string, holds: () => Promise<boolean>, limitMs?: number): Promise<void>;
  /** Rejects where kube-apiserver refused something to Karpenter, but for what it did before it had read the roles. */
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
      // The server may be away: that is not the answer.
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

/** Bound for longer than kwok takes, also on a busy machine, and not shown to it anew. */
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

/** Throws unless there are so many claims, each with a machine of its own that is a Node. */
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

/** A pod a node. */
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
