/**
 * AWS as a CloudProvider: finds the node class, resolves its selectors, and launches, looks up and terminates
 * instances. Each AWS noun has its own folder (`parts.ts` makes them); this file combines them.
 */

import { AWS_NODE_TEMPLATE } from "../../apis/aws/awsnodetemplate.ts";
import { EC2_NODE_CLASS } from "../../apis/aws/ec2nodeclass.ts";
import {
  ANNOTATION_INSTANCE_PROFILE,
  AWS_WELL_KNOWN_LABELS,
  LABEL_CAPACITY_RESERVATION_ID,
  LABEL_PLACEMENT_GROUP_ID,
  LABEL_PLACEMENT_GROUP_PARTITION,
  LABEL_TOPOLOGY_ZONE_ID,
} from "../../apis/aws/labels.ts";
import { claimKubelet } from "../../apis/hub/claim.ts";
import type { PriceList } from "../../apis/karpenter/facts.ts";
import {
  CAPACITY_TYPE_LABEL_KEY,
  INSTANCE_TYPE_LABEL_KEY,
  NODEPOOL_LABEL_KEY,
  PROVISIONER_NAME_LABEL_KEY,
} from "../../apis/karpenter/labels.ts";
import type { NodeClaim } from "../../apis/karpenter/nodeclaim.ts";
import { toRfc3339 } from "../../base/clock.ts";
import type { CloudProvider } from "../../core/cloudprovider/cloud-provider.ts";
import { NodeClaimNotFoundError, RebootRefusedError } from "../../core/cloudprovider/errors.ts";
import type { InstanceType } from "../../core/cloudprovider/instance-type.ts";
import type { Controller } from "../../kube/manager/controller.ts";
import { AwsError } from "./api/call.ts";
import type { Instance } from "./api/instances.ts";
import { clusterUid } from "./cluster/cluster-uid.ts";
import { awsControllers } from "./controllers.ts";
import { hashAnnotations, staticDrift } from "./drift.ts";
import { selectionDrift, tellingFailure } from "./drift-check.ts";
import { describeError, isNotFound, ResolutionError } from "./errors.ts";
import { listInstances } from "./instance/ec2-batches.ts";
import { type LaunchInput, launch } from "./instance/launch.ts";
import { launchedBefore } from "./instance/launched-before.ts";
import { instanceClaim, instanceIdOf, type Launched, launchedClaim } from "./instance/to-claim.ts";
import { namedCalls } from "./named-calls.ts";
import { notFoundText } from "./nodeclass/class-source.ts";
import { readyClass, resolutionFailed, typesOf } from "./nodeclass/resolve.ts";
import type { OfferingKey } from "./offering/unavailable.ts";
import { type AwsDeps, type AwsParts, createParts } from "./parts.ts";
import { awsRepairPolicies } from "./repair-policies.ts";
import { clusterTag, fromTagList, isAnothers, type TagSettings } from "./tags/tags.ts";
import { checkNotShifted, zoneOf } from "./zonalshift/guard.ts";

/** Creates the cloud provider and its controllers. `prices` changes its version whenever a price changes. */
export function createAwsProvider(given: AwsDeps): {
  cloud: CloudProvider;
  controllers: readonly Controller[];
  prices: { readonly version: string; list(): PriceList };
} {
  const deps = { ...given, api: namedCalls(given.api, given) };
  const parts = createParts(deps);
  const { prices, quotas, reservations } = parts;
  return {
    cloud: createCloud(deps, parts),
    controllers: awsControllers(deps, parts),
    prices: {
      get version() {
        const counts = `${reservations.version}/${quotas.version}`;
        return `${prices.version}/${prices.readAtMs}/${counts}`;
      },
      list: () => ({
        ...prices.list(deps.settings.region),
        reserved: reservations.counts(),
        ...(deps.settings.quotaAwareness === true ? { quotas: quotas.list() } : {}),
      }),
    },
  };
}

