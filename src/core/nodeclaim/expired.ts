/**
 * When a claim is older than it may be. v1 claims carry their lifetime and end at once (forceful); alpha
 * and beta claims live by their pool's and are only marked: the disruption loop replaces them first.
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

/**
 * Undefined: never. A standalone claim (`pool` undefined) ends forcefully. `spreadPercent`: how much of its
 * lifetime a claim may lose, each another share by its UID, so that claims of one age do not end together.
 */
export function expiry(
  claim: NodeClaim,
  pool: Pool | undefined,
  spreadPercent: number,
): Expiry | undefined {
  const mode = pool?.disruption.expireMode ?? "forceful";
  const lifetime: NillableMs =
    mode === "voluntary" && pool !== undefined
      ? pool.disruption.expireAfter
      : (parseNillableDuration(claim.spec.expireAfter ?? "Never") ?? "Never");
  const createdMs = fromRfc3339(claim.metadata.creationTimestamp);
  if (lifetime === "Never" || createdMs === undefined) return undefined;
  return { mode, atMs: createdMs + lifetime - earlierMs(claim, lifetime, spreadPercent) };
}

/** Between nothing and the spread; always the same for one claim. */
function earlierMs({ metadata }: NodeClaim, lifetimeMs: number, spreadPercent: number): number {
  if (spreadPercent === 0) return 0;
  // The last bytes of a text only reach the lowest bits.
  const hash = fnv64Text(`${metadata.uid ?? metadata.name}/expiry`) >> 20n;
  const share = Number(hash % 10_000n) / 10_000;
  return Math.floor((lifetimeMs * spreadPercent * share) / 100);
}
