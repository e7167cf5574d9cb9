/**
 * How many new nodes any plan needs in the end, whatever else it does: of pods that keep apart on hosts only so many
 * may share one. Proven for pods that are sure to be placed by the rules if a packing placed everybody: nothing but
 * hosts matters to them, and no limit may keep a node from being opened for one.
 */
import type { PodClass } from "../../provisioning/batch/pod-class.ts";
import type { Pass } from "../../provisioning/place.ts";
import { mayRunOut, type Template } from "../../provisioning/pools/pool-template.ts";
import {
  isPermanent,
  type Rule,
  type TopologyGroup,
} from "../../provisioning/topology/topology-group.ts";
import type { Waiting } from "../packing/homes.ts";

/** Of the rule that asks for most. `rows`: with all pods that such rules are about; `waiting`: how many wait, these and others. */
export function leastHosts(
  classes: Pass["classes"],
  templates: readonly Template[],
  rows: readonly { readonly classes: readonly Waiting[] }[],
  waiting: number,
): number {
  // The rules open no more nodes than there are pods.
  if (templates.some((template) => mayRunOut(template, waiting))) return 0;
  const pods = new Map<TopologyGroup, number>();
  for (const row of rows)
    for (const { podClass, items } of row.classes)
      for (const { group } of alwaysKept(classes, podClass))
        pods.set(group, (pods.get(group) ?? 0) + items.length);
  let hosts = 0;
  for (const [group, count] of pods) hosts = Math.max(hosts, Math.ceil(count / perHostOf(group)));
  return hosts;
}

/** Most pods of their own kind on one host. */
export function perHostOf({ type, maxSkew }: TopologyGroup): number {
  return type === "spread" ? maxSkew : 1;
}

/** Rules by which pods of the class keep apart on hosts, however many wishes are given up. */
function alwaysKept(classes: Pass["classes"], podClass: PodClass): readonly Rule[] {
  let kept: readonly Rule[] | undefined;
  for (let step = 0; ; step++) {
    const variant = classes.variant(podClass, step);
    if (variant === undefined) return kept ?? [];
    // Zones may be full, and volumes where no node is.
    if (variant.narrowingRules.length > 0 || podClass.hasVolumes) return [];
    const own = variant.hostRules;
    kept =
      kept?.filter(({ group }) => own.some((rule) => rule.group === group)) ??
      own.filter(keepsApart);
    if (kept.length === 0) return kept;
  }
}

function keepsApart({ group, self }: Rule): boolean {
  return self && !group.inverse && isPermanent(group);
}