function createCloud(deps: AwsDeps, parts: AwsParts): CloudProvider {
  const { clock, settings } = deps;
  return {
    name: "aws",
    nodeClassKinds: [EC2_NODE_CLASS, AWS_NODE_TEMPLATE],
    wellKnownLabels: AWS_WELL_KNOWN_LABELS,
    create: (claim, overlay = (types) => types) => create(deps, parts, claim, overlay),
    takeOver: (claim, providerId, overlay = (types) => types) =>
      takeOver(deps, parts, { claim, providerId, overlay }),
    delete: (claim) => end(deps, parts, claim),
    reboot: (claim) => reboot(deps, parts, claim),
    get: async (providerId) => {
      const instance = await instanceOf(deps, parts, providerId);
      return instanceClaim(instance, toRfc3339(clock.now()));
    },
    list: async () => {
      const listed = await listInstances(deps.api.ec2, [
        { Name: "tag-key", Values: [NODEPOOL_LABEL_KEY, PROVISIONER_NAME_LABEL_KEY] },
        { Name: `tag:${clusterTag(settings.clusterName)}`, Values: ["owned"] },
      ]);
      // An endpoint that ignores filters answers with the instances of others, such as managed nodes of this cluster.
      const instances = listed.filter((one) => isTaggedByUs(settings, one));
      for (const one of parts.batches.listed(instances)) parts.unavailable.unmark(offeringOf(one));
      const nowText = toRfc3339(clock.now());
      return instances.map((one) => instanceClaim(one, nowText));
    },
    getInstanceTypes: async (pool) => {
      const found = parts.classes.ofPool(pool);
      if (found === undefined) {
        throw new ResolutionError(`resolving node class, ${notFoundText(pool.classRef)}`);
      }
      const { types } = await typesOf(deps.settings, parts, found.nodeClass, pool.kubelet);
      parts.seen.note(pool.id, types);
      return types;
    },
    quotaRoom: () => parts.quotas.room(),
    labelsOfRunning: async (claim) => {
      const { metadata, status } = claim;
      const groupId = metadata.labels?.[LABEL_PLACEMENT_GROUP_ID];
      if (groupId === undefined || LABEL_PLACEMENT_GROUP_PARTITION in (metadata.labels ?? {}))
        return {};
      const found = parts.classes.ofClaim(claim);
      const group = found && (await parts.placementGroups.find(found.nodeClass));
      if (group?.id !== groupId || group.strategy !== "partition") return {};
      const { Placement } = await instanceOf(deps, parts, status?.providerID ?? "");
      if (Placement.PartitionNumber === undefined) return undefined;
      return { [LABEL_PLACEMENT_GROUP_PARTITION]: String(Placement.PartitionNumber) };
    },
    isTypeGone: (claim) => {
      const { labels = {} } = claim.metadata;
      const type = labels[INSTANCE_TYPE_LABEL_KEY] ?? "";
      return tellingFailure(
        deps,
        claim,
        parts.offered.isGone(type, labels[CAPACITY_TYPE_LABEL_KEY] ?? ""),
      );
    },
    isDrifted: async (claim) => {
      const found = parts.classes.ofClaim(claim);
      if (found === undefined) return undefined;
      const { nodeClass } = found;
      const reason = staticDrift(claim, nodeClass);
      if (reason !== undefined) return reason;
      if (nodeClass.launchTemplateName !== undefined) return undefined;
      return selectionDrift({ deps, parts }, claim, nodeClass);
    },
    isTakenBack: ({ metadata }) => parts.takenBack.has(metadata.uid ?? ""),
    repairPolicies: awsRepairPolicies(settings.repair ?? { rebootForRepair: false, legacy: false }),
  };
}

type Overlay = (types: readonly InstanceType[]) => readonly InstanceType[];

