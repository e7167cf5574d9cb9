/**
 * Deletes claims that are older than their lifetime. Claims of v1, and of v0.5 with its TTL, are deleted at once,
 * without regard to budgets. Claims of v1alpha5 and v1beta1, and by a setting also those of v1, get the condition
 * Expired, and the disruption loop replaces them within budgets.
 * upstream: pkg/controllers/nodeclaim/expiration/controller.go
 */
import { claimGeneration, poolIdOfClaim } from "../../apis/hub/claim.ts";
import { isTrue, withCondition, withoutCondition } from "../../apis/karpenter/conditions.ts";
import { createdAtMs } from "../../apis/meta.ts";
import { formatDuration } from "../../base/duration.ts";
import { type Expiry, expiry, isForced } from "../../core/nodeclaim/expired.ts";
import {
  AWAIT_CHANGE,
  type Controller,
  type Outcome,
  type Request,
  requeueAfter,
} from "../../kube/manager/controller.ts";
import {
  changeClaim,
  claimSources,
  isDeleting,
  isManagedClaim,
  poolSourcesForClaims,
  readClaim,
} from "../claims.ts";
import { concurrency } from "../concurrency.ts";
import { terminating } from "../disruption/events.ts";
import { deleteClaim } from "../ending/delete-claim.ts";
import { HELD_RETRY_MS } from "../ending/ended.ts";
import { earlierNow } from "../ending/two-clocks.ts";
import { nodes } from "../mirrors.ts";
import { poolById } from "../pools.ts";
import { claimLog, speaksV05 } from "../words.ts";
import type { World } from "../world.ts";
import { countDisrupted } from "./disrupted.ts";

/** The controller that deletes claims older than `expireAfter`. upstream: pkg/controllers/nodeclaim/expiration. */
export function expiration(world: World): Controller {
  return {
    name: "nodeclaim.expiration",
    watches: [...claimSources(), ...poolSourcesForClaims(world)],
    concurrency: concurrency(world, 100, 1_000),
    reconcile: (request) => reconcile(world, request),
  };
}

async function reconcile(world: World, request: Request): Promise<Outcome> {
  const claim = readClaim(world, request);
  if (claim === undefined || isDeleting(claim) || !isManagedClaim(world, claim))
    return AWAIT_CHANGE;
  const pool = poolById(world, poolIdOfClaim(claim) ?? "")?.pool;
  const end = expiry(claim, pool, world.settings.expiry);
  const nowMs = earlierNow(world);
  if (end === undefined || nowMs < end.atMs) {
    // The pool's `expireAfter` may have been raised after the claim expired.
    if (isTrue(claim, "Expired"))
      await changeClaim(world, claim, (one) => withoutCondition(one, "Expired"));
    return end === undefined ? AWAIT_CHANGE : requeueAfter(end.atMs - nowMs);
  }
  const log = claimLog(world.log, "nodeclaim.expiration", claim);
  if (!isForced(end, nowMs) && !speaksV05(claim)) {
    const { forcedAtMs } = end;
    const next = forcedAtMs === undefined ? AWAIT_CHANGE : requeueAfter(forcedAtMs - nowMs);
    if (isTrue(claim, "Expired")) return next;
    await changeClaim(world, claim, (one) =>
      withCondition(one, { type: "Expired", status: "True" }, nowMs),
    );
    log.debug("marking expired");
    return next;
  }
  const ended = await deleteClaim(world, claim, "expired", {
    stillHolds: (live) => isDue(expiry(live, pool, world.settings.expiry), earlierNow(world)),
  });
  if (ended !== "ended") return requeueAfter(HELD_RETRY_MS);
  if (speaksV05(claim)) {
    const after = formatDuration(end.atMs - createdAtMs(claim));
    const over = formatDuration(nowMs - end.atMs);
    world.log
      .with({ controller: "node" })
      .info(`Triggering termination for expired node after ${after} (+${over})`, {
        node: claim.status?.nodeName ?? "",
      });
  } else {
    log.debug("deleting expired nodeclaim");
    const there = nodes(world).byIndex("providerId", claim.status?.providerID ?? "");
    world.events.publish(...terminating([...there, claim], claimGeneration(claim), "Expired"));
  }
  countDisrupted(world, claim, "expired");
  // If the claim stays as it was, for example after a restore of etcd, it is deleted again.
  return requeueAfter(HELD_RETRY_MS);
}

function isDue(end: Expiry | undefined, nowMs: number): boolean {
  return end !== undefined && end.atMs <= nowMs;
}
