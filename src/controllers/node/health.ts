/**
 * The older node repair. Deletes claims of nodes that are broken for longer than the cloud's repair policies allow: the
 * kubelet does not report, or disks or GPUs have failed. A broken node cannot be drained normally. So the claim is
 * deleted at once, without regard to budgets, even during a drain, and its pods are planned again. Needs the feature
 * gate NodeRepair with `--legacy-node-repair`, which is off by default. Without that flag, the disruption loop repairs
 * nodes (core/disruption/methods/repair.ts).
 * upstream: pkg/controllers/node/legacyrepair/controller.go
 */
import { NODE, type Node } from "../../apis/core/node.ts";
import { CLAIM_KINDS, claimGeneration, poolIdOfClaim } from "../../apis/hub/claim.ts";
import { isTrue } from "../../apis/karpenter/conditions.ts";
import { CAPACITY_TYPE_LABEL_KEY } from "../../apis/karpenter/labels.ts";
import { type NodeClaim, terminationMode } from "../../apis/karpenter/nodeclaim.ts";
import { BrokenCount, unhealthyCondition } from "../../core/repair/legacy-repair.ts";
import { isNotFound } from "../../kube/errors.ts";
import {
  AWAIT_CHANGE,
  type Controller,
  type Outcome,
  type Request,
  requestFor,
  requeueAfter,
  source,
} from "../../kube/manager/controller.ts";
import { claimOfNode, isDeleting, isManagedClaim } from "../claims.ts";
import { concurrency } from "../concurrency.ts";
import { boundDrain, snakeCase } from "../disruption/repairs.ts";
import { deleteClaim } from "../ending/delete-claim.ts";
import { HELD_RETRY_MS } from "../ending/ended.ts";
import { earlierNow } from "../ending/two-clocks.ts";
import { nodes } from "../mirrors.ts";
import { countDisrupted } from "../nodeclaim/disrupted.ts";
import { poolById } from "../pools.ts";
import { nodeFields, poolLabel } from "../words.ts";
import type { World } from "../world.ts";
import { repairBlocked, repairPending } from "./events.ts";

const LOOK_AGAIN_MS = 5 * 60_000;

/**
 * The controller of the older node repair, if it is enabled. It terminates nodes with an unhealthy condition. It stops
 * for a NodePool of which more than 20 % of the nodes (rounded up) are unhealthy.
 * upstream: pkg/controllers/node/legacyrepair
 */
export function nodeHealth(world: World): readonly Controller[] {
  const { nodeRepair, legacyNodeRepair } = world.settings.gates;
  return nodeRepair && legacyNodeRepair ? [controllerOf(world)] : [];
}

function controllerOf(world: World): Controller {
  const count = new BrokenCount();
  return {
    name: "node.health",
    watches: [
      source(NODE, (node, event) => {
        if (event === "removed") count.remove(node.metadata.name);
        else note(world, count, node);
        return [requestFor(NODE.kind, node)];
      }),
      ...CLAIM_KINDS.map((kind) => source(kind, (claim) => noteNodes(world, count, claim))),
    ],
    concurrency: concurrency(world, 100, 1_000),
    reconcile: (request) => reconcile(world, count, request),
  };
}

/** Records whether the node is broken, under the pool of its claim, even if it has not registered. */
function note(world: World, count: BrokenCount, node: Node): void {
  const claim = claimOfNode(world, node);
  const isOurs = claim !== undefined && isManagedClaim(world, claim);
  count.put(node.metadata.name, {
    poolId: isOurs ? poolIdOfClaim(claim) : undefined,
    isBroken: unhealthyCondition(node, world.cloud.repairPolicies) !== undefined,
  });
}

/**
 * Records the nodes of a claim that was added, changed or removed, since they may belong to another pool now. Returns
 * no requests.
 */
function noteNodes(world: World, count: BrokenCount, { status }: NodeClaim): readonly Request[] {
  const providerId = status?.providerID;
  if (providerId)
    for (const node of nodes(world).byIndex("providerId", providerId)) note(world, count, node);
  return [];
}

async function reconcile(world: World, count: BrokenCount, request: Request): Promise<Outcome> {
  const node = nodes(world).get(request.name);
  const claim = node === undefined ? undefined : claimOfNode(world, node);
  if (node === undefined || claim === undefined) return AWAIT_CHANGE;
  if (!isManagedClaim(world, claim)) return AWAIT_CHANGE;
  const policies = world.cloud.repairPolicies;
  const found = unhealthyCondition(node, policies);
  if (found === undefined) return AWAIT_CHANGE;
  const nowMs = earlierNow(world);
  if (nowMs < found.dueMs) {
    // Nodes that are starting, or whose instance is being terminated, are not ready for that reason alone.
    if (isTrue(claim, "Initialized") && !isDeleting(claim))
      world.events.publish(...repairPending([node, claim], found));
    return requeueAfter(found.dueMs - nowMs);
  }
  const poolId = poolIdOfClaim(claim);
  if (count.tooMany(poolId)) {
    const where = poolId === undefined ? "cluster" : "nodepool";
    const message = `more than 20% nodes are unhealthy in the ${where}`;
    const pool = poolId === undefined ? undefined : poolById(world, poolId)?.native;
    // The pool gets only one event, however many of its nodes are broken.
    const told = pool === undefined ? [node, claim] : [node, claim, pool];
    world.events.publish(...repairBlocked(told, message));
    return requeueAfter(LOOK_AGAIN_MS);
  }
  if (isDeleting(claim)) {
    // Ends the drain early. The API server is read first, because another controller may be deleting the node for
    // another reason.
    if (!(await isStillBroken(world, node))) return requeueAfter(HELD_RETRY_MS);
    await boundDrain(world, claim, 0);
    return AWAIT_CHANGE;
  }
  const ended = await deleteClaim(world, claim, "unhealthy", {
    stillHolds: () => isStillBroken(world, node),
    prepare: (live) => boundDrain(world, live, 0),
  });
  if (ended !== "ended") return requeueAfter(HELD_RETRY_MS);
  world.log.with({ controller: "node.health" }).info("deleting unhealthy node", {
    ...nodeFields(claimGeneration(claim), node),
    condition: found.conditionType,
    status: found.conditionStatus,
  });
  countDisrupted(world, claim, "unhealthy");
  world.metrics.count("nodeclaims_unhealthy_disrupted_total", {
    condition: snakeCase(found.conditionType),
    nodepool: poolLabel(claim.metadata),
    capacity_type: claim.metadata.labels?.[CAPACITY_TYPE_LABEL_KEY] ?? "",
    image_id: claim.status?.imageID ?? "",
    termination_mode: terminationMode(claim),
  });
  return AWAIT_CHANGE;
}

/** Whether this Node, read by UID from the API server, is still broken, and for long enough. */
async function isStillBroken(world: World, { metadata }: Node): Promise<boolean> {
  try {
    const live = await world.kube.get(NODE, { name: metadata.name });
    const found = unhealthyCondition(live, world.cloud.repairPolicies);
    const isSame = live.metadata.uid === metadata.uid;
    return isSame && found !== undefined && found.dueMs <= earlierNow(world);
  } catch (error) {
    if (isNotFound(error)) return false;
    throw error;
  }
}
