/**
 * Reads everything for a planning pass: the pods that need a node, the usable pools with what they can launch, the
 * nodes and the volumes. A pool that cannot be used is reported and left out.
 */

import type { Pod } from "../../apis/core/pod.ts";
import { isProvisionable } from "../../apis/core/pod.ts";
import type { Pool } from "../../apis/hub/pool.ts";
import { type KubeObject, keyOf } from "../../apis/meta.ts";
import { isCurrentlyReschedulable } from "../../apis/policy/pdb.ts";
import { errorText } from "../../base/error-text.ts";
import type { Logger } from "../../base/log.ts";
import type { StandingProblems } from "../../base/standing-problems.ts";
import { UnevaluatedNodePoolError } from "../../core/cloudprovider/errors.ts";
import type { PoolInput, SchedulingInput } from "../../core/provisioning/scheduling-input.ts";
import type { NodeView } from "../../core/state/node-view.ts";
import { isDeleting } from "../claims.ts";
import { isProven } from "../ending/deletions.ts";
import {
  csiNodes,
  deviceKinds,
  disruptionBudgets,
  namespaces,
  selectorKinds,
  storageClasses,
  volumeClaims,
  volumes,
} from "../mirrors.ts";
import { listPools } from "../pools.ts";
import { surge } from "../surges.ts";
import { poolFields } from "../words.ts";
import type { World } from "../world.ts";

/** The most instance types that one claim names. upstream: MaxInstanceTypes */
const MAX_INSTANCE_TYPES = 600;

/** The pods that need a node. */
export interface PodsToPlace {
  readonly pending: readonly Pod[];
  /** Pods of nodes that are being removed, sorted by key. */
  readonly leaving: readonly Pod[];
  /** The pods that CapacityBuffers reserve capacity for. */
  readonly buffered: readonly Pod[];
}

/** All pods for which a planning pass finds nodes. */
export function podsToPlace(world: World): PodsToPlace {
  const nowMs = world.clock.now();
  const guards = disruptionBudgets(world).list();
  // Nodes are read before pods. So a change in between can only lead to fewer planned pods, never to more.
  const leaving = world.cluster
    .nodes()
    .filter((view) => view.deleting && isSurelyLeaving(world, view))
    .flatMap(({ pods }) => pods.filter((pod) => isCurrentlyReschedulable(pod, guards, nowMs)))
    .filter((pod) => !hasSuccessor(world, pod))
    .toSorted((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));
  const pending = world.cluster.unboundPods().filter(isProvisionable);
  return {
    pending: placeable(world, pending),
    leaving: placeable(world, leaving),
    buffered: placeable(world, world.cluster.headroom.pods),
  };
}

/**
 * Whether the node is really being deleted: the API server has confirmed it, or a command has marked it. If a list
 * wrongly says so, unnecessary nodes would be launched.
 */
function isSurelyLeaving(world: World, { node, claim }: NodeView): boolean {
  const deleted = [node, claim].filter((one) => one !== undefined && isDeleting(one));
  return deleted.length === 0 || deleted.some((one) => isProven(world, one as KubeObject));
}

/**
 * Leaves out pods that have a place on a claim of unknown capacity. They are planned again once the claim is launched.
 */
function placeable({ cluster }: World, pods: readonly Pod[]): readonly Pod[] {
  if (cluster.synced) return pods;
  return pods.filter((pod) => !cluster.isPromised(pod));
}

/** Whether a replacement of the pod is already being started. If so, the pod itself needs no other node. */
function hasSuccessor(world: World, pod: Pod): boolean {
  const found = surge(world, pod);
  return found.kind === "rolling" && found.ours;
}

/** The usable and unusable pools of one pass, in any order. */
interface Pools {
  /** Each usable pool, with the instance types of its class. */
  readonly usable: readonly PoolInput[];
  /** Why the other pools cannot be used now, for messages. */
  readonly unusable: readonly string[];
}

/**
 * The pools for a planning pass. `idle`: remembers which pools were reported as not ready, because each pass finds them
 * again.
 */
