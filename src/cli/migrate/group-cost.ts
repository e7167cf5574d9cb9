/** What the nodes of node groups cost, and what the drafted NodePools would cost for the same pods, by `plan`. */
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

/** As the controller has them. */
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

/** Before and after, in micro-dollars an hour. */
export interface GroupCost {
  readonly before: { readonly nodes: number; readonly priceMicroUsd: number };
  readonly after: { readonly nodes: number; readonly priceMicroUsd: number };
  /** Pods that the drafts would not place. */
  readonly left: readonly string[];
  /** Names of nodes whose price is not known. */
  readonly unpriced: readonly string[];
  readonly notes: readonly string[];
}

/** `found`: all objects of the cluster. `drafts`: what would be applied. */
export async function groupCost(
  found: readonly Found[],
  groups: readonly NodeGroup[],
  {
    drafts,
    region,
  }: { readonly drafts: readonly KubeObject[]; readonly region?: string | undefined },
): Promise<GroupCost> {
  const nodes = groups.flatMap((group) => group.nodes);
  const names = new Set(nodes.map(({ metadata }) => metadata.name));
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
  const plan = planOf(result, input.pods.length, timings, { input, volumeFixes: false, passes });
  const unpriced = nodes.filter((node) => prices.get(offerOf(node)) === undefined);
  return {
    before: {
      nodes: nodes.length,
      priceMicroUsd: nodes.reduce((sum, node) => sum + (prices.get(offerOf(node)) ?? 0), 0),
    },
    after: { nodes: plan.totals.nodes, priceMicroUsd: plan.totals.priceMicroUsdPerHour },
    left: plan.unschedulable.map(({ pod }) => pod),
    unpriced: unpriced.map(({ metadata }) => metadata.name).sort(),
    notes: cloud.notes,
  };
}

/** The nodes are gone, and their pods wait; pods that would not come back are gone, too. */
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

function offerOf({ metadata, ...node }: Node): string {
  const { labels = {} } = metadata;
  const type = labels["node.kubernetes.io/instance-type"];
  const zone = labels["topology.kubernetes.io/zone"];
  return `${type} ${zone} ${capacityTypeOf({ metadata, ...node })}`;
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
