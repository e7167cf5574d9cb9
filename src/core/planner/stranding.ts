/**
 * Stranded pods. kube-scheduler does not know the plan: the first pending pod gets the first node that is ready. A pod
 * that may run on many nodes may take the room of a pod that may run on few. Then one more node is launched for the
 * second pod, and the room that was planned for the first pod stays empty.
 */

import { CAPACITY_TYPE_LABEL_KEY, TOPOLOGY_ZONE_LABEL_KEY } from "../../apis/karpenter/labels.ts";
import { eachInSteps, type Steps } from "../../base/steps.ts";
import { within } from "../../base/within.ts";
import { type PodClass, variantsOf } from "../provisioning/batch/pod-class.ts";
import { admittedSet, volumePlaces } from "../provisioning/feasibility/admission.ts";
import type { Template } from "../provisioning/pools/pool-template.ts";
import type { PlannedClaim, SchedulingResult } from "../provisioning/result.ts";
import type { Batch } from "../provisioning/solve.ts";
import { hasBit, noBits, setBit } from "../scheduling/bits.ts";
import type { SetId } from "../scheduling/requirement-space.ts";
import { setAsPlanned } from "./as-planned.ts";
import { totalRequests } from "./packing/total-requests.ts";
import { priceMicroUsd } from "./plan-price.ts";
import type { PlannerOptions } from "./planner-options.ts";

type Base = Batch["base"];

/** Planned nodes with equal labels and the same cheapest instance type. */
interface AlikeNodes {
  readonly template: Template;
  /** The index of the instance type in the table of the NodePool. */
  readonly type: number;
  readonly set: SetId;
  /** The classes of all pods that are planned on these nodes. A class is a set of pods that are equal for planning. */
  readonly planned: Set<PodClass>;
  /** Each node, with the classes of the pods that are planned on it. */
  readonly nodes: { readonly claim: PlannedClaim; readonly own: ReadonlySet<PodClass> }[];
}

/** Whether `plan` may strand pods of more nodes than `known`, and replacing those nodes may cost what `plan` saves. */
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
  const cost =
    Math.max(0, priceOfNodes(stranding) - priceOfNodes(before)) + more * nodeMicroUsdPerHour;
  return cost >= priceMicroUsd(known) - priceMicroUsd(plan);
}

/** The price of these nodes. At worst, one more node like each of them is launched for stranded pods. */
function priceOfNodes(claims: ReadonlySet<PlannedClaim>): number {
  return priceMicroUsd({ newClaims: [...claims] });
}

/**
 * The new nodes whose pods may be stranded: pods that are planned for other nodes may take their room, and the stranded
 * pods may not run on those other nodes. Of topology rules, only a required anti-affinity of a pod to its own kind over
 * hosts is checked.
 */
export function* strandingNodes(
  { base, queued }: Batch,
  { newClaims }: Pick<SchedulingResult, "newClaims">,
): Steps<ReadonlySet<PlannedClaim>> {
  const classOf = new Map(queued.map(({ pod, podClass }) => [pod, podClass]));
  const counts = new Map<PodClass, number>();
  const groups = new Map<string, AlikeNodes>();
  for (const claim of newClaims) {
    const own = claim.pods.flatMap((pod) => classOf.get(pod) ?? []);
    for (const podClass of own) counts.set(podClass, (counts.get(podClass) ?? 0) + 1);
    addNode(groups, base, claim, new Set(own));
  }
  /** For each group of nodes, the pod classes (pods that are equal for planning) that may run there. */
  const guests = new Map<AlikeNodes, Set<PodClass>>();
  for (const group of groups.values()) {
    const classes = new Set<PodClass>();
    yield* eachInSteps([...counts.keys()], (podClass) => {
      if (mayRunOn(base, podClass, group)) classes.add(podClass);
    });
    guests.set(group, classes);
  }
  const apart = new Set([...counts.keys()].filter((podClass) => isApart(base, podClass)));
  const stranding = new Set<PlannedClaim>();
  for (const [group, classes] of guests) {
    yield;
    const { template, type, nodes } = group;
    // If one node can hold every pod that may run there, no pod is stranded.
    const isRoomy = hasBit(template.table.holding(totalRequests(counts, classes)), type);
    if (isRoomy && hasDevicesForAll(base, { counts, classes }, group)) continue;
    // A pod of another node that takes room here leaves its own planned room free. If a pod of this node may not run
    // there, it may be stranded.
    const left = [...guests].filter(([{ planned }]) => haveOneOf(planned, classes));
    const isStranding = (own: ReadonlySet<PodClass>) =>
      left.some(([others, mayRunThere]) =>
        [...own].some(
          (one) =>
            !mayRunThere.has(one) ||
            (apart.has(one) && isOnEachOf(others, one) && hasOther(others, classes, one)),
        ),
      );
    for (const { claim, own } of nodes) if (isStranding(own)) stranding.add(claim);
  }
  return stranding;
}

