/**
 * A proven lower bound on the number of nodes of a greedy plan without existing nodes. A host rule (anti-affinity or
 * spread over hosts) limits its pods on one node. Only pods count that surely get a place: they have no other topology
 * rules, and the limits have room for their nodes.
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

/** The nodes that the most demanding host rule needs. 0: nothing is proven. `batchPods`: the pods of the batch. */
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

/** The most pods of a host rule on one host: maxSkew for a spread, because an empty host is always possible, else 1. */
export function perHostOf({ type, maxSkew }: TopologyGroup): number {
  return type === "spread" ? maxSkew : 1;
}

/** The host rules that pods of this class (equal for planning) keep even if they give up all preferences. */
function alwaysKept(classes: Pass["classes"], podClass: PodClass): readonly Rule[] {
  let kept: readonly Rule[] | undefined;
  for (const variant of variantsOf(classes, podClass)) {
    // A pod with zone rules or volumes may find no place: its zone is full, or its volume is in a zone without nodes.
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
