/**
 * Who the nodes are paid for. The price of each node is shared by its pods according to what they request: the mean of
 * their shares of cpu and memory. What no pod requests is idle, and is shared the same way. All shares together are the
 * price, to the micro-dollar.
 */

import type { Pod } from "../../apis/core/pod.ts";
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
  /** Empty, with `kind` and `name`: nodes on which no pod requests anything. */
  readonly namespace: string;
  readonly kind: string;
  readonly name: string;
  readonly pods: number;
  readonly microUsdPerHour: number;
  /** Of that: its share of what no pod requests. */
  readonly idleMicroUsdPerHour: number;
}

export interface Costs {
  /** Most dear first. Together: the price of all nodes whose price is known. */
  readonly workloads: readonly WorkloadCost[];
  /** What pods on nodes of ours request, DaemonSets aside. */
  readonly demand: Resources;
}

/** Nodes looked at before others get a turn. */
const NODES_PER_STEP = 64;

/** `fleet`: of the same model. */
export function* costsInSteps({ picture }: Pick<Model, "picture">, fleet: Fleet): Steps<Costs> {
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

/** Of one node. The remainders of rounding go to the largest share. Exported for tests. */
export function shares(
  { pods, allocatable }: Pick<NodeView, "pods" | "allocatable">,
  price: number,
): readonly WorkloadCost[] {
  const weights = pods.map((pod) => weightOf(podRequests(pod), allocatable));
  const sum = weights.reduce((all, one) => all + one, 0);
  if (sum <= 0) return [{ ...NOBODY, microUsdPerHour: price, idleMicroUsdPerHour: price }];
  const parts = new Map<string, WorkloadCost>();
  pods.forEach((pod, index) => {
    const weight = weights[index] ?? 0;
    const cost = Math.floor((price * weight) / sum);
    // Pods may request more than there is, as after a resize: then nothing is idle.
    const own = sum >= 1 ? cost : Math.min(cost, Math.round(price * weight));
    const idle = { microUsdPerHour: cost, idleMicroUsdPerHour: cost - own };
    add(parts, { ...workloadOf(pod), pods: 1, ...idle });
  });
  const all = [...parts.values()].sort((a, b) => b.microUsdPerHour - a.microUsdPerHour);
  const rest = price - all.reduce((total, one) => total + one.microUsdPerHour, 0);
  return all.map((one, index) =>
    index === 0 ? { ...one, microUsdPerHour: one.microUsdPerHour + rest } : one,
  );
}

const NOBODY = { namespace: "", kind: "", name: "", pods: 0 } as const;

/** The mean of its shares of cpu and memory. */
function weightOf(requests: Resources, allocatable: Resources): number {
  const share = (name: string): number => {
    const there = allocatable[name] ?? 0;
    return there <= 0 ? 0 : (requests[name] ?? 0) / there;
  };
  return (share("cpu") + share("memory")) / 2;
}

/** What a person deployed: of a ReplicaSet its Deployment, of a CronJob's Job the CronJob, as their names tell. */
function workloadOf(pod: Pod): Pick<WorkloadCost, "namespace" | "kind" | "name"> {
  const { namespace = "default", name, labels } = pod.metadata;
  const owner = controllerOf(pod);
  if (owner === undefined) return { namespace, kind: "Pod", name };
  const hash = labels?.["pod-template-hash"];
  if (owner.kind === "ReplicaSet" && hash !== undefined && owner.name.endsWith(`-${hash}`))
    return { namespace, kind: "Deployment", name: owner.name.slice(0, -hash.length - 1) };
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
