/**
 * How well a plan holds against kube-scheduler, which knows nothing of it: whichever waiting pod comes first gets
 * whichever node comes first. Where a pod that may go anywhere takes the room of one that may not, one more node must
 * come for that one, and later an empty one goes.
 */

import { CAPACITY_TYPE_LABEL_KEY, TOPOLOGY_ZONE_LABEL_KEY } from "../../apis/karpenter/labels.ts";
import { eachInSteps, type Steps } from "../../base/steps.ts";
import type { PodClass } from "../provisioning/batch/pod-class.ts";
import { admittedSet } from "../provisioning/nodes/admission.ts";
import type { Template } from "../provisioning/pools/pool-template.ts";
import type { PlannedClaim, SchedulingResult } from "../provisioning/result.ts";
import type { Batch } from "../provisioning/solve.ts";
import { hasBit } from "../scheduling/bits.ts";
import type { SetId } from "../scheduling/requirement-space.ts";
import { setAsPlanned } from "./as-planned.ts";
import { requestsOf } from "./packing/class-requests.ts";
import { priceMicroUsd } from "./plan-price.ts";
import type { PlannerOptions } from "./planner-options.ts";

type Base = Batch["base"];

/** Planned nodes that come up alike, each as the cheapest machine that it may be. */
interface Machine {
  readonly template: Template;
  /** Of the template's types. */
  readonly type: number;
  readonly set: SetId;
  /** Who is planned to go to one of them. */
  readonly planned: Set<PodClass>;
  /** Of each of them: its claim, and who is planned to go there. */
  readonly nodes: { readonly claim: PlannedClaim; readonly own: ReadonlySet<PodClass> }[];
}

const CLASSES_PER_STEP = 64;

/**
 * Whether that may happen on more nodes of the plan than of the one that is known, and the nodes that must then be
 * launched may cost all that the plan saves.
 */
export function* strandsMore(
  batch: Batch,
  plan: SchedulingResult,
  known: SchedulingResult,
  { nodeMicroUsdPerHour }: Pick<PlannerOptions, "nodeMicroUsdPerHour">,
): Steps<boolean> {
  const stranding = yield* strandingNodes(batch, plan);
  if (stranding.size === 0) return false;
  const before = yield* strandingNodes(batch, known);
  const more = stranding.size - before.size;
  if (more <= 0) return false;
  const cost = Math.max(0, priceOf(stranding) - priceOf(before)) + more * nodeMicroUsdPerHour;
  return cost >= priceMicroUsd(known) - priceMicroUsd(plan);
}

/** What as many more nodes like these cost an hour: the most that must be launched for such pods. */
function priceOf(claims: ReadonlySet<PlannedClaim>): number {
  return priceMicroUsd({ newClaims: [...claims] });
}

/**
 * New nodes where pods may lose their room to others that are planned elsewhere, though they could not go there
 * in exchange. Rules between pods are not looked at.
 */
export function* strandingNodes(
  { base, queued }: Batch,
  { newClaims }: Pick<SchedulingResult, "newClaims">,
): Steps<ReadonlySet<PlannedClaim>> {
  const classOf = new Map(queued.map(({ pod, podClass }) => [pod, podClass]));
  const counts = new Map<PodClass, number>();
  const machines = new Map<string, Machine>();
  for (const claim of newClaims) {
    const own = claim.pods.flatMap((pod) => classOf.get(pod) ?? []);
    for (const podClass of own) counts.set(podClass, (counts.get(podClass) ?? 0) + 1);
    addNode(machines, base, claim, new Set(own));
  }
  const guests = new Map<Machine, Set<PodClass>>();
  for (const machine of machines.values()) {
    const welcome = new Set<PodClass>();
    yield* eachInSteps([...counts.keys()], CLASSES_PER_STEP, (podClass) => {
      if (mayGo(base, podClass, machine)) welcome.add(podClass);
    });
    guests.set(machine, welcome);
  }
  const stranding = new Set<PlannedClaim>();
  for (const [machine, mayCome] of guests) {
    yield;
    const { template, type, nodes } = machine;
    if (hasBit(template.table.holding(requestsOf(counts, mayCome)), type)) continue;
    const homes = [...guests].filter(([{ planned }]) => haveOneOf(planned, mayCome));
    const isStranding = (own: ReadonlySet<PodClass>) =>
      homes.some(([, welcome]) => ![...own].every((podClass) => welcome.has(podClass)));
    for (const { claim, own } of nodes) if (isStranding(own)) stranding.add(claim);
  }
  return stranding;
}

function haveOneOf<T>(some: ReadonlySet<T>, others: ReadonlySet<T>): boolean {
  for (const one of some) if (others.has(one)) return true;
  return false;
}

/** Not where there is no such machine any more. */
function addNode(
  machines: Map<string, Machine>,
  { templates, context: { space } }: Base,
  claim: PlannedClaim,
  own: ReadonlySet<PodClass>,
): void {
  const template = templates.find((one) => one.pool.id === claim.pool.id);
  if (template === undefined) return;
  const { instanceType, zone, capacityType } = claim.cheapest;
  const set = setAsPlanned(space, template.set, [
    ...claim.requirements,
    { key: TOPOLOGY_ZONE_LABEL_KEY, operator: "In", values: [zone] },
    { key: CAPACITY_TYPE_LABEL_KEY, operator: "In", values: [capacityType] },
  ]);
  if (set === undefined) return;
  // A type is several of the table's where offerings come with other capacities.
  const launchable = template.table.compatible(set);
  const type = template.table.types.findIndex(
    ({ name }, at) => name === instanceType && hasBit(launchable, at),
  );
  if (type < 0) return;
  const key = `${template.index} ${type} ${set}`;
  const known = machines.get(key);
  if (known === undefined) {
    machines.set(key, { template, type, set, planned: new Set(own), nodes: [{ claim, own }] });
    return;
  }
  known.nodes.push({ claim, own });
  for (const podClass of own) known.planned.add(podClass);
}

/** To the empty machine: with all wishes given up, for kube-scheduler insists on none. */
function mayGo({ context: { space }, classes }: Base, podClass: PodClass, to: Machine): boolean {
  const { template, type, set } = to;
  if (!hasBit(template.table.holding(podClass.requests), type)) return false;
  for (let step = 0; ; step++) {
    const variant = classes.variant(podClass, step);
    if (variant === undefined) return false;
    const joined = admittedSet({ taints: template.taints, set }, variant, space);
    if (joined === undefined) continue;
    const sets = podClass.volumeSets.length === 0 ? [joined] : podClass.volumeSets;
    const isMet = sets.some((wanted) => {
      const all = space.join(joined, wanted);
      return all !== undefined && hasBit(template.table.compatible(all), type);
    });
    if (isMet) return true;
  }
}
