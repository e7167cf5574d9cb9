/** All outcomes of a plan that leaves open the zone, the capacity type, or the value of a custom label of its nodes. */
import type { Json } from "../validator/kubernetes.ts";
import { type Outcome, outcomesOf } from "../validator/places.ts";
import type { Scenario } from "../validator/validate.ts";
import type { Promised } from "./scheduler.ts";

type Claim = Promised["newNodeClaims"][number];

const KEYS = ["topology.kubernetes.io/zone", "karpenter.sh/capacity-type"] as const;

/** One plan for each choice of zone and capacity type. Undefined: there are more than `most`. */
export function settledPlans(
  { manifests, instanceTypes }: Scenario,
  plan: Promised,
  most: number,
): readonly Promised[] | undefined {
  return everyWay(plan, most, (claim) => {
    const pool = manifests.find(
      ({ kind, metadata }) => kind === "NodePool" && metadata.name === claim.nodePool,
    );
    const types = instanceTypes.filter(({ name }) => claim.instanceTypes.includes(name));
    return waysOf(claim, outcomesOf(pool, claim.requirements, types));
  });
}

/** One plan for each choice of values of custom labels. Undefined: there are more than `most`. */
export function labelledPlans(
  { instanceTypes }: Scenario,
  plan: Promised,
  most: number,
): readonly Promised[] | undefined {
  const known = new Set([
    ...KEYS,
    ...instanceTypes.flatMap(({ labels = {} }) => Object.keys(labels)),
  ]);
  return everyWay(plan, most, (claim) =>
    claim.requirements.reduce<readonly Claim[]>(
      (ways, { key, operator, values = [] }) =>
        operator !== "In" || known.has(key)
          ? ways
          : ways.flatMap((way) => valued(way, key, values)),
      [claim],
    ),
  );
}

function valued(claim: Claim, key: string, values: readonly string[]): readonly Claim[] {
  return values.map((value) => ({
    ...claim,
    requirements: [...claim.requirements, { key, operator: "In", values: [value] }],
  }));
}

function everyWay(
  plan: Promised,
  most: number,
  waysOfOne: (claim: Claim) => readonly Claim[],
): readonly Promised[] | undefined {
  let plans: readonly (readonly Claim[])[] = [[]];
  for (const claim of plan.newNodeClaims) {
    const ways = waysOfOne(claim);
    plans = plans.flatMap((claims) => ways.map((way) => [...claims, way]));
    if (plans.length > most) return undefined;
  }
  return plans.map((newNodeClaims) => ({ ...plan, newNodeClaims }));
}

/** The cheapest offering of each zone and capacity type. */
function waysOf(claim: Claim, outcomes: readonly Outcome[]): readonly Claim[] {
  const ways = new Map<string, Claim>();
  for (const one of outcomes.toSorted((a, b) => a.priceMicroUsd - b.priceMicroUsd)) {
    const [zone = "", capacityType = ""] = KEYS.map((key) => one.labels[key]);
    const name = `${zone} ${capacityType}`;
    if (ways.has(name)) continue;
    const settled = KEYS.map((key): Json => ({ key, operator: "In", values: [one.labels[key]] }));
    ways.set(name, {
      ...claim,
      requirements: [...claim.requirements, ...settled],
      cheapest: {
        instanceType: one.instanceType,
        zone,
        capacityType,
        priceMicroUsdPerHour: one.priceMicroUsd,
      },
    } as Claim);
  }
  return [...ways.values()];
}
