/**
 * Every controller, in the order in which they work on one pod (ARCHITECTURE.md). The first four update the cluster
 * state. They must stay first, because later controllers read it in the same turn. Objects that two controllers share
 * are made here.
 */
import { CAPACITY_BUFFER } from "../apis/autoscaling/capacity-buffer.ts";
import type { Kind } from "../apis/meta.ts";
import type { Controller } from "../kube/manager/controller.ts";
import { capacityBuffer } from "./capacitybuffer/controller.ts";
import { deletionCost } from "./deletioncost/controller.ts";
import { type CreateReplacements, createCommandQueue } from "./disruption/command-queue.ts";
import { disruption } from "./disruption/controller.ts";
import { createSteering } from "./disruption/steering.ts";
import { type LastTypes, meteredCloud } from "./metered-cloud.ts";
import { nodeMetrics } from "./metrics/nodes.ts";
import { podMetrics } from "./metrics/pods.ts";
import { poolMetrics } from "./metrics/pools.ts";
import { STATUS_EVENT_KINDS, statusEvents } from "./metrics/status-events.ts";
import { openMirrors } from "./mirrors.ts";
import { createEvictionQueue } from "./node/eviction-queue.ts";
import { nodeHealth } from "./node/health.ts";
import { termination } from "./node/termination.ts";
import { consistency } from "./nodeclaim/consistency.ts";
import { nodeClaimDisruption } from "./nodeclaim/disruption.ts";
import { expiration } from "./nodeclaim/expiration.ts";
import {
  claimGarbageCollection,
  instanceGarbageCollection,
} from "./nodeclaim/garbage-collection.ts";
import { lifecycle } from "./nodeclaim/lifecycle/controller.ts";
import { podEvents } from "./nodeclaim/podevents.ts";
import { reboot } from "./nodeclaim/reboot.ts";
import { nodeOverlay } from "./nodeoverlay/controller.ts";
import { Overlays, overlaidCloud } from "./nodeoverlay/overlays.ts";
import { nodePoolBrake } from "./nodepool/brake.ts";
import { nodePoolCalendar } from "./nodepool/calendar.ts";
import { nodePoolCounter } from "./nodepool/counter.ts";
import { nodePoolDrifted } from "./nodepool/drifted.ts";
import { nodePoolHash } from "./nodepool/hash.ts";
import { nodePoolReadiness } from "./nodepool/readiness.ts";
import { registrationHealth } from "./nodepool/registration-health.ts";
import { nodePoolRepair } from "./nodepool/repair.ts";
import { nodePoolSetBack } from "./nodepool/set-back.ts";
import { nodePoolSettingNotices } from "./nodepool/setting-notices.ts";
import { unusedFields } from "./nodepool/unused-fields.ts";
import { nodePoolValidation } from "./nodepool/validation.ts";
import { createBatcher } from "./provisioning/batcher.ts";
import { createClaims } from "./provisioning/create-claims.ts";
import { createPodTimes } from "./provisioning/pod-times.ts";
import { provisioner } from "./provisioning/provisioner.ts";
import { nodeTrigger, podTrigger } from "./provisioning/triggers.ts";
import { createRegistrationTracker, type RegistrationTracker } from "./registration-tracker.ts";
import { spans } from "./spans/controller.ts";
import { stateDaemonSet } from "./state/daemonsets.ts";
import { stateMetrics } from "./state/metrics.ts";
import { stateNodeClaim } from "./state/nodeclaims.ts";
import { stateNode } from "./state/nodes.ts";
import { statePod } from "./state/pods.ts";
import { staticDeprovisioning } from "./static/deprovisioning.ts";
import { staticProvisioning } from "./static/provisioning.ts";
import type { World } from "./world.ts";

