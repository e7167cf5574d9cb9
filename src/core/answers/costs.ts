/**
 * The cost of each workload. The price of a node is divided among its pods, in proportion to the mean of their shares
 * of cpu and memory. So the price of resources that no pod requests is divided, too; this part is called idle cost. The
 * sum of all parts is exactly the price of the node.
 */

import { deploymentNameOf, type Pod } from "../../apis/core/pod.ts";
import { podRequests } from "../../apis/core/pod-resources.ts";
import { controllerOf } from "../../apis/meta.ts";
import {
  addResources,
  NO_RESOURCES,
  type Resources,
  subtractResources,
} from "../../apis/resources.ts";
import { eachInSteps, type Steps } from "../../base/steps.ts";
import { compareText } from "../../base/text-order.ts";
import type { NodeView } from "../state/node-view.ts";
import { ViewNotes } from "../state/view-notes.ts";
import type { Fleet } from "./fleet.ts";
import type { Model } from "./model.ts";

export interface WorkloadCost {
  /**
   * The namespace of the workload. It is empty, like `kind` and `name`, for the cost of nodes whose pods request
   * nothing.
   */
  readonly namespace: string;
  readonly kind: string;
  readonly name: string;
  readonly pods: number;
  readonly microUsdPerHour: number;
  /** How much of the workload's cost is idle cost. */
  readonly idleMicroUsdPerHour: number;
}

/** The costs of all workloads, and what they request. */
export interface Costs {
  /** The cost of each workload, the largest first. The sum is the price of all nodes whose price is known. */
  readonly workloads: readonly WorkloadCost[];
  /** The requests of all pods on Karpenter's nodes, without DaemonSet pods. */
  readonly demand: Resources;
}

const NODES_PER_STEP = 64;

/** The costs of all workloads. `fleet`: must be made from the same model. */
export function* workloadCosts({ picture }: Pick<Model, "picture">, fleet: Fleet): Steps<Costs> {
  const prices = new Map(fleet.nodes.map((node) => [node.name, node.priceMicroUsdPerHour]));
  const all = new Map<string, WorkloadCost>();
  let demand: Resources = NO_RESOURCES;
  yield* eachInSteps(picture.nodes, NODES_PER_STEP, (view) => {
    if (view.claim === undefined) return;
    const requested = subtractResources(view.allocatable, view.available);
    demand = addResources(demand, subtractResources(requested, view.daemonRequests));
    const price = prices.get(view.name);
    if (price === undefined) return;
    for (const part of partsOf(view, price)) add(all, part);
  });
  const workloads = [...all.values()].sort(
    (a, b) => b.microUsdPerHour - a.microUsdPerHour || compareText(keyOfCost(a), keyOfCost(b)),
  );
  return { workloads, demand };
}

const known = new ViewNotes<{ readonly price: number; readonly parts: readonly WorkloadCost[] }>();

function partsOf(view: NodeView, price: number): readonly WorkloadCost[] {
  const before = known.get(view);
  if (before?.price === price) return before.parts;
  const parts = shares(view, price);
  known.set(view, { price, parts });
  return parts;
}

/** Divides the price of one node. The remainder after rounding is added to the largest part. Exported for tests. */
export function shares(
  { pods, allocatable }: Pick<NodeView, "pods" | "allocatable">,
  price: number,
): readonly WorkloadCost[] {
  const weighted = pods.map((pod) => {
    return { pod, weight: requestedShare(podRequests(pod), allocatable) };
  });
  const sum = weighted.reduce((all, { weight }) => all + weight, 0);
  if (sum <= 0) return [{ ...NOBODY, microUsdPerHour: price, idleMicroUsdPerHour: price }];
  const parts = new Map<string, WorkloadCost>();
  for (const { pod, weight } of weighted) {
    const cost = Math.floor((price * weight) / sum);
    // Pods may request more than the node has, for example after a resize. Then there is no idle cost.
    const own = sum >= 1 ? cost : Math.min(cost, Math.round(price * weight));
    const idle = { microUsdPerHour: cost, idleMicroUsdPerHour: cost - own };
    add(parts, { ...workloadOf(pod), pods: 1, ...idle });
  }
  const all = [...parts.values()].sort((a, b) => b.microUsdPerHour - a.microUsdPerHour);
  const rest = price - all.reduce((total, one) => total + one.microUsdPerHour, 0);
  return all.map((one, index) =>
    index === 0 ? { ...one, microUsdPerHour: one.microUsdPerHour + rest } : one,
  );
}

const NOBODY = { namespace: "", kind: "", name: "", pods: 0 } as const;

/** The mean of the requested shares of a node's cpu and memory. Above 1: more is requested than there is. */
export function requestedShare(requests: Resources, allocatable: Resources): number {
  const share = (name: string): number => {
    const there = allocatable[name] ?? 0;
    return there <= 0 ? 0 : (requests[name] ?? 0) / there;
  };
  return (share("cpu") + share("memory")) / 2;
}

/**
 * The workload that a user deployed: the Deployment of a ReplicaSet, or the CronJob of a Job. Its name is derived from
 * the name of the pod's owner.
 */
function workloadOf(pod: Pod): Pick<WorkloadCost, "namespace" | "kind" | "name"> {
  const { namespace = "default", name } = pod.metadata;
  const owner = controllerOf(pod);
  if (owner === undefined) return { namespace, kind: "Pod", name };
  const deployment = deploymentNameOf(pod);
  if (deployment !== undefined) return { namespace, kind: "Deployment", name: deployment };
  const scheduled = owner.kind === "Job" ? /^(.+)-\d{8,10}$/.exec(owner.name)?.[1] : undefined;
  if (scheduled !== undefined) return { namespace, kind: "CronJob", name: scheduled };
  return { namespace, kind: owner.kind, name: owner.name };
}

function keyOfCost({ namespace, kind, name }: WorkloadCost): string {
  return `${namespace}/${kind}/${name}`;
}

function add(all: Map<string, WorkloadCost>, part: WorkloadCost): void {
  const key = keyOfCost(part);
  const before = all.get(key);
  all.set(
    key,
    before === undefined
      ? part
      : {
          ...before,
          pods: before.pods + part.pods,
          microUsdPerHour: before.microUsdPerHour + part.microUsdPerHour,
          idleMicroUsdPerHour: before.idleMicroUsdPerHour + part.idleMicroUsdPerHour,
        },
  );
}
