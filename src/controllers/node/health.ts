/**
 * Ends nodes that have been broken for longer than the cloud's repair policies bear with: kubelet silent,
 * disks or GPUs gone. A broken node cannot be drained with care, so the claim ends at once, whatever
 * budgets say; provisioning makes up for its pods. Behind the gate NodeRepair, off by default.
 * upstream: pkg/controllers/node/health/controller.go
 */
import { NODE, type Node } from "../../apis/core/node.ts";
import { claimGeneration, poolIdOfClaim } from "../../apis/hub/claim.ts";
import { isTrue } from "../../apis/karpenter/conditions.ts";
import {
  CAPACITY_TYPE_LABEL_KEY,
  NODECLAIM_TERMINATION_TIMESTAMP_ANNOTATION_KEY,
} from "../../apis/karpenter/labels.ts";
import type { NodeClaim } from "../../apis/karpenter/nodeclaim.ts";
import { fromRfc3339, toRfc3339 } from "../../base/clock.ts";
import { ailment, tooManyBroken } from "../../core/nodeclaim/unhealthy.ts";
import {
  AWAIT_CHANGE,
  type Controller,
  type Outcome,
  type Request,
  requeueAfter,
  source,
} from "../../kube/manager/controller.ts";
import { changeClaim, claimOfNode, deleteClaim, isDeleting, isManagedClaim } from "../claims.ts";
import { concurrency } from "../concurrency.ts";
import { nodes } from "../mirrors.ts";
import { countDisrupted } from "../nodeclaim/disrupted.ts";
import { nodeFields, poolLabel } from "../words.ts";
import type { World } from "../world.ts";
import { repairBlocked, repairPending } from "./events.ts";

const LOOK_AGAIN_MS = 5 * 60_000;

export function nodeHealth(world: World): Controller {
  return {
    name: "node.health",
    watches: [source(NODE)],
    concurrency: concurrency(world, 100, 1_000),
    reconcile: (request) => reconcile(world, request),
  };
}

async function reconcile(world: World, request: Request): Promise<Outcome> {
  const node = nodes(world).get(request.name);
  const claim = node === undefined ? undefined : claimOfNode(world, node);
  if (node === undefined || claim === undefined) return AWAIT_CHANGE;
  if (isDeleting(claim) || !isManagedClaim(world, claim)) return AWAIT_CHANGE;
  const policies = world.cloud.repairPolicies;
  const found = ailment(node, policies);
  if (found === undefined) return AWAIT_CHANGE;
  const nowMs = world.clock.now();
  if (nowMs < found.dueMs) {
    // One that is still coming up is not ready either.
    if (isTrue(claim, "Initialized")) world.events.publish(...repairPending([node, claim], found));
    return requeueAfter(found.dueMs - nowMs);
  }
  const poolId = poolIdOfClaim(claim);
  if (tooManyBroken(neighbours(world, poolId), policies)) {
    const where = poolId === undefined ? "cluster" : "nodepool";
    const message = `more than 20% nodes are unhealthy in the ${where}`;
    world.events.publish(...repairBlocked([node, claim], message));
    return requeueAfter(LOOK_AGAIN_MS);
  }
  await endNow(world, claim, nowMs);
  world.log.with({ controller: "node.health" }).info("deleting unhealthy node", {
    ...nodeFields(claimGeneration(claim), node),
    condition: found.conditionType,
    status: found.conditionStatus,
  });
  countDisrupted(world, claim, "unhealthy");
  world.metrics.count("nodeclaims_unhealthy_disrupted_total", {
    condition: found.conditionType.toLowerCase(),
    nodepool: poolLabel(claim.metadata),
    capacity_type: claim.metadata.labels?.[CAPACITY_TYPE_LABEL_KEY] ?? "",
    image_id: claim.status?.imageID ?? "",
  });
  return AWAIT_CHANGE;
}

/** Nodes of the same pool; for a claim without one, all. */
function neighbours(world: World, poolId: string | undefined): readonly Node[] {
  return world.cluster
    .nodes()
    .filter((view) => poolId === undefined || view.poolId === poolId)
    .flatMap(({ node }) => (node === undefined ? [] : [node]));
}

/** No grace: the drain is over at this moment, unless it already was to be over earlier. */
async function endNow(world: World, claim: NodeClaim, nowMs: number): Promise<void> {
  const key = NODECLAIM_TERMINATION_TIMESTAMP_ANNOTATION_KEY;
  await changeClaim(world, claim, (one) => {
    const before = fromRfc3339(one.metadata.annotations?.[key]);
    if (before !== undefined && before <= nowMs) return one;
    const annotations = { ...one.metadata.annotations, [key]: toRfc3339(nowMs) };
    return { ...one, metadata: { ...one.metadata, annotations } };
  });
  await deleteClaim(world, claim);
}
