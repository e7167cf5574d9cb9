/**
 * A plan with nodes that stand elsewhere: with the very pods that it has, in another zone or of another capacity type.
 * The rules settle that for the first pod that asks, and who joins later may want a machine that is cheaper elsewhere.
 */
import { CAPACITY_TYPE_LABEL_KEY, TOPOLOGY_ZONE_LABEL_KEY } from "../../apis/karpenter/labels.ts";
import { addResources } from "../../apis/resources.ts";
import type { Steps } from "../../base/steps.ts";
import type { PodClass } from "../provisioning/batch/pod-class.ts";
import type { Template } from "../provisioning/pools/pool-template.ts";
import type { PlannedClaim, SchedulingResult } from "../provisioning/result.ts";
import type { Batch } from "../provisioning/solve.ts";
import { intersectionOf } from "../scheduling/bits.ts";
import type { SetId } from "../scheduling/requirement-space.ts";
import { isBetter } from "./better.ts";
import type { PlannerOptions } from "./planner-options.ts";
import { isBurstable, setAsPlanned, withNodes } from "./repair.ts";
import { strandsMore } from "./stranding.ts";

/** Each is a plan of the whole batch. */
const MOST_TRIED = 8;
const KEYS: ReadonlySet<string> = new Set([TOPOLOGY_ZONE_LABEL_KEY, CAPACITY_TYPE_LABEL_KEY]);

interface Move {
  /** Which of the plan's nodes. */
  readonly at: number;
  readonly to: PlannedClaim;
  readonly savedMicroUsd: number;
}

/** The plan, or one with the same pods on each node that costs less and gives up no more wishes. */
export function* resettled(
  batch: Batch,
  plan: SchedulingResult,
  options: PlannerOptions,
): Steps<SchedulingResult> {
  // Whoever joined the pods of a burstable type might live on credits.
  if (plan.newClaims.some(isBurstable)) return plan;
  const moves = movesOf(batch, plan);
  const before = moves.length === 0 ? undefined : yield* withNodes(batch, plan, plan.newClaims);
  if (before === undefined) return plan;
  let [best, claims] = [plan, plan.newClaims];
  for (const { at, to } of moves) {
    const moved = claims.with(at, to);
    const other = yield* withNodes(batch, plan, moved);
    if (other === undefined || other.givenUp > before.givenUp) continue;
    if (!isBetter(other.result, best, { ...options, minSaving: 0 })) continue;
    if (yield* strandsMore(batch, other.result, best, options)) continue;
    best = other.result;
    claims = moved;
  }
  return best;
}

/** Those first that would save most, were there no rules between pods. */
function movesOf({ base, queued }: Batch, { newClaims }: SchedulingResult): readonly Move[] {
  const classOf = new Map(queued.map(({ pod, podClass }) => [pod, podClass]));
  const moves = newClaims.flatMap((claim, at) => {
    const template = base.templates.find(({ pool }) => pool.id === claim.pool.id);
    if (template === undefined) return [];
    const own = claim.pods.flatMap((pod) => classOf.get(pod) ?? []);
    return movesOfOne(base, template, claim, own).map((move) => ({ at, ...move }));
  });
  return moves.sort((a, b) => b.savedMicroUsd - a.savedMicroUsd).slice(0, MOST_TRIED);
}

/** To where machines for its pods cost less, of a label that the plan settles for it. */
function movesOfOne(
  base: Batch["base"],
  { set: ofPool, table, usable, steady = usable }: Template,
  claim: PlannedClaim,
  own: readonly PodClass[],
): readonly Omit<Move, "at">[] {
  const { space } = base.context;
  const { requirements, cheapest } = claim;
  const here = setAsPlanned(space, ofPool, requirements);
  // Volumes stay where they are.
  if (here === undefined || own.some(({ hasVolumes }) => hasVolumes)) return [];
  const wanted = [...new Set(own)].map((podClass) => wantedBy(base, podClass, here));
  const all = own.map(({ requests }) => requests).reduce(addResources);
  const types = intersectionOf(table.holding(all), steady);
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

/** What a pod of the class asks of nodes by which it can be on this one. */
function wantedBy({ context, classes }: Batch["base"], podClass: PodClass, here: SetId): SetId {
  for (let step = 0; ; step++) {
    const variant = classes.variant(podClass, step);
    if (variant === undefined) return here;
    if (context.space.join(here, variant.set) !== undefined) return variant.set;
  }
}