/** Launches an instance for the claim. Rejects with an error whose reason the condition of the claim shows. */
async function create(
  deps: AwsDeps,
  parts: AwsParts,
  claim: NodeClaim,
  overlay: Overlay,
): Promise<NodeClaim> {
  const { events, log, metrics, settings } = deps;
  const { reservedCapacity = true, region } = settings;
  const input = await launchInput(deps, parts, claim, overlay);
  const launched = await launch(
    {
      ...parts,
      ...{ events, log, metrics },
      settings: tagSettings(deps),
      region,
      reservedCapacity,
    },
    input,
  );
  const result = withAnnotations(claim, launched, input);
  // v0.5 logged the host name of a launched instance.
  const isInline = input.nodeClass.id.startsWith("provisioner/");
  return isInline ? withHostname(result, await hostname(deps, parts, launched.instanceId)) : result;
}

/**
 * Takes over a running instance for the claim. Undefined: a launch of the claim now would not result in such an
 * instance.
 */
async function takeOver(
  deps: AwsDeps,
  parts: AwsParts,
  { claim, providerId, overlay }: { claim: NodeClaim; providerId: string; overlay: Overlay },
): Promise<NodeClaim | undefined> {
  const instance = await parts.batches.instance(instanceIdOf(providerId) ?? "");
  if (instance === undefined) return undefined;
  const input = await launchInput(deps, parts, claim, overlay);
  const launched = launchedBefore(instance, input, tagSettings(deps));
  return launched && withAnnotations(claim, launched, input);
}

function offeringOf({ InstanceType, InstanceLifecycle, Placement }: Instance): OfferingKey {
  return {
    capacityType: InstanceLifecycle === "spot" ? "spot" : "on-demand",
    instanceType: InstanceType,
    zone: Placement.AvailabilityZone,
  };
}

function tagSettings({ mirrors, settings }: AwsDeps): TagSettings {
  const { clusterName, tags = {} } = settings;
  return { clusterName, clusterUid: clusterUid(mirrors), tags };
}

async function launchInput(
  deps: AwsDeps,
  parts: AwsParts,
  claim: NodeClaim,
  overlay: Overlay,
): Promise<LaunchInput> {
  const found = readyClass(deps, parts.classes.ofClaim(claim), claim);
  const { nodeClass } = found;
  const kubelet = claimKubelet(claim) ?? nodeClass.kubelet;
  const { resolved, types } = await typesOf(deps.settings, parts, nodeClass, kubelet).catch(
    (error) => {
      throw resolutionFailed(error);
    },
  );
  const instanceProfile =
    nodeClass.launchTemplateName === undefined
      ? await parts.profiles.forLaunch(nodeClass, found.statusProfile)
      : "";
  const kubeletOf = (type: string) => parts.instanceTypes.kubeletFor(type, nodeClass, kubelet);
  const cpuOf = (type: string) => parts.instanceTypes.cpuFor(type, nodeClass);
  return {
    claim,
    nodeClass,
    kubeletOf,
    cpuOf,
    types: overlay(types),
    ...resolved,
    instanceProfile,
  };
}

function withAnnotations(
  claim: NodeClaim,
  launched: Launched,
  { nodeClass, instanceProfile }: LaunchInput,
): NodeClaim {
  return launchedClaim(claim, launched, {
    ...hashAnnotations(nodeClass),
    ...(nodeClass.generation === "v1" && instanceProfile !== ""
      ? { [ANNOTATION_INSTANCE_PROFILE]: instanceProfile }
      : {}),
  });
}

/** Terminates the claim's instance. Rejects with NodeClaimNotFoundError once the instance is gone. */
async function end(deps: AwsDeps, parts: AwsParts, claim: NodeClaim): Promise<void> {
  const providerId = claim.status?.providerID ?? "";
  const instance = await instanceOf(deps, parts, providerId).catch((error) => {
    // The instance frees its place in the reservation. EC2's own count follows within a minute.
    const reservation = claim.metadata.labels?.[LABEL_CAPACITY_RESERVATION_ID];
    if (error instanceof NodeClaimNotFoundError && reservation !== undefined) {
      parts.reservations.endedIn(reservation, providerId);
    }
    throw error;
  });
  if (instance.State.Name === "shutting-down") return;
  const { InstanceId, Placement } = instance;
  checkOurs(deps, instance, "ended");
  checkNotShifted(deps, parts, Placement.AvailabilityZone, `instance ${InstanceId} is not ended`);
  try {
    await parts.batches.terminate(InstanceId);
  } catch (error) {
    const zone = Placement.AvailabilityZone;
    const zone_id = claim.metadata.labels?.[LABEL_TOPOLOGY_ZONE_ID] ?? "";
    deps.metrics.count("cloudprovider_instance_termination_failures_total", { zone, zone_id });
    if (isNotFound(error)) {
      throw new NodeClaimNotFoundError("instance already terminated", { cause: error });
    }
    throw error;
  }
}