/** Whether each pod of the class must be on a host of its own. */
function isApart({ classes }: Base, podClass: PodClass): boolean {
  // The last variant has no preferences left.
  const rules = [...variantsOf(classes, podClass)].at(-1)?.hostRules ?? [];
  return rules.some(({ group, self }) => self && !group.inverse && group.type === "antiAffinity");
}

function isOnEachOf({ nodes }: AlikeNodes, podClass: PodClass): boolean {
  return nodes.every(({ own }) => own.has(podClass));
}

/** Whether a pod of another class is planned on one of the nodes, and may take room elsewhere (`classes`). */
function hasOther(
  { planned }: AlikeNodes,
  classes: ReadonlySet<PodClass>,
  podClass: PodClass,
): boolean {
  return [...planned].some((one) => one !== podClass && classes.has(one));
}

function haveOneOf<T>(some: ReadonlySet<T>, others: ReadonlySet<T>): boolean {
  for (const one of some) if (others.has(one)) return true;
  return false;
}

/** Adds the planned node to its group. Does nothing if the batch lacks its NodePool or instance type. */
function addNode(
  groups: Map<string, AlikeNodes>,
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
  // Several types of the table may have the same name, because their offerings differ in capacity.
  const launchable = template.table.compatible(set);
  const type = template.table.types.findIndex(
    ({ name }, at) => name === instanceType && hasBit(launchable, at),
  );
  if (type < 0) return;
  const key = `${template.index} ${type} ${set}`;
  const { planned, nodes } = within(groups, key, () => ({
    template,
    type,
    set,
    planned: new Set<PodClass>(),
    nodes: [],
  }));
  nodes.push({ claim, own });
  for (const podClass of own) planned.add(podClass);
}

/** Whether a pod of the class may run on an empty node of this group. Only its requirements count, not preferences. */
function mayRunOn(base: Base, podClass: PodClass, to: AlikeNodes): boolean {
  const { context, classes } = base;
  const { space } = context;
  const { template, type, set } = to;
  if (!hasBit(template.table.holding(podClass.requests), type)) return false;
  for (const variant of variantsOf(classes, podClass)) {
    const admitted = admittedSet({ taints: template.taints, set }, variant, space);
    if (admitted === undefined) continue;
    const places = volumePlaces(admitted, podClass, space);
    const there = places.filter((place) => hasBit(template.table.compatible(place), type));
    if (there.some((place) => mayHaveDevices(base, podClass, { ...to, set: place }))) return true;
  }
  return false;
}

/** Whether an empty node of this group has the devices that a pod of the class claims. */
function mayHaveDevices(
  { context: { devices } }: Base,
  podClass: PodClass,
  { template: { table }, type, set }: AlikeNodes,
): boolean {
  const needs = podClass.claimsDevices ? devices?.needsOf(podClass.sample) : undefined;
  if (needs === undefined || devices === undefined) return true;
  const types = noBits(table.size);
  setBit(types, type);
  return devices.ofNewNodes.fits(needs, { holder: {}, set, types, table }).length > 0;
}

/** Whether one node has devices for all pods of these classes together. */
function hasDevicesForAll(
  { context: { devices } }: Base,
  {
    counts,
    classes,
  }: { readonly counts: ReadonlyMap<PodClass, number>; readonly classes: ReadonlySet<PodClass> },
  { template: { table }, type }: AlikeNodes,
): boolean {
  const pods = [...classes]
    .filter(({ claimsDevices }) => claimsDevices)
    .map((podClass) => ({ sample: podClass.sample, count: counts.get(podClass) ?? 0 }));
  const instanceType = table.types[type];
  if (devices === undefined || instanceType === undefined || pods.length === 0) return true;
  return devices.haveEnough(pods, instanceType);
}
