/**
 * Moves one node of the plan, with its pods, to another zone or capacity type. The greedy rules fix the zone of a node
 * for its first pod that needs one. Pods that join later may need an instance type that is cheaper elsewhere.
 */
import {
  CAPACITY_TYPE_LABEL_KEY,
  TOPOLOGY_ZONE_LABEL_KEY,
} from "../../../apis/karpenter/labels.ts";
import { addResources } from "../../../apis/resources.ts";
import { type PodClass, variantsOf } from "../../provisioning/batch/pod-class.ts";
import { type Admitting, admittedSet } from "../../provisioning/feasibility/admission.ts";
import type { Template } from "../../provisioning/pools/pool-template.ts";
import type { PlannedClaim, SchedulingResult } from "../../provisioning/result.ts";
import type { Batch } from "../../provisioning/solve.ts";
import { intersectionOf } from "../../scheduling/bits.ts";
import type { SetId } from "../../scheduling/requirement-space.ts";
import { isBurstable, setAsPlanned, withNodes } from "../as-planned.ts";
import type { PlanStep } from "../plan-step.ts";
import { MOST_NODES_MOVED } from "../settings.ts";

const KEYS: ReadonlySet<string> = new Set([TOPOLOGY_ZONE_LABEL_KEY, CAPACITY_TYPE_LABEL_KEY]);

interface Move {
  /** The position of the node in the plan. */
  readonly at: number;
  readonly to: PlannedClaim;
  readonly savedMicroUsd: number;
}

export const moveNode: PlanStep = {
  name: "moveNode",
  rule: { saves: "anything", strandsNoMorePods: true, mayPlaceMore: false },
  // A burstable type is cheap because of CPU credits, which run out. Prices alone must not change such a plan.
  applies: (selection) => selection.mayRearrange && !selection.best.newClaims.some(isBurstable),
  plan: function* (selection) {
    const { batch, best: plan } = selection;
    const moves = movesOf(batch, plan);
    const before = moves.length === 0 ? undefined : yield* withNodes(batch, plan, plan.newClaims);
    if (before === undefined) return;
    let claims = plan.newClaims;
    for (const { at, to } of moves) {
      const moved = claims.with(at, to);
      const other = yield* withNodes(batch, plan, moved);
      if (other === undefined || other.preferencesGivenUp > before.preferencesGivenUp) continue;
      yield* selection.offerImproved("moveNode", other.result, moveNode.rule, selection.best);
      if (selection.best === other.result) claims = moved;
    }
  },
};

/** The moves that save most, the largest saving first. The savings are computed without rules between pods. */
function movesOf({ base, queued }: Batch, { newClaims }: SchedulingResult): readonly Move[] {
  const classOf = new Map(queued.map(({ pod, podClass }) => [pod, podClass]));
  const moves = newClaims.flatMap((claim, at) => {
    const template = base.templates.find(({ pool }) => pool.id === claim.pool.id);
    if (template === undefined) return [];
    const own = claim.pods.flatMap((pod) => classOf.get(pod) ?? []);
    return movesOfOne(base, template, claim, own).map((move) => ({ at, ...move }));
  });
  return moves.sort((a, b) => b.savedMicroUsd - a.savedMicroUsd).slice(0, MOST_NODES_MOVED);
}

/** The moves of one node: other values of its zone or capacity type at which instance types for its pods cost less. */
function movesOfOne(
  base: Batch["base"],
  { set: ofPool, taints, table, usable }: Template,
  claim: PlannedClaim,
  own: readonly PodClass[],
): readonly Omit<Move, "at">[] {
  const { space } = base.context;
  const { requirements, cheapest } = claim;
  const here = setAsPlanned(space, ofPool, requirements);
  // A node whose pods have volume claims is not moved, because most volumes exist in one zone only.
  if (here === undefined || own.some(({ hasVolumes }) => hasVolumes)) return [];
  const wanted = [...new Set(own)].map((podClass) =>
    wantedBy(base, podClass, { taints, set: here }),
  );
  const all = own.map(({ requests }) => requests).reduce(addResources);
  const types = intersectionOf(table.holding(all), table.steady ?? usable);
  return requirements.flatMap((settled) => {
    const { key, operator } = settled;
    if (!KEYS.has(key) || operator !== "In" || settled.values?.length !== 1) return [];
    const others = requirements.filter((one) => one !== settled);
    return table.valuesOf(usable, space.get(ofPool).get(key)).flatMap((value) => {
      const there = { key, operator, values: [value] };
      let set = setAsPlanned(space, ofPool, [...others, there]);
      for (const one of wanted) set &&= space.join(set, one);
      const price = set === undefined ? cheapest.priceMicroUsd : table.leastPrice(types, set);
      const savedMicroUsd = cheapest.priceMicroUsd - price;
      if (savedMicroUsd <= 0) return [];
      return [{ to: { ...claim, requirements: [...others, there] }, savedMicroUsd }];
    });
  });
}

/** What pods of this class require, without the preferences that the node cannot meet. */
function wantedBy(
  { context: { space }, classes }: Batch["base"],
  podClass: PodClass,
  node: Admitting,
): SetId {
  for (const variant of variantsOf(classes, podClass))
    if (admittedSet(node, variant, space) !== undefined) return variant.set;
  return node.set;
}