export async function poolsToUse(
  world: World,
  log: Logger,
  idle: StandingProblems,
): Promise<Pools> {
  const usable: PoolInput[] = [];
  const unusable: string[] = [];
  const pools = listPools(world);
  idle.keep((id) => pools.some((pool) => pool.id === id && !pool.ready));
  for (const pool of pools) {
    if (isNotPlannedFor(pool)) continue;
    const input = isAskedForTypes(pool) ? await poolInput(world, pool, log) : undefined;
    const named = `${noun(pool)} ${JSON.stringify(pool.name)}`;
    if (typeof input === "string") unusable.push(`${named} has no instance types${input}`);
    else if (!pool.ready) {
      unusable.push(`${named} is not ready, its conditions say why`);
      idle.tell(pool.id, `ignoring ${noun(pool)}, not ready`, poolFields(pool));
    } else if (input !== undefined) usable.push(input);
  }
  return { usable, unusable };
}

function isNotPlannedFor({ deleting, replicas }: Pool): boolean {
  return deleting || replicas !== undefined;
}

/**
 * Whether the instance types of the pool are read. v0.32 had no readiness for v1beta1, so there a missing class was
 * noticed only by reading its types.
 */
export function isAskedForTypes(pool: Pool): boolean {
  return !isNotPlannedFor(pool) && (pool.ready || pool.generation === "beta");
}

/** A pool with the instance types of its node class. If there are none, that is logged, and the reason is returned. */
export async function poolInput(
  world: World,
  pool: Pool,
  log: Logger,
): Promise<PoolInput | string> {
  try {
    const instanceTypes = await world.cloud.getInstanceTypes(pool);
    if (instanceTypes.length === 0) {
      log.info("skipping, no resolved instance types found", poolFields(pool));
      return "";
    }
    return { pool, instanceTypes, usage: world.cluster.poolUsage(pool.id) };
  } catch (error) {
    if (error instanceof UnevaluatedNodePoolError) {
      log.debug("skipping, awaiting nodeoverlay evaluation", poolFields(pool));
      return " until its overlays are read";
    }
    const text = errorText(error);
    const what = "skipping, unable to resolve instance types";
    // Older versions wrote the cause into the message.
    if (pool.generation === "v1") log.error(what, { ...poolFields(pool), error: text });
    else log.error(`${what}, ${text}`, poolFields(pool));
    return `: ${text}`;
  }
}

function noun(pool: Pool): string {
  return pool.generation === "alpha" ? "provisioner" : "nodepool";
}

/** The input of a planning pass for these pods and pools. */
export function schedulingInput(
  world: World,
  pods: readonly Pod[],
  pools: readonly PoolInput[],
): SchedulingInput {
  const { cluster, settings, cloud, clock } = world;
  return {
    nowMs: clock.now(),
    pods,
    ...stickyPods(world, pods),
    pools,
    nodes: cluster.nodes(),
    daemonPods: cluster.daemonPods(),
    namespaces: namespaces(world).list(),
    volumes: {
      claims: volumeClaims(world).list(),
      volumes: volumes(world).list(),
      classes: storageClasses(world).list(),
      csiNodes: csiNodes(world).list(),
    },
    ...defaultSpread(world),
    ...recommending(cluster),
    quotaRoom: cloud.quotaRoom(),
    ...deviceFacts(world),
    options: {
      preferencePolicy: settings.preferencePolicy,
      minValuesPolicy: settings.minValuesPolicy,
      maxInstanceTypes: MAX_INSTANCE_TYPES,
      wellKnownLabels: cloud.wellKnownLabels,
    },
  };
}

function recommending({ admission }: World["cluster"]): Pick<SchedulingInput, "autoscalers"> {
  const { autoscalers } = admission;
  return autoscalers.length === 0 ? {} : { autoscalers };
}

function deviceFacts(world: World): Pick<SchedulingInput, "devices"> {
  const { compileSelector: compile } = world.settings;
  if (compile === undefined) return {};
  const { slices, claims, templates, classes } = deviceKinds(world);
  return {
    devices: {
      slices: slices.list(),
      claims: claims.list(),
      templates: templates.list(),
      classes: classes.list(),
      compile,
    },
  };
}

function stickyPods({ cluster, clock }: World, pods: readonly Pod[]) {
  const sticky = cluster.placements.assign(pods, clock.now());
  return sticky.size === 0 ? {} : { sticky };
}

function defaultSpread(world: World): Pick<SchedulingInput, "defaultSpread"> {
  const constraints = world.settings.defaultSpread ?? [];
  if (constraints.length === 0) return {};
  const { services, workloads } = selectorKinds(world);
  return {
    defaultSpread: {
      constraints,
      services: services.list(),
      workloads: workloads.flatMap((mirror) => mirror.list()),
    },
  };
}
