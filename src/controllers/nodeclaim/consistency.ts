/**
 * Checks each claim every ten minutes: whether its node has the promised resources, and which PodDisruptionBudgets
 * block its deletion. Reports problems in events and the log, and for v1 in the condition `ConsistentStateFound`. Nodes
 * that are consistent when they initialize get that condition at once.
 * upstream: pkg/controllers/nodeclaim/consistency/controller.go
 */
import type { Node } from "../../apis/core/node.ts";
import { isTrue } from "../../apis/karpenter/conditions.ts";
import type { NodeClaim } from "../../apis/karpenter/nodeclaim.ts";
import { drainIssues, shapeIssues, withConsistency } from "../../core/nodeclaim/consistent.ts";
import { registration } from "../../core/nodeclaim/registered.ts";
import {
  AWAIT_CHANGE,
  type Controller,
  type Outcome,
  type Request,
  requeueAfter,
} from "../../kube/manager/controller.ts";
import { changeClaim, claimSources, isDeleting, isManagedClaim, readClaim } from "../claims.ts";
import { disruptionBudgets, nodes, pods } from "../mirrors.ts";
import { claimLog } from "../words.ts";
import type { World } from "../world.ts";
import { failedConsistencyCheck } from "./events.ts";

const SCAN_MS = 10 * 60_000;

/**
 * The controller that compares nodes with their claims and reports differences as events.
 * upstream: pkg/controllers/nodeclaim/consistency.
 */
export function consistency(world: World): Controller {
  const scannedMs = new Map<string, number>();
  return {
    name: "nodeclaim.consistency",
    watches: claimSources(),
    concurrency: 10,
    reconcile: (request) => reconcile(world, scannedMs, request),
  };
}

async function reconcile(
  world: World,
  scannedMs: Map<string, number>,
  request: Request,
): Promise<Outcome> {
  const key = `${request.kind}/${request.name}`;
  const claim = readClaim(world, request);
  if (claim === undefined) {
    scannedMs.delete(key);
    return AWAIT_CHANGE;
  }
  const isDue = isTrue(claim, "Initialized") || isDeleting(claim);
  if (!isDue || !isManagedClaim(world, claim)) return AWAIT_CHANGE;
  const nowMs = world.clock.now();
  const dueMs = (scannedMs.get(key) ?? Number.NEGATIVE_INFINITY) + SCAN_MS;
  if (nowMs < dueMs) return requeueAfter(dueMs - nowMs);
  const found = registration(nodes(world).byIndex("providerId", claim.status?.providerID ?? ""));
  if (found.state === "found") await look(world, claim, found.node, nowMs);
  scannedMs.set(key, nowMs);
  return requeueAfter(SCAN_MS);
}

async function look(world: World, claim: NodeClaim, node: Node, nowMs: number): Promise<void> {
  if (isDeleting(claim)) {
    const there = pods(world).byIndex("node", node.metadata.name);
    tell(world, claim, node, drainIssues(there, disruptionBudgets(world).list(), nowMs));
    return;
  }
  const issues = shapeIssues(claim, node);
  await changeClaim(world, claim, (one) => withConsistency(one, issues, nowMs));
  tell(world, claim, node, issues);
}

function tell(world: World, claim: NodeClaim, node: Node, issues: readonly string[]): void {
  const log = claimLog(world.log, "nodeclaim.consistency", claim);
  for (const issue of issues) {
    log.error("consistency error", { error: issue });
    world.events.publish(...failedConsistencyCheck(claim, node, issue));
  }
}
