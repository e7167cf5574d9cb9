/**
 * Ends claims that are older than they may be. v1: at once, whatever budgets say. Alpha and beta: marks
 * them Expired; the disruption loop (a later method) replaces them first.
 * upstream: pkg/controllers/nodeclaim/expiration/controller.go
 */
import { poolIdOfClaim } from "../../apis/hub/claim.ts";
import { isTrue, withCondition } from "../../apis/karpenter/conditions.ts";
import { expiry } from "../../core/nodeclaim/expired.ts";
import {
  AWAIT_CHANGE,
  type Controller,
  type Outcome,
  type Request,
  requeueAfter,
} from "../../kube/controller.ts";
import {
  changeClaim,
  claimSources,
  deleteClaim,
  isDeleting,
  isManagedClaim,
  readClaim,
} from "../claims.ts";
import { concurrency } from "../concurrency.ts";
import { poolById } from "../pools.ts";
import { claimLog } from "../words.ts";
import type { World } from "../world.ts";
import { countDisrupted } from "./disrupted.ts";

export function expiration(world: World): Controller {
  return {
    name: "nodeclaim.expiration",
    watches: [...claimSources()],
    concurrency: concurrency(world, 100, 1_000),
    reconcile: (request) => reconcile(world, request),
  };
}

async function reconcile(world: World, request: Request): Promise<Outcome> {
  const claim = readClaim(world, request);
  if (claim === undefined || isDeleting(claim) || !isManagedClaim(world, claim))
    return AWAIT_CHANGE;
  const pool = poolById(world, poolIdOfClaim(claim) ?? "")?.pool;
  const end = expiry(claim, pool);
  if (end === undefined) return AWAIT_CHANGE;
  const nowMs = world.clock.now();
  if (nowMs < end.atMs) return requeueAfter(end.atMs - nowMs);
  const log = claimLog(world.log, "nodeclaim.expiration", claim);
  if (end.mode === "voluntary") {
    if (isTrue(claim, "Expired")) return AWAIT_CHANGE;
    await changeClaim(world, claim, (one) =>
      withCondition(one, { type: "Expired", status: "True" }, nowMs),
    );
    log.debug("marking expired");
    log.warn("replacing expired nodes is not built yet, delete the claim to have it replaced");
    return AWAIT_CHANGE;
  }
  log.debug("deleting expired nodeclaim");
  await deleteClaim(world, claim);
  countDisrupted(world, claim, "expired");
  return AWAIT_CHANGE;
}
