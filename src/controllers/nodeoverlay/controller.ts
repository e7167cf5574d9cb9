/**
 * Evaluates all NodeOverlays for all pools whenever an overlay, a pool or a node class changes. The result applies at
 * once, and each overlay's status says whether it has an effect. Runs only with the feature gate NodeOverlay.
 * upstream: pkg/controllers/nodeoverlay/controller.go
 */

import { type ConditionChange, withCondition } from "../../apis/karpenter/conditions.ts";
import { NODE_OVERLAY, type NodeOverlay } from "../../apis/karpenter/nodeoverlay.ts";
import type { Kind } from "../../apis/meta.ts";
import { errorText } from "../../base/error-text.ts";
import { judgeOverlays, type OverlaidPool } from "../../core/cloudprovider/overlays.ts";
import { poolLabels } from "../../core/provisioning/manifest.ts";
import { patchObject } from "../../kube/client/patch-object.ts";
import { isConflict, isNotFound } from "../../kube/errors.ts";
import {
  type Controller,
  type Outcome,
  requeueAfter,
  source,
} from "../../kube/manager/controller.ts";
import { nodeOverlays } from "../mirrors.ts";
import { listPools, poolSources } from "../pools.ts";
import { poolFields } from "../words.ts";
import type { World } from "../world.ts";
import type { Overlays } from "./overlays.ts";

/** Overlays are evaluated again after this time, because instance types may change without an event. */
const AGAIN_MS = 6 * 60 * 60_000;
/** Milliseconds until types that could not be read are read again. Until then their pool is not used. */
const RETRY_MS = 60_000;

/** The only request of this controller, whatever has changed. */
const ALL = [{ kind: "NodeOverlay", name: "" }];

/** The controller that evaluates NodeOverlays. `world.cloud`: the cloud without overlays. */
export function nodeOverlay(world: World, overlays: Overlays): Controller {
  const kinds = [NODE_OVERLAY as Kind, ...world.cloud.nodeClassKinds];
  return {
    name: "nodeoverlay.controller",
    watches: [...poolSources().map(({ kind }) => kind), ...kinds].map((kind) =>
      source(kind, (after, _event, before) => {
        const isSame = before?.metadata.generation === after.metadata.generation;
        // Changes of a node class's status count too, because the status says what can be launched.
        return isSame && before !== undefined && !kinds.slice(1).includes(kind) ? [] : ALL;
      }),
    ),
    concurrency: 1,
    initialRequests: ALL,
    reconcile: () => reconcile(world, overlays),
  };
}

async function reconcile(world: World, overlays: Overlays): Promise<Outcome> {
  const { pools, isComplete } = await gather(world);
  const all = nodeOverlays(world).list();
  const { accepted, rejected } = judgeOverlays(pools, all);
  overlays.replace(
    accepted,
    pools.map(({ pool }) => pool),
  );
  world.cluster.noteChange();
  // A failed write of one status does not prevent the writes of other overlays.
  const told = await Promise.allSettled(
    all.map((overlay) => tell(world, overlay, rejected.get(overlay.metadata.name))),
  );
  for (const one of told) if (one.status === "rejected") throw one.reason;
  return requeueAfter(isComplete ? AGAIN_MS : RETRY_MS);
}

/**
 * Each pool with its instance types before overlays. A pool whose types cannot be read is left out, and then
 * `isComplete` is false.
 */
async function gather(world: World): Promise<{ pools: OverlaidPool[]; isComplete: boolean }> {
  const pools: OverlaidPool[] = [];
  let isComplete = true;
  for (const pool of listPools(world)) {
    try {
      const instanceTypes = await world.cloud.getInstanceTypes(pool);
      pools.push({ pool, labels: poolLabels(pool), instanceTypes });
    } catch (error) {
      isComplete = false;
      const text = errorText(error);
      world.log.error("skipping, node overlays are not applied", {
        ...poolFields(pool),
        error: text,
      });
    }
  }
  return { pools, isComplete };
}

async function tell(
  world: World,
  overlay: NodeOverlay,
  rejected: { readonly reason: string; readonly message: string } | undefined,
): Promise<void> {
  const type = "ValidationSucceeded";
  const change: ConditionChange =
    rejected === undefined ? { type, status: "True" } : { type, status: "False", ...rejected };
  const after = withCondition(overlay, change, world.clock.now());
  if (after === overlay) return;
  try {
    await patchObject(world.kube, NODE_OVERLAY, overlay, after);
  } catch (error) {
    // A conflict means that the overlay has changed, which runs the controller again.
    if (!isConflict(error) && !isNotFound(error)) throw error;
  }
}
