/**
 * A batch that may not use one of its zones. Where pods may go to several, rules and greed take the zone that is cheapest
 * for the first of them, and those who follow it there may find no machine that is large, or of enough types.
 */
import { TOPOLOGY_ZONE_LABEL_KEY } from "../../apis/karpenter/labels.ts";
import type { SchedulingResult } from "../provisioning/result.ts";
import type { Batch } from "../provisioning/solve.ts";

/** Each is a plan of the whole batch. */
const MOST_TRIED = 4;

/** The batch without each of the zones in turn that the plan buys nodes in; none where it needs but one node. */
export function withFewerZones(batch: Batch, { newClaims }: SchedulingResult): readonly Batch[] {
  if (newClaims.length < 2) return [];
  const zones = [...new Set(newClaims.map(({ cheapest }) => cheapest.zone))].sort();
  return zones.slice(0, MOST_TRIED).map((zone) => withoutZone(batch, zone));
}

/** Pools that have no other zone keep theirs. */
function withoutZone(batch: Batch, zone: string): Batch {
  const { base } = batch;
  const { space } = base.context;
  const templates = base.templates.map((template) => {
    const own = space.get(template.set).get(TOPOLOGY_ZONE_LABEL_KEY);
    const others = template.table.valuesOf(template.usable, own).filter((one) => one !== zone);
    const set = space.narrow(template.set, TOPOLOGY_ZONE_LABEL_KEY, others);
    return others.length === 0 || set === undefined ? template : { ...template, set };
  });
  return { ...batch, base: { ...base, templates } };
}
