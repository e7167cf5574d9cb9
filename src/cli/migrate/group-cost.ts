/** Compares the cost of node groups with the cost that `plan` finds for the drafted NodePools and the same pods. */
import type { Node } from "../../apis/core/node.ts";
import { POD, type Pod } from "../../apis/core/pod.ts";
import { isReschedulable } from "../../apis/core/pod-predicates.ts";
import { toPool } from "../../apis/hub/to-pool.ts";
import type { NodePool } from "../../apis/karpenter/nodepool.ts";
import type { KubeObject } from "../../apis/meta.ts";
import type { Found } from "../plan/documents.ts";
import { factsIn } from "../plan/facts.ts";
import { sortManifests } from "../plan/manifests.ts";
import { planOf } from "../plan/plan.ts";
import { planningInput } from "../plan/planning-input.ts";
import { playedPlan } from "../plan/run-plan.ts";
import { cloudOf } from "../plan/sources.ts";
import { capacityTypeOf, type NodeGroup } from "./node-groups.ts";

/** The controller's default settings. */
const SETTINGS = {
  preferencePolicy: "Respect",
  minValuesPolicy: "Strict",
  planner: "cost",
  plannerEffort: 1,
  plannerNodeCost: 0.02,
  plannerMinSaving: 2,
  plannerMinPods: 100,
  poolNames: [],
  defaultSpread: [],
} as const;

/** Costs before and after, in micro-dollars an hour. */
export interface GroupCost {
  readonly before: { readonly nodes: number; readonly priceMicroUsd: number };
  readonly after: { readonly nodes: number; readonly priceMicroUsd: number };
  /** Pods that fit nowhere with the drafts. */
  readonly left: readonly string[];
  /** Nodes without a known price. */
  readonly unpriced: readonly string[];
  readonly notes: readonly string[];
}

/** Compares the costs. `found`: all objects of the cluster. `drafts`: the objects that would be applied. */
export async function groupCost(
  found: readonly Found[],
  groups: readonly NodeGroup[],
  {
    drafts,
    region,
  }: { readonly drafts: readonly KubeObject[]; readonly region?: string | undefined },
): Promise<GroupCost> {
  const nodes = groups.flatMap((group) =>
    group.nodes.map((node) => ({ name: node.metadata.name, offer: offerOf(node, group) })),
  );
  const names = new Set(nodes.map(({ name }) => name));
  const without = found.flatMap((one) => withoutNodes(one, names));
  const drafted = drafts.map((object) => ({
    where: `the draft of ${object.metadata.name}`,
    object,
  }));
  const all = [...without, ...drafted];
  const manifests = sortManifests(all);
  const cloud = await cloudOf(region === undefined ? {} : { region }, manifests, factsIn(all));
  const prices = await pricesIn(drafts, cloud);
  const { input } = await planningInput(manifests, cloud, SETTINGS, 0);
  const { result, passes } = playedPlan(input, SETTINGS);
  const timings = { parseMs: 0, solveMs: 0 };
  const plan = planOf(result, input.pods.length, timings, { input, objectFixes: false, passes });
  const unpriced = nodes.filter(({ offer }) => prices.get(offer) === undefined);
  return {
    before: {
      nodes: nodes.length,
      priceMicroUsd: nodes.reduce((sum, node) => sum + (prices.get(node.offer) ?? 0), 0),
    },
    after: { nodes: plan.totals.nodes, priceMicroUsd: plan.totals.priceMicroUsdPerHour },
    left: plan.unschedulable.map(({ pod }) => pod),
    unpriced: unpriced.map(({ name }) => name).sort(),
    notes: cloud.notes,
  };
}

/** Removes the nodes. Their pods become pending, and pods that nothing would create again are removed. */
function withoutNodes(one: Found, names: ReadonlySet<string>): readonly Found[] {
  const { object } = one;
  if (object.kind === "Node") return names.has(object.metadata.name) ? [] : [one];
  if (object.kind !== POD.kind) return [one];
  const pod = object as Pod;
  if (!names.has(pod.spec.nodeName ?? "")) return [one];
  if (!isReschedulable(pod)) return [];
  const { nodeName: _, ...spec } = pod.spec;
  const condition = { type: "PodScheduled", status: "False", reason: "Unschedulable" } as const;
  const status = { phase: "Pending", conditions: [condition] };
  return [{ ...one, object: { ...pod, spec, status } as unknown as KubeObject }];
}

function offerOf(node: Node, group: NodeGroup): string {
  const { labels = {} } = node.metadata;
  const type = labels["node.kubernetes.io/instance-type"];
  const zone = labels["topology.kubernetes.io/zone"];
  return `${type} ${zone} ${capacityTypeOf(node, group)}`;
}

async function pricesIn(
  drafts: readonly KubeObject[],
  cloud: Awaited<ReturnType<typeof cloudOf>>,
): Promise<ReadonlyMap<string, number>> {
  const prices = new Map<string, number>();
  for (const draft of drafts) {
    if (draft.kind !== "NodePool") continue;
    for (const { name, offerings } of await cloud.typesOf(toPool(draft as NodePool)))
      for (const { zone, capacityType, priceMicroUsd } of offerings)
        prices.set(`${name} ${zone} ${capacityType}`, priceMicroUsd);
  }
  return prices;
}
