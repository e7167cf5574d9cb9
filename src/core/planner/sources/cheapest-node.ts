/**
 * Cheapest-node greedy: each pod goes to the planned node whose price rises least, or to a new node if that is cheaper.
 * The greedy rules always use a planned node that fits, even if its price rises much.
 * The batch is then planned again without each zone of the plan in turn: the zone that is cheapest for the first pod
 * may have no instance type that is large enough for later pods. If such a plan is the best one, its nodes may be
 * launched in every zone again where that costs nothing.
 */
import { TOPOLOGY_ZONE_LABEL_KEY } from "../../../apis/karpenter/labels.ts";
import { type Variant, variantsOf } from "../../provisioning/batch/pod-class.ts";
import { rankOf } from "../../provisioning/pools/rank.ts";
import type { SchedulingResult } from "../../provisioning/result.ts";
import { type Batch, planByCheapestNode } from "../../provisioning/solve.ts";
import { inAllZones } from "../improvements/open-zones.ts";
import type { PlanSelection } from "../plan-selection.ts";
import type { PlanStep } from "../plan-step.ts";
import { MOST_ZONES_CLOSED } from "../settings.ts";

export const cheapestNode: PlanStep = {
  name: "cheapestNode",
  rule: { saves: "setting", strandsNoMorePods: true, mayPlaceMore: false },
  applies: (selection) =>
    selection.mayRearrange && (selection.batch.queued.length > 1 || isPoolChosenByName(selection)),
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

/**
 * Whether another NodePool of the same rank may launch a new node of the best plan. The greedy rules take the later
 * name of two such NodePools, whatever they cost.
 */
function isPoolChosenByName({ batch, best }: PlanSelection): boolean {
  return best.newClaims.some((claim) =>
    batch.base.templates.some(
      ({ pool }) => pool.id !== claim.pool.id && rankOf(pool) === rankOf(claim.pool),
    ),
  );
}

/**
 * Copies of the batch, each without one of the plan's zones. None if the plan needs only one node. A zone that a pod
 * prefers stays open: a lower price does not outweigh the preferences of pods.
 */
function withOneZoneClosed(batch: Batch, { newClaims }: SchedulingResult): readonly Batch[] {
  if (newClaims.length < 2) return [];
  const zones = [...new Set(newClaims.map(({ cheapest }) => cheapest.zone))].sort();
  return zones
    .filter((zone) => !isPreferred(batch, zone))
    .slice(0, MOST_ZONES_CLOSED)
    .map((zone) => withZoneClosed(batch, zone));
}

/** Whether a pod of the batch prefers this zone to all others, but does not require it. */
function isPreferred({ base: { context, classes }, queued }: Batch, zone: string): boolean {
  const { space } = context;
  const needsZone = ({ set }: Variant): boolean => {
    const { complement, values } = space.get(set).get(TOPOLOGY_ZONE_LABEL_KEY);
    return !complement && values.length === 1 && values[0] === zone;
  };
  const all = new Set(queued.map(({ podClass }) => podClass));
  return [...all].some((podClass) => {
    const variants = [...variantsOf(classes, podClass)];
    const [first, last] = [variants[0], variants.at(-1)];
    return first !== undefined && last !== undefined && needsZone(first) && !needsZone(last);
  });
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
