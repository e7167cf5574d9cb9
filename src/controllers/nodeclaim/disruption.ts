/**
 * Updates the conditions that voluntary disruption reads: `Consolidatable` of v1 claims, `Empty` of v1alpha5 and
 * v1beta1 claims, `Drifted` of all. Runs when the claim, its pool, its class, its node or pods there change.
 * upstream: pkg/controllers/nodeclaim/disruption/controller.go
 */
import { NODE } from "../../apis/core/node.ts";
import { POD, type Pod } from "../../apis/core/pod.ts";
import { claimGeneration, poolIdOfClaim } from "../../apis/hub/claim.ts";
import type { Pool } from "../../apis/hub/pool.ts";
import { condition, withCondition, withoutCondition } from "../../apis/karpenter/conditions.ts";
import { EMPTINESS_TIMESTAMP_ANNOTATION_KEY } from "../../apis/karpenter/labels.ts";
import type { NodeClaim } from "../../apis/karpenter/nodeclaim.ts";
import { toRfc3339 } from "../../base/clock.ts";
import { type ConditionVerdict, consolidatable, empty } from "../../core/nodeclaim/empty.ts";
import { patchObject } from "../../kube/client/patch-object.ts";
import {
  AWAIT_CHANGE,
  type Controller,
  type Outcome,
  type Request,
  soonest,
  source,
} from "../../kube/manager/controller.ts";
import {
  changeClaim,
  claimOfNode,
  claimRequest,
  claimRequestsOfNode,
  claimSources,
  classSourcesForClaims,
  isDeleting,
  isManagedClaim,
  poolSourcesForClaims,
  readClaim,
} from "../claims.ts";
import { concurrency } from "../concurrency.ts";
import { earlierNow } from "../ending/two-clocks.ts";
import { nodes } from "../mirrors.ts";
import { poolById } from "../pools.ts";
import { claimLog, speaksV05 } from "../words.ts";
import type { World } from "../world.ts";
import { createDriftCheck, type DriftCheck } from "./drift.ts";

/**
 * The controller that updates the conditions Drifted, Consolidatable and Empty of claims.
 * upstream: pkg/controllers/nodeclaim/disruption.
 */
export function nodeClaimDisruption(world: World): Controller {
  const drift = createDriftCheck(world);
  return {
    name: "nodeclaim.disruption",
    watches: [
      ...claimSources(),
      source(NODE, claimRequestsOfNode(world)),
      source(POD, (pod, event, before) => requestsOfPod(world, pod, event, before)),
      ...poolSourcesForClaims(world),
      ...classSourcesForClaims(world),
    ],
    concurrency: concurrency(world, 100, 1_000),
    reconcile: (request) => reconcile(world, drift, request),
  };
}

/**
 * Requests for the claims of the pod's node, if the node may become empty or stop being empty. That is so if a pod is
 * bound, finishes or is deleted. v1 uses lastPodEventTime instead.
 */
function requestsOfPod(
  world: World,
  pod: Pod,
  event: string,
  before: Pod | undefined,
): readonly Request[] {
  const nodeName = pod.spec.nodeName;
  const same =
    event === "updated" &&
    before?.spec.nodeName === nodeName &&
    before?.status?.phase === pod.status?.phase &&
    before?.metadata.deletionTimestamp === pod.metadata.deletionTimestamp;
  const node = nodeName === undefined || same ? undefined : nodes(world).get(nodeName);
  const claim = node === undefined ? undefined : claimOfNode(world, node);
  return claim === undefined || claimGeneration(claim) === "v1" ? [] : [claimRequest(claim)];
}

async function reconcile(world: World, drift: DriftCheck, request: Request): Promise<Outcome> {
  const claim = readClaim(world, request);
  if (claim === undefined || isDeleting(claim) || !isManagedClaim(world, claim)) {
    drift.forget(request);
    return AWAIT_CHANGE;
  }
  const pool = poolById(world, poolIdOfClaim(claim) ?? "")?.pool;
  if (pool === undefined) return AWAIT_CHANGE;
  const quiet = await keepQuiet(world, claim, pool);
  // The claim as it is after the write above.
  const latest = readClaim(world, request);
  return latest === undefined ? quiet : soonest(quiet, await drift.check(latest, pool));
}

/** Updates the condition Consolidatable or Empty, whichever the claim's API version has. */
async function keepQuiet(world: World, claim: NodeClaim, pool: Pool): Promise<Outcome> {
  if (claimGeneration(claim) === "v1") {
    const verdict = consolidatable(claim, pool, earlierNow(world));
    return settle(world, claim, "Consolidatable", verdict);
  }
  const view = world.cluster.nodeOfInstance(claim.status?.providerID ?? "");
  return settle(world, claim, "Empty", empty(claim, pool, view));
}

async function settle(
  world: World,
  claim: NodeClaim,
  type: "Consolidatable" | "Empty",
  verdict: ConditionVerdict,
): Promise<Outcome> {
  const log = claimLog(world.log, "nodeclaim.disruption", claim);
  const set = condition(claim, type)?.status === "True";
  if (verdict.state === "set") {
    if (!set) {
      await changeClaim(world, claim, (one) =>
        withCondition(one, { type, status: "True" }, world.clock.now()),
      );
      log.debug(type === "Empty" ? "marking empty" : "marking consolidatable");
      if (speaksV05(claim)) await stampNode(world, claim, toRfc3339(world.clock.now()));
    }
    return AWAIT_CHANGE;
  }
  if (condition(claim, type) !== undefined) {
    await changeClaim(world, claim, (one) => withoutCondition(one, type));
    const what = type === "Empty" ? "emptiness" : "consolidatable";
    log.debug(`removing ${what} status condition`);
    if (speaksV05(claim)) await stampNode(world, claim, undefined);
  }
  return { requeueAfterMs: verdict.checkAfterMs };
}

/** Writes on the Node since when it is empty, and logs it, as v0.5 did. */
async function stampNode(world: World, claim: NodeClaim, at: string | undefined): Promise<void> {
  const node = nodes(world).get(claim.status?.nodeName ?? "");
  if (node === undefined) return;
  const { [EMPTINESS_TIMESTAMP_ANNOTATION_KEY]: stamped, ...others } =
    node.metadata.annotations ?? {};
  if (at === undefined && stamped === undefined) return;
  const annotations =
    at === undefined ? others : { ...others, [EMPTINESS_TIMESTAMP_ANNOTATION_KEY]: at };
  const metadata = { ...node.metadata, annotations };
  await patchObject(world.kube, NODE, node, { ...node, metadata });
  world.log
    .with({ controller: "node" })
    .info(at === undefined ? "Removed emptiness TTL from node" : "Added TTL to empty node", {
      node: node.metadata.name,
    });
}
