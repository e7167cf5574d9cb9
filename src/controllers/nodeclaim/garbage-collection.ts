/**
 * Every two minutes, deletes claims whose instance is gone, and terminates instances that no claim names. After a
 * start, such instances are searched more often: a process that crashes between a launch and the write of the claim's
 * status leaves them behind.
 * upstream: pkg/controllers/nodeclaim/garbagecollection (core), and the AWS provider's controller of that name
 */

import type { Node } from "../../apis/core/node.ts";
import {
  CLAIM_KINDS,
  claimGeneration,
  poolIdOfClaim,
  poolIdOfLabels,
  toClaim,
} from "../../apis/hub/claim.ts";
import { vocabulary } from "../../apis/hub/generation.ts";
import { PROVISIONER_NAME_LABEL_KEY } from "../../apis/karpenter/labels.ts";
import type { NodeClaim } from "../../apis/karpenter/nodeclaim.ts";
import type { Kind } from "../../apis/meta.ts";
import type { Logger } from "../../base/log.ts";
import { eachInSteps, filterInSteps, inTurns, type Steps, TURN_MS } from "../../base/steps.ts";
import {
  isStillOrphan,
  LEAK_GRACE_MS,
  leakedInstances,
  orphanedClaims,
} from "../../core/nodeclaim/garbage.ts";
import { tryEach } from "../../kube/errors.ts";
import { type Controller, type Outcome, requeueAfter } from "../../kube/manager/controller.ts";
import { claimsByProviderId, isDeleting, isManagedClaim, listClaimsInSteps } from "../claims.ts";
import { deleteClaim } from "../ending/delete-claim.ts";
import { endLeaked, type Fate, fateOf } from "../ending/end-instance.ts";
import { allNodes, namedNodes, standsFor } from "../ending/live-reads.ts";
import { tellSlowLeak } from "../ending/slow-end.ts";
import { nodes } from "../mirrors.ts";
import { claimLog } from "../words.ts";
import type { World } from "../world.ts";
import { countDisrupted } from "./disrupted.ts";

const CLAIMS_PER_STEP = 1_024;
const SWEEP_MS = 120_000;
/** Milliseconds between the first searches for leaked instances. */
const EARLY_SWEEP_MS = 10_000;
const EARLY_SWEEPS = 20;

/** The controller `nodeclaim.garbagecollection`, which deletes claims without an instance. */
export function claimGarbageCollection(world: World): Controller {
  return {
    name: "nodeclaim.garbagecollection",
    watches: [],
    concurrency: 1,
    initialRequests: [{ kind: "", name: "garbage" }],
    reconcile: async (): Promise<Outcome> => {
      const instances = await world.cloud.list();
      const { found, listed } = await inTurns(world.clock, orphans(world, instances), TURN_MS);
      await tryEach(found, (claim) => collect(world, claim, listed));
      return requeueAfter(SWEEP_MS);
    },
  };
}

/** Deletes a claim if the cloud does not find its instance by id either. */
async function collect(world: World, claim: NodeClaim, listed: ReadonlySet<string>): Promise<void> {
  const providerId = claim.status?.providerID ?? "";
  const log = claimLog(world.log, "nodeclaim.garbagecollection", claim);
  // An instance that the cloud still lists here is shutting down.
  const fate = listed.has(providerId) ? "ended" : await fateOrThere(world, providerId, log);
  if (fate === "there") return;
  const ended = await deleteClaim(world, claim, "instanceGone", {
    stillHolds: async (live) => isStillOrphan(claim, live, await nodesNow(world, live)),
    isProvenGone: fate === "ended",
  });
  if (ended !== "ended") return;
  const noun = vocabulary(claimGeneration(claim)).claimNoun;
  log.debug(`garbage collecting ${noun} with no cloudprovider representation`, {
    "provider-id": providerId,
  });
  countDisrupted(world, claim, "garbage_collected");
}

/**
 * The Nodes of the claim, read from the API server: those of its instance and those that it owns. So Nodes are found
 * that this process has never seen. If somebody has changed the provider id in the claim's status, the Node that the
 * claim owns is found, too.
 */
async function nodesNow(world: World, { metadata, status }: NodeClaim): Promise<readonly Node[]> {
  const providerId = status?.providerID ?? "";
  const seen = nodes(world).byIndex("providerId", providerId);
  const names = [...seen.map(({ metadata: { name } }) => name), status?.nodeName];
  const named = await namedNodes(world, providerId, names);
  const isOwn = (node: Node) =>
    standsFor(node, providerId) ||
    (node.metadata.ownerReferences ?? []).some(({ uid }) => uid === metadata.uid);
  return [...named, ...(await allNodes(world)).filter(isOwn)];
}

/** Claims without an instance, and the ids of all instances that the cloud lists. */
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

/**
 * Asks the cloud for one instance by id, because a list that lacks the instance is no proof. If the cloud cannot
 * answer, as for an impaired zone, the instance counts as existing.
 */
async function fateOrThere(
  world: Pick<World, "cloud">,
  providerId: string,
  log: Logger,
): Promise<Fate> {
  try {
    return await fateOf(world, providerId);
  } catch (error) {
    log.debug("not garbage collected, whether its instance is there cannot be told", {
      "provider-id": providerId,
      error: String(error),
    });
    return "there";
  }
}

