/**
 * How well a plan holds against kube-scheduler, which knows nothing of it: whichever waiting pod comes first gets
 * whichever node comes first. Where a pod that may go anywhere takes the room of one that may not, one more node must
 * come for that one, and later an empty one goes.
 */

import { firstUntolerated } from "../../apis/core/tolerations.ts";
import { CAPACITY_TYPE_LABEL_KEY, TOPOLOGY_ZONE_LABEL_KEY } from "../../apis/karpenter/labels.ts";
import type { Resources } from "../../apis/resources.ts";
import type { PodClass } from "../provisioning/batch/pod-class.ts";
import type { Template } from "../provisioning/pools/pool-template.ts";
import type { PlannedClaim, SchedulingResult } from "../provisioning/result.ts";
import type { Batch } from "../provisioning/solve.ts";
import { hasBit } from "../scheduling/bits.ts";
import type { SetId } from "../scheduling/requirement-space.ts";
import { setAsPlanned } from "./repair.ts";

type Base = Batch["base"];

/** A planned node as the cheapest machine that it may be. */
interface Machine {
  readonly template: Template;
  /** Of the template's types. */
  readonly type: number;
  readonly set: SetId;
  /** Who is planned to go there. */
  readonly own: ReadonlySet<PodClass>;
}

/**
 * Of so many new nodes pods may lose their room to others that are planned elsewhere, though they could not go there
 * in exchange. Rules between pods are not looked at. About as much work as classes times nodes.
 */
export function strandingNodes({ base, queued }: Batch, { newClaims }: SchedulingResult): number {
  const classOf = new Map(queued.map(({ pod, podClass }) => [pod, podClass]));
  const counts = new Map<PodClass, number>();
  const machines: Machine[] = [];
  for (const claim of newClaims) {
    const own = claim.pods.flatMap((pod) => classOf.get(pod) ?? []);
    for (const podClass of own) counts.set(podClass, (counts.get(podClass) ?? 0) + 1);
    const machine = machineOf(base, claim, new Set(own));
    if (machine !== undefined) machines.push(machine);
  }
  const guests = machines.map((machine) => {
    const all = [...counts.keys()].filter((podClass) => mayGo(base, podClass, machine));
    return new Set(all);
  });
  return machines.filter(({ template, type, own }, at) => {
    const mayCome = guests[at] as ReadonlySet<PodClass>;
    if (hasBit(template.table.holding(requestsOf(mayCome, counts)), type)) return false;
    return machines.some(
      (other, home) =>
        home !== at &&
        [...other.own].some((podClass) => mayCome.has(podClass)) &&
        [...own].some((podClass) => guests[home]?.has(podClass) === false),
    );
  }).length;
}

/** Undefined: there is no such machine any more. */
function machineOf(
  { templates, context: { space } }: Base,
  claim: PlannedClaim,
  own: ReadonlySet<PodClass>,
): Machine | undefined {
  const template = templates.find((one) => one.pool.id === claim.pool.id);
  if (template === undefined) return undefined;
  const { instanceType, zone, capacityType } = claim.cheapest;
  const set = setAsPlanned(space, template.set, [
    ...claim.requirements,
    { key: TOPOLOGY_ZONE_LABEL_KEY, operator: "In", values: [zone] },
    { key: CAPACITY_TYPE_LABEL_KEY, operator: "In", values: [capacityType] },
  ]);
  const type = template.table.types.findIndex(({ name }) => name === instanceType);
  return set === undefined ? undefined : { template, type, set, own };
}

/** To the empty machine: with all wishes given up, for kube-scheduler insists on none. */
function mayGo({ context: { space }, classes }: Base, podClass: PodClass, to: Machine): boolean {
  const { template, type, set } = to;
  if (!hasBit(template.table.holding(podClass.requests), type)) return false;
  for (let step = 0; ; step++) {
    const variant = classes.variant(podClass, step);
    if (variant === undefined) return false;
    if (firstUntolerated(variant.tolerations, template.taints) !== undefined) continue;
    const joined = space.join(set, variant.set);
    if (joined === undefined) continue;
    const sets = podClass.volumeSets.length === 0 ? [joined] : podClass.volumeSets;
    const isMet = sets.some((wanted) => {
      const all = space.join(joined, wanted);
      return all !== undefined && hasBit(template.table.compatible(all), type);
    });
    if (isMet) return true;
  }
}

/** Of all pods of these classes. */
function requestsOf(classes: Iterable<PodClass>, counts: ReadonlyMap<PodClass, number>): Resources {
  const sum: Record<string, number> = {};
  for (const podClass of classes) {
    const count = counts.get(podClass) ?? 0;
    const { requests } = podClass;
    for (const name in requests) sum[name] = (sum[name] ?? 0) + (requests[name] as number) * count;
  }
  return sum;
}
