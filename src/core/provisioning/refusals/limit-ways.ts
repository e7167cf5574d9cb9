/**
 * How the limits of a pool could be raised for pods that they keep out. A planned node counts as its cheapest type; with
 * minValues it counts as the largest type that it may be when it is opened, and later pods make it smaller. So besides
 * the amounts that a plan without limits ends up with there are amounts that no such plan can reach.
 */
import type { Pool } from "../../../apis/hub/pool.ts";
import type { Resources } from "../../../apis/resources.ts";
import { hasBit } from "../../scheduling/bits.ts";
import type { Template } from "../pools/pool-template.ts";
import type { PlannedClaim } from "../result.ts";
import type { Edit } from "./edits.ts";

type Raised = Extract<Edit, { readonly change: "limit" }>;

/** What the limits of one pool are held against. */
export interface Counted {
  readonly pool: Pool;
  /** What its nodes count that are there, or on their way. */
  readonly usage: Resources;
  /** The largest amounts that one of its nodes may count. */
  readonly largest: Resources;
  /** As many nodes it may get at most: each takes a pod. */
  readonly pods: number;
}

/** The largest of each resource among the types that the pool may use. */
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
 * All that bind in the plan without limits (`claims`): as high as its cheapest types need, as any of its types, or as so
 * many of the largest. Of several also one alone, or two, so high that they bind no plan: on the nodes that the
 * others leave, which may be more of smaller ones, pods may find room, and keep the rules about each other.
 */
export function limitWays(counted: Counted, claims: readonly PlannedClaim[]): Edit[][] {
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
 * The edits with limits no higher than what nodes come to in the plan that they make (`claims`), and than what so many
 * could: it is as well to begin there, for most of what was tried is far more. The lower first.
 */
export function fittedLimits(
  edits: readonly Edit[],
  countedOf: (poolId: string) => Counted,
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

/** Of each node what `pick` takes of its types' amounts, cheapest first. */
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
