/**
 * What the stories of disruption do to a real cluster and look at. Each has a pool of its own, named after it,
 * whose nodes only its own workloads ask for, so that several go on side by side in one cluster.
 */
import { NODE, type Node } from "../../src/apis/core/node.ts";
import { POD, type Pod } from "../../src/apis/core/pod.ts";
import type { KubeObject } from "../../src/apis/meta.ts";
import { nodePool, type PauseParts, type PoolParts, pauseDeployment } from "./kwok-objects.ts";
import type { LiveCluster } from "./live-cluster.ts";

const KARPENTER = "karpenter.sh/v1";
const POOL_LABEL = "karpenter.sh/nodepool";
/** Longer than the disruption loop takes from one look to the next: what was allowed would have begun. */
export const ONE_LOOK_MS = 14_000;
/** Before consolidation touches a node, quiet is noted (10 s), a look comes (10 s) and 15 s are waited. */
export const ONE_CONSOLIDATION_MS = 50_000;

export interface Story {
  readonly name: string;
  /** The label of its nodes that its workloads ask for. */
  readonly label: string;
  pool(parts?: PoolParts): Promise<void>;
  /** A merge patch of the pool. */
  edit(body: object): Promise<void>;
  /** Makes every node differ from the pool's template. */
  drift(): Promise<void>;
  /** A Deployment called after the story; resolves when its pods run. `suffix`: for a second one. */
  deploy(parts: PauseParts & { readonly replicas: number }, suffix?: string): Promise<void>;
  remove(suffix: string): Promise<void>;
  scale(replicas: number): Promise<void>;
  nodes(): Promise<readonly Node[]>;
  claims(): Promise<readonly KubeObject[]>;
  running(suffix?: string): Promise<readonly Pod[]>;
  until(what: string, holds: () => Promise<boolean>, limitMs?: number): Promise<void>;
  /** Waits until none of these nodes is left and as many others as there were hold the pods. */
  replaced(before: readonly string[], limitMs?: number): Promise<void>;
  /** Waits until all that was made is gone. */
  end(): Promise<void>;
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
    claims: () => cluster.list("NodeClaim", KARPENTER, mine.labelSelector),
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

export function namesOf(objects: readonly KubeObject[]): readonly string[] {
  return objects.map(({ metadata }) => metadata.name);
}

/** Nodes that are on their way out: tainted for it, or deleted. */
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