/** The controller `instance.garbagecollection`, which terminates instances without a claim and deletes their Nodes. */
export function instanceGarbageCollection(world: World): Controller {
  let sweeps = 0;
  /** Instances without a claim, by provider id. */
  const seen = new Map<string, Suspect>();
  return {
    name: "instance.garbagecollection",
    watches: [],
    concurrency: 1,
    initialRequests: [{ kind: "", name: "garbage" }],
    reconcile: async (): Promise<Outcome> => {
      // The cloud is listed first, so that a claim stored during the call is seen.
      const instances = await world.cloud.list();
      const mirrored = listClaimsInSteps(world);
      const suspects = await inTurns(world.clock, leaks(world, instances, mirrored), TURN_MS);
      const ripe = ripeOf(suspects, seen, {
        nowMs: world.clock.elapsedMs(),
        waiting: suspects.length === 0 ? [] : await waitingClaims(world),
      });
      if (ripe.length > 0) await endAll(world, ripe);
      return requeueAfter(++sweeps <= EARLY_SWEEPS ? EARLY_SWEEP_MS : SWEEP_MS);
    },
  };
}

/** An instance that no claim names. */
interface Suspect {
  /** When the instance was first seen without a claim, by the monotonic clock. */
  readonly sinceMs: number;
  /** UIDs of claims of its pool that had no instance at that time. One of them may have launched it. */
  readonly waited: ReadonlySet<string>;
}

/**
 * Instances that have been without a claim for long enough, by the monotonic clock, because the wall clock may jump.
 * Each claim that may have launched the instance must have one of its own, or be gone. The launch time alone proves
 * nothing, because the cloud's clock may be wrong.
 */
function ripeOf(
  suspects: readonly NodeClaim[],
  seen: Map<string, Suspect>,
  { nowMs, waiting }: { readonly nowMs: number; readonly waiting: readonly NodeClaim[] },
): readonly NodeClaim[] {
  const ids = new Set(suspects.map(idOf));
  for (const id of seen.keys()) if (!ids.has(id)) seen.delete(id);
  const uids = new Set(waiting.map(uidOf));
  return suspects.filter((one) => {
    const pool = poolIdOfLabels(one.metadata.labels);
    const known = seen.get(idOf(one)) ?? {
      sinceMs: nowMs,
      waited: new Set(waiting.filter((claim) => poolIdOfClaim(claim) === pool).map(uidOf)),
    };
    seen.set(idOf(one), known);
    const isLong = nowMs - known.sinceMs >= LEAK_GRACE_MS;
    return isLong && ![...known.waited].some((uid) => uids.has(uid));
  });
}

/** Claims of this provider that have no instance yet. */
async function waitingClaims(world: World): Promise<readonly NodeClaim[]> {
  const claims = await inTurns(world.clock, listClaimsInSteps(world), TURN_MS);
  return claims.filter(
    (one) => !one.status?.providerID && !isDeleting(one) && isManagedClaim(world, one),
  );
}

function uidOf({ metadata }: NodeClaim): string {
  return metadata.uid ?? metadata.name;
}

/**
 * Terminates the instances that no claim on the API server names. Rejects if claims cannot be listed, so that nothing
 * is terminated.
 */
async function endAll(world: World, ripe: readonly NodeClaim[]): Promise<void> {
  await tryEach(CLAIM_KINDS, async (kind) => {
    const suspects = ripe.filter((one) => claimKindOf(one) === kind);
    if (suspects.length === 0) return;
    const live = (await world.kube.list(kind)).items.map(toClaim);
    const leaked = await inTurns(world.clock, leaks(world, suspects, always(live)), TURN_MS);
    await tryEach(leaked, async (instance) => {
      // The search took time, so a claim may name the instance by now.
      if (claimsByProviderId(world, idOf(instance)).length === 0) await endOne(world, instance);
    });
  });
}

function* leaks(
  world: World,
  instances: readonly NodeClaim[],
  claims: Steps<readonly NodeClaim[]>,
): Steps<readonly NodeClaim[]> {
  const nowMs = world.clock.now();
  const all = yield* claims;
  const naming = yield* filterInSteps(all, CLAIMS_PER_STEP, (one) => mayName(world, one));
  return yield* leakedInstances({ nowMs, claims: naming, nodes: [], instances });
}

// biome-ignore lint/correctness/useYield: nothing is left to do
function* always<T>(value: T): Steps<T> {
  return value;
}

function idOf({ status }: NodeClaim): string {
  return status?.providerID ?? "";
}

/** The kind of the claim for which an instance was launched, read from its tags. */
function claimKindOf({ metadata }: NodeClaim): Kind {
  const name =
    metadata.labels?.[PROVISIONER_NAME_LABEL_KEY] === undefined ? "NodeClaim" : "Machine";
  return CLAIM_KINDS.find(({ kind }) => kind === name) as Kind;
}

/** Whether the claim may name an instance: it has a provider id, or will get one from this provider. */
function mayName(world: World, claim: NodeClaim): boolean {
  return Boolean(claim.status?.providerID) || isManagedClaim(world, claim);
}

async function endOne(world: World, instance: NodeClaim): Promise<void> {
  const { kind } = claimKindOf(instance);
  if ((await endLeaked(world, { ...instance, kind })) !== "ended") return;
  tellSlowLeak(world, instance);
  world.log
    .with({ controller: "instance.garbagecollection" })
    .debug("garbage collected cloudprovider instance", { "provider-id": idOf(instance) });
}
