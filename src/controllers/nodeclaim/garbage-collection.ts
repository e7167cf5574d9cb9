/**
 * Sweeps up what has lost its other half: claims whose instance is gone, every two minutes; instances
 * that no claim names, more often at first, because a crash between launch and status leaves them.
 * upstream: pkg/controllers/nodeclaim/garbagecollection (core), and the AWS provider's of that name
 */

import { NODE } from "../../apis/core/node.ts";
import { claimGeneration } from "../../apis/hub/claim.ts";
import { vocabulary } from "../../apis/hub/generation.ts";
import type { NodeClaim } from "../../apis/karpenter/nodeclaim.ts";
import type { Logger } from "../../base/log.ts";
import { eachInSteps, filterInSteps, inTurns, type Steps, TURN_MS } from "../../base/steps.ts";
import { isStillOrphan, leakedInstances, orphanedClaims } from "../../core/nodeclaim/garbage.ts";
import { isNotFound } from "../../kube/errors.ts";
import { type Controller, type Outcome, requeueAfter } from "../../kube/manager/controller.ts";
import {
  claimRequest,
  claimsByProviderId,
  deleteClaim,
  isManagedClaim,
  listClaimsInSteps,
  readClaim,
} from "../claims.ts";
import { endInstance, instanceExists } from "../instance.ts";
import { nodes } from "../mirrors.ts";
import { claimLog } from "../words.ts";
import type { World } from "../world.ts";
import { countDisrupted } from "./disrupted.ts";

/** That are only looked at. */
const CLAIMS_PER_STEP = 1_024;
const SWEEP_MS = 120_000;
/** The first sweeps for leaked instances come sooner. */
const EARLY_SWEEP_MS = 10_000;
const EARLY_SWEEPS = 20;

/** `nodeclaim.garbagecollection`: claims without an instance. */
export function claimGarbageCollection(world: World): Controller {
  return {
    name: "nodeclaim.garbagecollection",
    watches: [],
    concurrency: 1,
    initialRequests: [{ kind: "", name: "garbage" }],
    reconcile: async (): Promise<Outcome> => {
      const instances = await world.cloud.list();
      const { found, listed } = await inTurns(world.clock, orphans(world, instances), TURN_MS);
      for (const claim of found) {
        const providerId = claim.status?.providerID ?? "";
        const log = claimLog(world.log, "nodeclaim.garbagecollection", claim);
        if (!listed.has(providerId) && (await mayBeThere(world, providerId, log))) continue;
        const there = nodes(world).byIndex("providerId", providerId);
        // Looking took its time, and so did the deletions before.
        if (!isStillOrphan(claim, readClaim(world, claimRequest(claim)), there)) continue;
        await deleteClaim(world, claim);
        const noun = vocabulary(claimGeneration(claim)).claimNoun;
        log.debug(`garbage collecting ${noun} with no cloudprovider representation`, {
          "provider-id": providerId,
        });
        countDisrupted(world, claim, "garbage_collected");
      }
      return requeueAfter(SWEEP_MS);
    },
  };
}

/** Claims that have lost their instance, and what the cloud lists at all. */
function* orphans(
  world: World,
  instances: readonly NodeClaim[],
): Steps<{ readonly found: readonly NodeClaim[]; readonly listed: ReadonlySet<string> }> {
  const nowMs = world.clock.now();
  const all = yield* listClaimsInSteps(world);
  const claims = yield* filterInSteps(all, CLAIMS_PER_STEP, (one) => isManagedClaim(world, one));
  const input = { nowMs, claims, nodes: nodes(world).list(), instances };
  const found = yield* orphanedClaims(input);
  const listed = new Set<string>();
  if (found.length > 0)
    yield* eachInSteps(instances, CLAIMS_PER_STEP, ({ status }) =>
      listed.add(status?.providerID ?? ""),
    );
  return { found, listed };
}

/** A list that lacks it is not enough: of an impaired zone, say, the cloud may not tell. */
async function mayBeThere(
  world: Pick<World, "cloud">,
  providerId: string,
  log: Logger,
): Promise<boolean> {
  try {
    return await instanceExists(world, providerId);
  } catch (error) {
    log.debug("not garbage collected, whether its instance is there cannot be told", {
      "provider-id": providerId,
      error: String(error),
    });
    return true;
  }
}

/** `instance.garbagecollection`: instances without a claim, with the Node they may have. */
export function instanceGarbageCollection(world: World): Controller {
  let sweeps = 0;
  return {
    name: "instance.garbagecollection",
    watches: [],
    concurrency: 1,
    initialRequests: [{ kind: "", name: "garbage" }],
    reconcile: async (): Promise<Outcome> => {
      // The cloud first: a claim stored meanwhile is then seen.
      const instances = await world.cloud.list();
      for (const instance of await inTurns(world.clock, leaks(world, instances), TURN_MS))
        if (!isClaimed(world, instance)) await endLeaked(world, instance);
      return requeueAfter(++sweeps <= EARLY_SWEEPS ? EARLY_SWEEP_MS : SWEEP_MS);
    },
  };
}

function* leaks(world: World, instances: readonly NodeClaim[]): Steps<readonly NodeClaim[]> {
  const nowMs = world.clock.now();
  const all = yield* listClaimsInSteps(world);
  const claims = yield* filterInSteps(all, CLAIMS_PER_STEP, (one) => mayName(world, one));
  return yield* leakedInstances({ nowMs, claims, nodes: [], instances });
}

/** By now: looking took its time. */
function isClaimed(world: World, { status }: NodeClaim): boolean {
  return claimsByProviderId(world, status?.providerID ?? "").length > 0;
}

/** A claim that has no instance and is another provider's, or nobody's, never gets one of ours. */
function mayName(world: World, claim: NodeClaim): boolean {
  return Boolean(claim.status?.providerID) || isManagedClaim(world, claim);
}

async function endLeaked(world: World, instance: NodeClaim): Promise<void> {
  const providerId = instance.status?.providerID ?? "";
  await endInstance(world, instance, []);
  world.log
    .with({ controller: "instance.garbagecollection" })
    .debug("garbage collected cloudprovider instance", { "provider-id": providerId });
  for (const { metadata } of nodes(world).byIndex("providerId", providerId)) {
    try {
      await world.kube.delete(NODE, { name: metadata.name });
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }
}
