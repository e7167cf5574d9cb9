/**
 * Ways to raise a pool's limits so that pods get a place. How much a limit must be raised cannot be read from a plan
 * without limits. There a planned node counts as its cheapest type. With limits and minValues, it counts as its largest
 * type at first, and less when pods narrow its types. So this file proposes several amounts.
 */
import type { Pool } from "../../../apis/hub/pool.ts";
import type { Resources } from "../../../apis/resources.ts";
import type { Template } from "../../provisioning/pools/pool-template.ts";
import type { PlannedClaim } from "../../provisioning/result.ts";
import { hasBit } from "../../scheduling/bits.ts";
import type { Edit } from "./edits.ts";

type Raised = Extract<Edit, { readonly change: "limit" }>;

/** The facts that are compared with the limits of one pool. */
export interface LimitFacts {
  readonly pool: Pool;
  /** Capacity of the pool's nodes and claims, those in flight included. */
  readonly usage: Resources;
  /** The largest capacity of one node of the pool, by resource. */
  readonly largest: Resources;
  /** Number of pods of the batch. The pool gets at most one new node for each pod. */
  readonly pods: number;
}

/** The largest amount of each resource among the types that the pool may use. */
export function largestOf({ table, usable }: Template): Resources {
  const largest: Record<string, number> = { nodes: 1 };
  for (const [index, { capacity }] of table.types.entries()) {
    if (!hasBit(usable, index)) continue;
    for (const [name, amount] of Object.entries(capacity))
      largest[name] = Math.max(largest[name] ?? 0, amount);
  }
  return largest;
}

/**
 * Ways to raise the limits that `claims` exceed. `claims`: the claims of a plan without limits. One group of ways
 * raises all exceeded limits: to the sum of the cheapest types, of the largest type of each claim, or of the pool's
 * largest type. Another group raises only one or two of them, so high that they have no effect. The plan may then use
 * more and smaller nodes within the other limits.
 */
export function limitWays(counted: LimitFacts, claims: readonly PlannedClaim[]): Edit[][] {
  const { pool, usage, largest, pods } = counted;
  const raisedTo = (added: (name: string) => number): Raised[] =>
    Object.keys(pool.limits)
      .sort()
      .flatMap((resource) => {
        const from = pool.limits[resource] as number;
        const to = (usage[resource] ?? 0) + added(resource);
        return to > from
          ? [{ on: "pool", poolId: pool.id, change: "limit", resource, from, to }]
          : [];
      });
  const own = claims.filter((claim) => claim.pool.id === pool.id);
  const far = raisedTo((name) => pods * (largest[name] ?? 0));
  return [
    raisedTo((name) => sumOf(own, ([cheapest = 0]) => cheapest, name)),
    raisedTo((name) => sumOf(own, mostOf, name)),
    raisedTo((name) => own.length * (largest[name] ?? 0)),
    ...(far.length > 1 ? far.map((edit) => [edit]) : []),
    ...(far.length > 2 ? pairsOf(far) : []),
  ].filter((way) => way.length > 0);
}

/**
 * The same edits with lower limits, in one or two variants, the lowest first. `claims`: the claims of the plan with
 * these edits, which show how much is needed. Limits that were tried are mostly far too high, so the search for the
 * smallest fix starts here.
 */
export function fittedLimits(
  edits: readonly Edit[],
  countedOf: (poolId: string) => LimitFacts,
  claims: readonly PlannedClaim[],
): (readonly Edit[])[] {
  const fitted = (added: (own: readonly PlannedClaim[], name: string, most: number) => number) =>
    edits.map((edit) => {
      if (edit.change !== "limit") return edit;
      const { poolId, resource, from, to } = edit;
      const { usage, largest } = countedOf(poolId);
      const own = claims.filter(({ pool }) => pool.id === poolId);
      const least = (usage[resource] ?? 0) + added(own, resource, largest[resource] ?? 0);
      return least > from && least < to ? { ...edit, to: least } : edit;
    });
  const ways = [
    fitted((own, name) => sumOf(own, mostOf, name)),
    fitted((own, _, most) => own.length * most),
  ];
  return ways.filter((way) => way.some((edit, at) => edit !== edits[at]));
}

/** The sum of `pick` over all claims. `pick` gets the amounts of a claim's types, cheapest type first. */
function sumOf(
  claims: readonly PlannedClaim[],
  pick: (amounts: readonly number[]) => number,
  name: string,
): number {
  return claims.reduce((sum, { instanceTypes }) => {
    const amounts = instanceTypes.map(({ capacity }) =>
      name === "nodes" ? 1 : (capacity[name] ?? 0),
    );
    return sum + pick(amounts);
  }, 0);
}

function mostOf(amounts: readonly number[]): number {
  return Math.max(0, ...amounts);
}

function pairsOf<T>(all: readonly T[]): T[][] {
  return all.flatMap((one, at) => all.slice(at + 1).map((other) => [one, other]));
}
