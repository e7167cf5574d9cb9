/**
 * Writes the condition NodeClassReady: whether a pool's node class exists and is Ready. Planning ignores pools that are
 * not Ready. A Provisioner has no such condition and gets `Active`.
 * upstream: pkg/controllers/nodepool/readiness/controller.go
 */

import type { Pool } from "../../apis/hub/pool.ts";
import {
  type ConditionChange,
  type Conditioned,
  condition,
  isTrue,
  withCondition,
} from "../../apis/karpenter/conditions.ts";
import type { KubeObject } from "../../apis/meta.ts";
import { toRfc3339 } from "../../base/clock.ts";
import {
  AWAIT_CHANGE,
  type Controller,
  type Outcome,
  type Request,
  source,
} from "../../kube/manager/controller.ts";
import { nodeClasses } from "../mirrors.ts";
import {
  changePool,
  isManagedPool,
  listPools,
  poolRequest,
  poolSources,
  readPool,
} from "../pools.ts";
import type { World } from "../world.ts";

/** The controller that updates the condition NodeClassReady. upstream: pkg/controllers/nodepool/readiness. */
export function nodePoolReadiness(world: World): Controller {
  return {
    name: "nodepool.readiness",
    watches: [
      ...poolSources(),
      ...world.cloud.nodeClassKinds.map((kind) =>
        source(kind, (nodeClass) =>
          listPools(world)
            .filter(({ classRef }) => classRef.kind === kind.kind)
            .filter(({ classRef }) => classRef.name === nodeClass.metadata.name)
            .map(poolRequest),
        ),
      ),
    ],
    concurrency: 10,
    reconcile: (request) => reconcile(world, request),
  };
}

async function reconcile(world: World, request: Request): Promise<Outcome> {
  const stored = readPool(world, request);
  if (stored === undefined || !isManagedPool(world, stored.pool)) return AWAIT_CHANGE;
  const { pool } = stored;
  const nowMs = world.clock.now();
  if (pool.generation === "alpha") {
    await changePool(world, stored, (native) => withActive(native, nowMs));
    return AWAIT_CHANGE;
  }
  const nodeClass = classOf(world, pool);
  const change = classReadiness(nodeClass);
  const generation = nodeClass?.metadata.generation;
  await changePool(world, stored, (native) => {
    const after = withCondition(native, change, nowMs);
    if (change.status !== "True" || generation === undefined) return after;
    const status = (after as KubeObject & { status?: object }).status;
    return { ...after, status: { ...status, nodeClassObservedGeneration: generation } };
  });
  return AWAIT_CHANGE;
}

/** Adds `Active`, the only condition of v1alpha5, in the form that version has. */
function withActive(native: KubeObject, nowMs: number): KubeObject {
  if (isTrue(native, "Active")) return native;
  const { status } = native as Conditioned;
  const others = status?.conditions?.filter(({ type }) => type !== "Active") ?? [];
  const active = { type: "Active", status: "True", lastTransitionTime: toRfc3339(nowMs) };
  return { ...native, status: { ...status, conditions: [active, ...others] } } as KubeObject;
}

function classOf(world: World, pool: Pool): KubeObject | undefined {
  const { group, kind, name } = pool.classRef;
  const found = world.cloud.nodeClassKinds.find((one) => one.group === group && one.kind === kind);
  return found === undefined ? undefined : nodeClasses(world, found).get(name);
}

/** The condition for this class. A class without a Ready condition is not ready. */
function classReadiness(nodeClass: KubeObject | undefined): ConditionChange {
  const type = "NodeClassReady";
  if (nodeClass === undefined) {
    const message = "NodeClass not found on cluster";
    return { type, status: "False", reason: "NodeClassNotFound", message };
  }
  if (nodeClass.metadata.deletionTimestamp !== undefined) {
    const message = "NodeClass is Terminating";
    return { type, status: "False", reason: "NodeClassTerminating", message };
  }
  const ready = condition(nodeClass, "Ready");
  if (ready?.status === "True") return { type, status: "True" };
  if (ready?.status === "False") {
    const { reason = "NodeClassNotReady", message = "" } = ready;
    return { type, status: "False", reason, message };
  }
  const message = "Node Class Readiness Unknown";
  return { type, status: "False", reason: "NodeClassReadinessUnknown", message };
}
