/**
 * When a claim expires. A v1 claim has its own lifetime. It ends at that time (forceful), unless a setting makes expiry
 * respect budgets. v1alpha5 and v1beta1 claims have their pool's lifetime. They and v1 claims that respect budgets
 * are only marked (voluntary), and the disruption loop replaces them first.
 * upstream: pkg/controllers/nodeclaim/expiration/controller.go
 */
import { maxRunOf } from "../../apis/core/max-run.ts";
import type { Pool } from "../../apis/hub/pool.ts";
import type { NodeClaim } from "../../apis/karpenter/nodeclaim.ts";
import { fromRfc3339 } from "../../base/clock.ts";
import { type NillableMs, parseNillableDuration } from "../../base/duration.ts";
import { fnv64Text } from "../../base/fnv.ts";

/** When a claim expires. Voluntary expiry respects budgets. */
export interface Expiry {
  readonly mode: "forceful" | "voluntary";
  readonly atMs: number;
  /** When a voluntary end is forced, whatever budgets say. Absent: never. */
  readonly forcedAtMs?: number;
}

/** The operator's settings for expiry. */
export interface ExpiryRules {
  /**
   * Largest share of its lifetime by which a claim may end early. Each claim has a share by its UID, so claims of one
   * age do not end together.
   */
  readonly spreadPercent: number;
  /** v1 claims are only marked as well, and the disruption loop replaces them under budgets. */
  readonly respectsBudgets: boolean;
}

/**
 * Whether a replacement is ready before the claim ends. False for a standalone claim, which no pool replaces, and for a
 * static pool, which replaces afterwards.
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

/** Whether budgets apply to the expiry of nodes of the pool. */
export function isExpiryBudgeted(pool: Pool, rules: Pick<ExpiryRules, "respectsBudgets">): boolean {
  const { expireMode, expireAfter } = pool.disruption;
  // A v1 claim has its own lifetime, whatever its pool says now.
  const never = expireMode === "voluntary" && expireAfter === "Never";
  return !never && isReplacedFirst(pool, rules);
}

/**
 * When the claim ends because the pods that it was launched for request a maximum run time. No budget delays this end.
 * GKE has the same (`cloud.google.com/gke-max-run-duration-seconds`).
 */
function maxRunEnd({ metadata: { labels, creationTimestamp } }: NodeClaim): Expiry | undefined {
  const createdMs = fromRfc3339(creationTimestamp);
  const lifetime = maxRunOf(labels);
  if (lifetime === undefined || createdMs === undefined) return undefined;
  return { mode: "forceful", atMs: createdMs + lifetime };
}

/**
 * Undefined: never. A standalone claim (`pool` undefined) ends forcefully. Of two ends the earlier one counts. If
 * budgets can delay the earlier one, the later one is forced.
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

/** Whether the claim ends at this time, whatever budgets say. */
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

/** Milliseconds by which the claim ends early: between 0 and the spread, always the same for one claim. */
function earlierMs({ metadata }: NodeClaim, lifetimeMs: number, spreadPercent: number): number {
  if (spreadPercent === 0) return 0;
  // Texts that differ only at their end give hashes that differ only in their low bits.
  const hash = fnv64Text(`${metadata.uid ?? metadata.name}/expiry`) >> 20n;
  const share = Number(hash % 10_000n) / 10_000;
  return Math.floor((lifetimeMs * spreadPercent * share) / 100);
}
