/**
 * When a claim is older than it may be. v1 claims carry their lifetime and end at once (forceful), unless a
 * setting has their expiry respect budgets; alpha and beta claims live by their pool's. Those and these are only
 * marked (voluntary): the disruption loop replaces them first.
 * upstream: pkg/controllers/nodeclaim/expiration/controller.go
 */
import type { Pool } from "../../apis/hub/pool.ts";
import type { NodeClaim } from "../../apis/karpenter/nodeclaim.ts";
import { fromRfc3339 } from "../../base/clock.ts";
import { type NillableMs, parseNillableDuration } from "../../base/duration.ts";
import { fnv64Text } from "../../base/fnv.ts";

export interface Expiry {
  readonly mode: "forceful" | "voluntary";
  readonly atMs: number;
}

/** By the controller's settings. */
export interface ExpiryRules {
  /** How much of its lifetime a claim may lose, each another share by its UID, so that not all of one age end together. */
  readonly spreadPercent: number;
  /** v1 claims, too, are only marked. */
  readonly respectsBudgets: boolean;
}

/** A claim without a pool has nobody to replace it, and a static pool's is made up for once it is gone. */
export function isReplacedFirst(
  pool: Pool | undefined,
  { respectsBudgets }: Pick<ExpiryRules, "respectsBudgets">,
): boolean {
  if (pool === undefined) return false;
  return (
    pool.disruption.expireMode === "voluntary" || (respectsBudgets && pool.replicas === undefined)
  );
}

/** Whether nodes of the pool may ever expire as its budgets allow. */
export function isExpiryBudgeted(pool: Pool, rules: Pick<ExpiryRules, "respectsBudgets">): boolean {
  const { expireMode, expireAfter } = pool.disruption;
  // A v1 claim has a lifetime of its own, whatever its pool says by now.
  const never = expireMode === "voluntary" && expireAfter === "Never";
  return !never && isReplacedFirst(pool, rules);
}

/** Undefined: never. A standalone claim (`pool` undefined) ends forcefully. */
export function expiry(
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

/** Between nothing and the spread; always the same for one claim. */
function earlierMs({ metadata }: NodeClaim, lifetimeMs: number, spreadPercent: number): number {
  if (spreadPercent === 0) return 0;
  // The last bytes of a text only reach the lowest bits.
  const hash = fnv64Text(`${metadata.uid ?? metadata.name}/expiry`) >> 20n;
  const share = Number(hash % 10_000n) / 10_000;
  return Math.floor((lifetimeMs * spreadPercent * share) / 100);
}