/** Every controller, in the order in which they work on one pod. */
export function allControllers(given: World): readonly Controller[] {
  openMirrors(given);
  const overlays = given.settings.gates.nodeOverlay ? new Overlays() : undefined;
  const world: World =
    overlays === undefined ? given : { ...given, cloud: overlaidCloud(given.cloud, overlays) };
  const lastTypes: LastTypes = new Map();
  /** The world as one controller gets it: calls to the cloud are measured under the controller's `name`. */
  const as = (name: string): World => ({ ...world, cloud: meteredCloud(world, name, lastTypes) });
  const times = createPodTimes(world);
  const tracker = createRegistrationTracker();
  const batcher = createBatcher(world);
  const evictions = createEvictionQueue(world);
  const steering = createSteering(world);
  const commands = createCommandQueue(world, replacements(world), steering);
  return [
    /** These controllers keep the cluster state current: Nodes, claims, pods, DaemonSets. */
    stateNode(world),
    stateNodeClaim(world),
    stateDaemonSet(world),
    statePod(world),
    ...poolControllers(world, tracker),
    /** Applies NodeOverlays to prices and capacities. */
    ...(overlays === undefined ? [] : [nodeOverlay(given, overlays)]),
    /** The provisioner: plans pending pods and creates claims. */
    podTrigger(world, batcher, times),
    nodeTrigger(world, batcher),
    ...(world.settings.gates.capacityBuffer ? [capacityBuffer(world, batcher)] : []),
    provisioner(as("provisioner"), batcher, times, steering),
    ...staticPools(as),
    /** Controllers of NodeClaims: launch, registration, initialization, deletion, and their other conditions. */
    lifecycle(as("nodeclaim.lifecycle"), tracker),
    podEvents(world),
    nodeClaimDisruption(as("nodeclaim.disruption")),
    expiration(world),
    consistency(world),
    claimGarbageCollection(as("nodeclaim.garbagecollection")),
    instanceGarbageCollection(as("instance.garbagecollection")),
    /** Disruption: replaces or removes nodes that are drifted, broken, empty or no longer worth their price. */
    disruption(as("disruption"), commands),
    commands.controller,
    steering.controller,
    ...(world.settings.gates.podDeletionCost ? deletionCost(as("pod.deletioncost")) : []),
    /** Termination: drains nodes and terminates their instances. */
    termination(as("node.termination"), evictions, steering),
    ...[evictions.controller, reboot(as("nodeclaim.reboot"), evictions)],
    ...nodeHealth(world),
    /** Controllers that set gauges, and those that publish events about changed conditions and removed finalizers. */
    stateMetrics(world),
    nodeMetrics(world),
    podMetrics(world, times),
    poolMetrics(world, lastTypes),
    ...[
      ...STATUS_EVENT_KINDS,
      ...(world.settings.gates.capacityBuffer ? [CAPACITY_BUFFER as Kind] : []),
      ...world.cloud.nodeClassKinds,
    ].map((kind) => statusEvents(world, kind)),
    ...(world.spans === undefined ? [] : [spans(world, world.spans)]),
  ];
}

/** Controllers of NodePools: hash, validation, node class, registration, usage, conditions, unused fields. */
function poolControllers(world: World, tracker: RegistrationTracker): readonly Controller[] {
  return [
    nodePoolHash(world),
    nodePoolValidation(world),
    nodePoolReadiness(world),
    registrationHealth(world, tracker),
    nodePoolCounter(world),
    nodePoolCalendar(world),
    nodePoolDrifted(world),
    nodePoolSettingNotices(world),
    nodePoolBrake(world),
    nodePoolSetBack(world),
    nodePoolRepair(world),
    unusedFields(world),
  ];
}

/** The controllers that keep static pools at their `replicas`. Empty if the feature gate StaticCapacity is off. */
function staticPools(as: (name: string) => World): readonly Controller[] {
  const world = as("static.provisioning");
  if (!world.settings.gates.staticCapacity) return [];
  return [staticProvisioning(world), staticDeprovisioning(as("static.deprovisioning"))];
}

/**
 * Creates the replacement claims of a disruption command. Provisioning does not plan for the command's pods, because
 * these still run on the old nodes.
 */
function replacements(world: World): CreateReplacements {
  return async (log, { replacements: plans, reason }, annotations) => {
    const created = await createClaims(world, log, plans, reason.toLowerCase(), annotations);
    const nowMs = world.clock.elapsedMs();
    for (const claim of created)
      if (!(claim instanceof Error)) world.cluster.promise(claim.metadata.name, nowMs);
    return created;
  };
}
