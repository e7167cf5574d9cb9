/**
 * When a claim expires, and how. Forceful: the claim is deleted at that time. Voluntary: the claim is only marked, and
 * the disruption loop replaces it within budgets. Claims of v1alpha5 and v1beta1 have the lifetime of their pool and
 * expire voluntarily. v1 claims have a lifetime of their own and expire forcefully, unless a setting makes their expiry
 * respect budgets. Claims without a pool, and those of static v1 pools, always expire forcefully.
 * upstream: pkg/controllers/nodeclaim/expiration/controller.go
 */
import { maxRunOf } from "../../apis/core/max-run.ts";
import type { Pool } from "../../apis/hub/pool.ts";
import type { NodeClaim } from "../../apis/karpenter/nodeclaim.ts";
import { fromRfc3339 } from "../../base/clock.ts";
import { type NillableMs, parseNillableDuration } from "../../base/duration.ts";
import { fnv64Text } from "../../base/fnv.ts";

/**
 * When a claim expires. `forceful`: it is deleted then. `voluntary`: the disruption loop replaces it within budgets.
 */
export interface Expiry {
  readonly mode: "forceful" | "voluntary";
  readonly atMs: number;
  /** When a voluntary expiry becomes forceful, without regard to budgets. Absent: never. */
  readonly forcedAtMs?: number;
}

/** The operator's settings for expiry. */
export interface ExpiryRules {
  /**
   * The largest share of its lifetime by which a claim may expire earlier. The real share of each claim is computed
   * from its UID, so claims of the same age do not expire together.
   */
  readonly spreadPercent: number;
  /** Whether v1 claims of pools expire voluntarily, too, except those of static pools. */
  readonly respectsBudgets: boolean;
}

/**
 * Whether the replacement of an expired claim is launched before the claim is deleted. False in these cases:
 * - It is a standalone claim, which no pool replaces.
 * - It is a v1 claim, and their expiry does not respect budgets.
 * - Its pool is a static v1 pool, which replaces its nodes afterwards.
 */
export function isReplacedFirst(
  pool: Pool | undefined,
  { respectsBudgets }: Pick<ExpiryRules, "respectsBudgets">,
): boolean {
  if (pool === undefined) return false;
  return (
    pool.disruption.expireMode === "voluntary" || (respectsBudgets && pool.replicas === undefined)
  );
}

/** Whether the expiry of the pool's nodes respects budgets. */
export function isExpiryBudgeted(pool: Pool, rules: Pick<ExpiryRules, "respectsBudgets">): boolean {
  const { expireMode, expireAfter } = pool.disruption;
  // Claims of v1alpha5 and v1beta1 have the lifetime of their pool: `Never` holds for all of them. A v1 claim has a
  // lifetime of its own, so the pool's current lifetime says nothing about it.
  const never = expireMode === "voluntary" && expireAfter === "Never";
  return !never && isReplacedFirst(pool, rules);
}

/**
 * The end of the maximum run time that pods of the claim request (maxRunOf). Budgets do not delay it. GKE has the same
 * feature (`cloud.google.com/gke-max-run-duration-seconds`).
 */
function maxRunEnd({ metadata: { labels, creationTimestamp } }: NodeClaim): Expiry | undefined {
  const createdMs = fromRfc3339(creationTimestamp);
  const lifetime = maxRunOf(labels);
  if (lifetime === undefined || createdMs === undefined) return undefined;
  return { mode: "forceful", atMs: createdMs + lifetime };
}

/**
 * When the claim expires. Undefined: never. A standalone claim (`pool` undefined) expires forcefully. A claim can have
 * two ends: that of its lifetime, and that of a maximum run time that its pods request. The earlier one counts. If the
 * earlier one is voluntary, the expiry becomes forceful at the later one.
 */
export function expiry(
  claim: NodeClaim,
  pool: Pool | undefined,
  rules: ExpiryRules,
): Expiry | undefined {
  const byPool = lifetimeEnd(claim, pool, rules);
  const byPods = maxRunEnd(claim);
  if (byPool === undefined || byPods === undefined) return byPods ?? byPool;
  if (byPods.atMs <= byPool.atMs) return byPods;
  return byPool.mode === "voluntary" ? { ...byPool, forcedAtMs: byPods.atMs } : byPool;
}

/** Whether the claim must be deleted by now, without regard to budgets. */
export function isForced({ mode, atMs, forcedAtMs }: Expiry, nowMs: number): boolean {
  const forcedMs = mode === "forceful" ? atMs : forcedAtMs;
  return forcedMs !== undefined && forcedMs <= nowMs;
}

function lifetimeEnd(
  claim: NodeClaim,
  pool: Pool | undefined,
  rules: ExpiryRules,
): Expiry | undefined {
  const lifetime: NillableMs =
    pool?.disruption.expireMode === "voluntary"
      ? pool.disruption.expireAfter
      : (parseNillableDuration(claim.spec.expireAfter ?? "Never") ?? "Never");
  const createdMs = fromRfc3339(claim.metadata.creationTimestamp);
  if (lifetime === "Never" || createdMs === undefined) return undefined;
  const atMs = createdMs + lifetime - earlierMs(claim, lifetime, rules.spreadPercent);
  return { mode: isReplacedFirst(pool, rules) ? "voluntary" : "forceful", atMs };
}

/**
 * The number of milliseconds by which the claim expires earlier: between 0 and the spread, always the same for one
 * claim.
 */
function earlierMs({ metadata }: NodeClaim, lifetimeMs: number, spreadPercent: number): number {
  if (spreadPercent === 0) return 0;
  // Texts that differ only at the end have hashes that differ only in low bits, so high bits are used.
  const hash = fnv64Text(`${metadata.uid ?? metadata.name}/expiry`) >> 20n;
  const share = Number(hash % 10_000n) / 10_000;
  return Math.floor((lifetimeMs * spreadPercent * share) / 100);
}
