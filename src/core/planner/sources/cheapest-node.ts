/**
 * Cheapest-node greedy: each pod goes to the planned node whose price rises least, or to a new node if that is cheaper.
 * The greedy rules always use a planned node that fits, even if its price rises much.
 * The batch is then planned again without each zone of the plan in turn: the zone that is cheapest for the first pod
 * may have no instance type that is large enough for later pods. If such a plan is the best one, its nodes may be
 * launched in every zone again where that costs nothing.
 */
import { TOPOLOGY_ZONE_LABEL_KEY } from "../../../apis/karpenter/labels.ts";
import type { SchedulingResult } from "../../provisioning/result.ts";
import { type Batch, planByCheapestNode } from "../../provisioning/solve.ts";
import { inAllZones } from "../improvements/open-zones.ts";
import type { PlanStep } from "../plan-step.ts";
import { MOST_ZONES_CLOSED } from "../settings.ts";

export const cheapestNode: PlanStep = {
  name: "cheapestNode",
  rule: { saves: "setting", strandsNoMorePods: true, mayPlaceMore: false },
  applies: (selection) => selection.mayRearrange && selection.batch.queued.length > 1,
  plan: function* (selection) {
    const { batch, options, best: known } = selection;
    const { rule } = cheapestNode;
    const first = yield* planByCheapestNode(batch, options.nodeMicroUsdPerHour);
    yield* selection.offer("cheapestNode", first, rule, known);
    if (!selection.uses("cheapestNodeWithoutZone")) return;
    for (const fewer of withOneZoneClosed(batch, first)) {
      const other = yield* planByCheapestNode(fewer, options.nodeMicroUsdPerHour);
      yield* selection.offer("cheapestNodeWithoutZone", other, rule, known);
    }
    if (selection.source !== "cheapestNodeWithoutZone" || !selection.uses("openZones")) return;
    const open = yield* inAllZones(batch, selection.best);
    // With all zones, the plan may cost as much as the plan without the zone. So it is compared with `known`, the best
    // plan of the sources before.
    if (open !== undefined) yield* selection.offerImproved("openZones", open, rule, known);
  },
};

/** Copies of the batch, each without one of the plan's zones. None if the plan needs only one node. */
function withOneZoneClosed(batch: Batch, { newClaims }: SchedulingResult): readonly Batch[] {
  if (newClaims.length < 2) return [];
  const zones = [...new Set(newClaims.map(({ cheapest }) => cheapest.zone))].sort();
  return zones.slice(0, MOST_ZONES_CLOSED).map((zone) => withZoneClosed(batch, zone));
}

/** The batch without new nodes in this zone. A NodePool that has only this zone keeps it. */
function withZoneClosed(batch: Batch, zone: string): Batch {
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
