/**
 * When a claim is older than it may be. v1 claims carry their lifetime and end at once (forceful); alpha
 * and beta claims live by their pool's and are only marked: the disruption loop replaces them first.
 * upstream: pkg/controllers/nodeclaim/expiration/controller.go
 */
import type { Pool } from "../../apis/hub/pool.ts";
import type { NodeClaim } from "../../apis/karpenter/nodeclaim.ts";
import { fromRfc3339 } from "../../base/clock.ts";
import { type NillableMs, parseNillableDuration } from "../../base/duration.ts";

export interface Expiry {
  readonly mode: "forceful" | "voluntary";
  readonly atMs: number;
}

/** Undefined: never. A standalone claim (`pool` undefined) ends forcefully. */
export function expiry(claim: NodeClaim, pool: Pool | undefined): Expiry | undefined {
  const mode = pool?.disruption.expireMode ?? "forceful";
  const lifetime: NillableMs =
    mode === "voluntary" && pool !== undefined
      ? pool.disruption.expireAfter
      : (parseNillableDuration(claim.spec.expireAfter ?? "Never") ?? "Never");
  const createdMs = fromRfc3339(claim.metadata.creationTimestamp);
  if (lifetime === "Never" || createdMs === undefined) return undefined;
  return { mode, atMs: createdMs + lifetime };
}
