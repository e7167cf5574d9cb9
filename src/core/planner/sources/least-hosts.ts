/**
 * A proven lower bound on the number of nodes of a greedy plan without existing nodes. A host rule (anti-affinity or
 * spread over hosts) allows only so many of its pods on one node. The bound counts only pods that surely get a place:
 * host rules are their only topology rules, and limits have room for their nodes.
 */
import { type PodClass, variantsOf } from "../../provisioning/batch/pod-class.ts";
import type { Pass } from "../../provisioning/place.ts";
import { mayRunOut, type Template } from "../../provisioning/pools/pool-template.ts";
import {
  isPermanent,
  type Rule,
  type TopologyGroup,
} from "../../provisioning/topology/topology-group.ts";
import type { ClassPods } from "../packing/class-demands.ts";

/**
 * The bound, by the host rule that needs most nodes. 0: nothing is proven. `rows`: the packed pods. `batchPods`: the
 * number of pods in the batch.
 */
export function leastHosts(
  classes: Pass["classes"],
  templates: readonly Template[],
  rows: readonly { readonly classes: readonly ClassPods[] }[],
  batchPods: number,
): number {
  // Greedy rules open at most one node for each pod. If limits may refuse one of these nodes, nothing can be proven.
  if (templates.some((template) => mayRunOut(template, batchPods))) return 0;
  const pods = new Map<TopologyGroup, number>();
  for (const row of rows)
    for (const { podClass, items } of row.classes)
      for (const { group } of alwaysKept(classes, podClass))
        pods.set(group, (pods.get(group) ?? 0) + items.length);
  let hosts = 0;
  for (const [group, count] of pods) hosts = Math.max(hosts, Math.ceil(count / perHostOf(group)));
  return hosts;
}

/**
 * The most pods of a host rule on one host. For a spread it is maxSkew, because a new host without pods is always
 * possible. For an anti-affinity it is 1.
 */
export function perHostOf({ type, maxSkew }: TopologyGroup): number {
  return type === "spread" ? maxSkew : 1;
}

/** The host rules that pods of this class (equal for planning) keep even if they give up all preferences. */
function alwaysKept(classes: Pass["classes"], podClass: PodClass): readonly Rule[] {
  let kept: readonly Rule[] | undefined;
  for (const variant of variantsOf(classes, podClass)) {
    // A pod with zone rules or volumes may find no place: its zone may be full, or its volume may be in a zone without
    // nodes.
    if (variant.narrowingRules.length > 0 || podClass.hasVolumes) return [];
    const own = variant.hostRules;
    kept =
      kept?.filter(({ group }) => own.some((rule) => rule.group === group)) ??
      own.filter(keepsApart);
    if (kept.length === 0) return kept;
  }
  return kept ?? [];
}

function keepsApart({ group, self }: Rule): boolean {
  return self && !group.inverse && isPermanent(group);
}