/**
 * Throws unless the instance's own tags say that Karpenter launched it for this cluster. A claim may name any instance
 * of the account, because its status can be edited. Instances are listed by the same tags.
 */
function checkOurs(
  { settings, mirrors }: AwsDeps,
  { InstanceId, Tags }: Instance,
  what: "ended" | "rebooted",
): void {
  if (isTaggedByUs(settings, { Tags }) && !isAnothers(Tags, clusterUid(mirrors))) return;
  throw new Error(
    `instance ${InstanceId} is not ${what}: its tags do not say that Karpenter launched it for this cluster. If it did, tag it ${clusterTag(settings.clusterName)}=owned and ${NODEPOOL_LABEL_KEY}; else set the claim's status.providerID right`,
  );
}

/** Whether the instance has the tags of a NodePool, and of a cluster of this name. */
function isTaggedByUs(
  { clusterName }: Pick<AwsDeps["settings"], "clusterName">,
  { Tags }: { readonly Tags?: Instance["Tags"] },
): boolean {
  const tags = fromTagList(Tags ?? []);
  const hasPool = NODEPOOL_LABEL_KEY in tags || PROVISIONER_NAME_LABEL_KEY in tags;
  return tags[clusterTag(clusterName)] === "owned" && hasPool;
}

/**
 * Reboots the claim's instance. It needs no token: EC2 reboots once if it is asked several times within some seconds.
 */
async function reboot(deps: AwsDeps, parts: AwsParts, claim: NodeClaim): Promise<void> {
  const instance = await instanceOf(deps, parts, claim.status?.providerID ?? "");
  const { InstanceId, Placement } = instance;
  const zone = Placement.AvailabilityZone;
  checkOurs(deps, instance, "rebooted");
  checkNotShifted(deps, parts, zone, `instance ${InstanceId} is not rebooted`);
  try {
    await deps.api.ec2.rebootInstances({ InstanceIds: [InstanceId] });
  } catch (error) {
    const text = describeError(error);
    if (isNotFound(error)) throw new NodeClaimNotFoundError(text, { cause: error });
    if (error instanceof AwsError && error.code === "UnauthorizedOperation")
      throw new RebootRefusedError(`${text}; grant ec2:RebootInstances`, { cause: error });
    throw error;
  }
}

async function instanceOf(deps: AwsDeps, parts: AwsParts, providerId: string): Promise<Instance> {
  const id = instanceIdOf(providerId);
  const instance = id === undefined ? undefined : await parts.batches.lookUp(id);
  if (instance === undefined || instance.State.Name === "terminated") {
    // In an impaired zone EC2 may not know an instance that still exists.
    checkNotShifted(deps, parts, zoneOf(providerId), `instance ${providerId} is not to be seen`);
    const isEnded = instance !== undefined;
    throw new NodeClaimNotFoundError(`instance not found: ${providerId}`, { isEnded });
  }
  return instance;
}

/** The private DNS name of the instance. Undefined: EC2 does not tell it yet. */
async function hostname(
  { log }: AwsDeps,
  { batches }: AwsParts,
  id: string,
): Promise<string | undefined> {
  try {
    return (await batches.instance(id))?.PrivateDnsName;
  } catch (error) {
    log.debug("hostname is not known yet", { id, error: describeError(error) });
    return undefined;
  }
}

function withHostname(claim: NodeClaim, hostname: string | undefined): NodeClaim {
  if (hostname === undefined) return claim;
  return { ...claim, status: { ...claim.status, nodeName: hostname } };
}
