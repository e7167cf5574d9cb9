/**
 * Launches one instance for a claim: chooses candidates and subnets, ensures the launch templates, and requests a fleet
 * of one instance. Errors about capacity mark offerings as unavailable, so that the next plan avoids them.
 * upstream: pkg/providers/instance/instance.go
 */
import { LABEL_CAPACITY_RESERVATION_ID, LABEL_INSTANCE_TENANCY } from "../../../apis/aws/labels.ts";
import type { AwsClass } from "../../../apis/hub/aws-class.ts";
import { claimGeneration } from "../../../apis/hub/claim.ts";
import type { ResolvedKubelet } from "../../../apis/karpenter/kubelet.ts";
import {
  CAPACITY_TYPE_LABEL_KEY,
  NODECLAIM_MIN_VALUES_RELAXED_ANNOTATION_KEY,
  PRICE_OVERLAY_APPLIED_ANNOTATION_KEY,
  REQUESTED_DRA_DRIVERS_ANNOTATION_KEY,
} from "../../../apis/karpenter/labels.ts";
import type { NodeClaim } from "../../../apis/karpenter/nodeclaim.ts";
import { parseResources } from "../../../apis/resources.ts";
import type { Logger } from "../../../base/log.ts";
import type { Metrics } from "../../../base/metrics.ts";
import { CreateError, InsufficientCapacityError } from "../../../core/cloudprovider/errors.ts";
import type {
  CapacityType,
  InstanceType,
  Offering,
} from "../../../core/cloudprovider/instance-type.ts";
import { allows } from "../../../core/scheduling/requirement.ts";
import type { EventRecorder } from "../../../kube/events/events.ts";
import { type Ami, amiFor, imageVersion } from "../ami/choose.ts";
import { AwsError } from "../api/call.ts";
import type { CreateLaunchTemplateInput, FleetError } from "../api/launches.ts";
import type { SecurityGroup, Subnet } from "../api/network.ts";
import type { ClusterFacts } from "../cluster/cluster-facts.ts";
import { EFA_DRIVER } from "../dra/templates.ts";
import {
  describeError,
  isInsufficientCapacity,
  isLaunchTemplateNotFound,
  launchFailure,
  SPOT_ROLE_ERROR,
  UserDataError,
} from "../errors.ts";
import { spotRoleMissing } from "../events.ts";
import type { CpuChoice } from "../instancetype/cpu-options.ts";
import type { LaunchTemplates } from "../launchtemplate/launch-templates.ts";
import type { TemplateInput } from "../launchtemplate/template-data.ts";
import type { UnavailableOfferings } from "../offering/unavailable.ts";
import type { FoundPlacementGroup } from "../placementgroup/placement-groups.ts";
import type { Quotas } from "../quota/quotas.ts";
import type { CapacityReservations } from "../reservation/reservations.ts";
import type { Subnets } from "../subnet/subnets.ts";
import { launchTags, type TagSettings, type Tags } from "../tags/tags.ts";
import type { Bootstrap } from "../userdata/bootstrap.ts";
import { type Candidates, kindOf, type LaunchCandidate } from "./candidates.ts";
import type { Ec2Batches } from "./ec2-batches.ts";
import {
  describeFleetErrors,
  fleetInput,
  type ReservationTarget,
  type TemplateGroup,
} from "./fleet.ts";
import { learn, zoneOfSubnet } from "./learn.ts";
import { choosePlace, requirementOf } from "./placement.ts";
import type { Launched } from "./to-claim.ts";

/** The dependencies of a launch. */
export interface LaunchDeps {
  readonly batches: Ec2Batches;
  readonly subnets: Subnets;
  readonly templates: LaunchTemplates;
  readonly unavailable: UnavailableOfferings;
  readonly metrics: Pick<Metrics, "count" | "set">;
  readonly events: EventRecorder;
  readonly facts: ClusterFacts;
  readonly log: Logger;
  readonly settings: TagSettings;
  readonly region: string;
  readonly reservations: CapacityReservations;
  readonly quotas: Pick<Quotas, "hold" | "refusal">;
  /** Whether core's feature gate ReservedCapacity is on. */
  readonly reservedCapacity: boolean;
}

/** A claim with its node class and everything that the class selects. */
export interface LaunchInput {
  readonly claim: NodeClaim;
  readonly nodeClass: AwsClass;
  /** Kubelet settings for nodes of a type, by the name of the type. */
  readonly kubeletOf: (instanceType: string) => ResolvedKubelet | undefined;
  /** Cores and threads for nodes of a type. Undefined: the class does not choose them. */
  readonly cpuOf: (instanceType: string) => CpuChoice | undefined;
  readonly types: readonly InstanceType[];
  readonly subnets: readonly Subnet[];
  readonly securityGroups: readonly SecurityGroup[];
  readonly amis: readonly Ami[];
  readonly instanceProfile: string;
  readonly placementGroup: FoundPlacementGroup | undefined;
}

const EFA = "vpc.amazonaws.com/efa";
/**
 * Pods that request this resource run in Nitro enclaves. karpenter-ts only: upstream v1.15 knows only
 * spec.enclaveOptions of the class.
 */
const ENCLAVE = "eks.amazonaws.com/nitro-sandbox";

/** Launches one instance for the claim. Rejects with InsufficientCapacityError or CreateError. */
export async function launch(deps: LaunchDeps, input: LaunchInput): Promise<Launched> {
  try {
    return await tryLaunch(deps, input);
  } catch (error) {
    if (!(error instanceof TemplateGoneError)) throw error;
    // Another program deleted the launch template. It is created again, and the launch is retried once.
    for (const name of error.names) deps.templates.forget(name);
  }
  try {
    return await tryLaunch(deps, input);
  } catch (error) {
    if (!(error instanceof TemplateGoneError)) throw error;
    const text = `creating fleet: launch template not found: ${error.names.join(", ")}`;
    throw new CreateError(text, launchFailure("InvalidLaunchTemplateId.NotFound"), error);
  }
}

class TemplateGoneError extends Error {
  override readonly name = "TemplateGoneError";
  readonly names: readonly string[];

  constructor(names: readonly string[], cause: unknown) {
    super("launch template not found", { cause });
    this.names = names;
  }
}

async function tryLaunch(deps: LaunchDeps, input: LaunchInput): Promise<Launched> {
  const subnets = deps.subnets.choose(input.subnets);
  if (subnets.size === 0) {
    throw new InsufficientCapacityError("no subnet of the class has free IP addresses");
  }
  const place = choosePlace({ ...input, unavailable: deps.unavailable }, new Set(subnets.keys()));
  if (place === undefined) {
    throw new InsufficientCapacityError(
      "no capacity offerings are currently available given the constraints",
    );
  }
  const found = withinQuotas(deps, place.found);
  const settle = deps.quotas.hold(found.types[0]?.type.name ?? "", found.capacityType);
  try {
    const launched = await launchInto(deps, input, { ...place, found, subnets });
    settle(true);
    return launched;
  } catch (error) {
    settle(false);
    throw error;
  }
}

/** The offerings, subnets and placement that a launch was decided for. */
interface Destination {
  readonly found: Candidates;
  readonly placement: Launched["placement"];
  readonly subnets: ReturnType<Subnets["choose"]>;
}

async function launchInto(
  deps: LaunchDeps,
  input: LaunchInput,
  { found, placement, subnets }: Destination,
): Promise<Launched> {
  const { claim, nodeClass } = input;
  const tags = launchTags(nodeClass, claim, deps.settings);
  const where: Where = { tenancy: tenancyOf(claim, nodeClass), placement };
  const groups = await templateGroups(deps, input, found, tags, where);
  const request = {
    capacityType: found.capacityType,
    groups,
    subnets,
    tags,
    // A fleet context applies to all types of the NodePool, so it is left out when minValues are relaxed.
    context: isTrue(claim, NODECLAIM_MIN_VALUES_RELAXED_ANNOTATION_KEY)
      ? undefined
      : nodeClass.context,
    pricesAreOverlaid: isTrue(claim, PRICE_OVERLAY_APPLIED_ANNOTATION_KEY),
  };
  const reserved = reserveAddresses(deps.subnets, found, subnets);
  const answer = await askFleet(deps, request, claim.metadata.uid ?? "");
  const override = answer.instance?.LaunchTemplateAndOverrides?.Overrides;
  const used = override?.SubnetId;
  for (const [id, addresses] of reserved) if (id !== used) deps.subnets.reserve(id, -addresses);
  learn(deps, answer.errors, { ...where, ...found, subnets: input.subnets, groups });
  if (answer.errors.some((error) => error.ErrorCode === SPOT_ROLE_ERROR))
    deps.events.publish(spotRoleMissing(claim));
  if (answer.instance === undefined) throw toLaunchError(answer.errors, groups);
  const { instance } = answer;
  const type = input.types.find((one) => one.name === instance.InstanceType);
  const zone = override?.AvailabilityZone ?? zoneOfSubnet(input.subnets, used);
  if (type === undefined || zone === undefined) {
    throw new CreateError("reading the fleet's answer: it names no known type and zone", {
      reason: "LaunchFailed",
      message: `EC2 launched ${instance.instanceId}, and its answer names no known instance type and zone`,
    });
  }
  const offering = offeringOf(found, type, zone);
  const reservation = offering?.labels?.[LABEL_CAPACITY_RESERVATION_ID];
  if (reservation !== undefined) deps.reservations.launchedInto(reservation);
  return {
    instanceId: instance.instanceId,
    type,
    zone,
    capacityType: found.capacityType,
    offering,
    ...where,
    imageId: override?.ImageId ?? imageOf(groups, type.name),
    efaCount: efaCount(claim, type),
  };
}

/**
 * Removes types that would exceed a vCPU quota. Launches that began after the types were listed count, too. Throws
 * InsufficientCapacityError if no candidate is left.
 */
function withinQuotas({ quotas }: LaunchDeps, found: Candidates): Candidates {
  const refusals = found.types.map(({ type }) => quotas.refusal(type.name, found.capacityType));
  const types = found.types.filter((_, at) => refusals[at] === undefined);
  if (types.length > 0) return { ...found, types };
  throw new InsufficientCapacityError(`no quota has room for it: ${refusals[0]}`);
}

function isTrue({ metadata }: NodeClaim, annotation: string): boolean {
  return metadata.annotations?.[annotation] === "true";
}

interface Where {
  readonly tenancy: "default" | "dedicated" | undefined;
  readonly placement: Launched["placement"];
}

/**
 * The tenancy of the instance: shared hardware if the claim allows it. Before v1 a claim could not require dedicated
 * hardware.
 */
export function tenancyOf(claim: NodeClaim, nodeClass: AwsClass): Where["tenancy"] {
  if (nodeClass.generation !== "v1") return undefined;
  return allows(requirementOf(claim, LABEL_INSTANCE_TENANCY), "default") ? "default" : "dedicated";
}

/** The offering of this type in this zone. Undefined: it is not among the candidates. */
export function offeringOf(
  found: Candidates,
  type: InstanceType,
  zone: string,
): Offering | undefined {
  const candidate = found.types.find((one) => one.type.name === type.name);
  return candidate?.offerings.find((one) => one.zone === zone);
}

async function askFleet(
  deps: LaunchDeps,
  request: Parameters<typeof fleetInput>[0],
  claimUid: string,
): ReturnType<Ec2Batches["createFleet"]> {
  try {
    return await deps.batches.createFleet(fleetInput(request), claimUid);
  } catch (error) {
    if (error instanceof AwsError && isLaunchTemplateNotFound(error.code)) {
      throw new TemplateGoneError(
        request.groups.map((group) => group.templateName),
        error,
      );
    }
    const text = describeError(error);
    throw new CreateError(`creating fleet: ${text}`, launchFailure(text), error);
  }
}

/** Groups types that can share a launch template: equal image, pods, EFA interfaces, cores and reservation. */
async function templateGroups(
  deps: LaunchDeps,
  input: LaunchInput,
  { types, capacityType }: Candidates,
  tags: Tags,
  where: Where,
): Promise<readonly TemplateGroup[]> {
  const { nodeClass, claim } = input;
  if (nodeClass.launchTemplateName !== undefined) {
    return [{ templateName: nodeClass.launchTemplateName, imageId: undefined, types }];
  }
  const groups = new Map<string, Group>();
  for (const candidate of types.flatMap(byReservation)) {
    const ami = amiFor(candidate.type, input.amis);
    if (ami === undefined) continue;
    const efa = efaCount(claim, candidate.type);
    const { reservation } = candidate;
    const kubelet = input.kubeletOf(candidate.type.name);
    const pods = kubelet?.maxPods ?? candidate.type.capacity["pods"] ?? 0;
    const reserved = [kubelet?.kubeReserved, kubelet?.systemReserved];
    const cpu = input.cpuOf(candidate.type.name);
    const key = JSON.stringify([ami.id, pods, efa, reservation?.id, reserved, cpu]);
    const group = groups.get(key) ?? { ami, pods, efa, cpu, reservation, kubelet, types: [] };
    group.types.push(candidate);
    groups.set(key, group);
  }
  const bootstrap = await bootstrapOf(deps, input, capacityType);
  const shared = {
    nodeClass,
    clusterName: deps.settings.clusterName,
    region: deps.region,
    securityGroupIds: input.securityGroups.map((group) => group.GroupId),
    instanceProfile: input.instanceProfile,
    capacityType,
    reservedCapacity: deps.reservedCapacity && nodeClass.generation === "v1",
    ...where,
    privateSubnets: input.subnets.every((subnet) => subnet.MapPublicIpOnLaunch === false),
    enclaves: nodeClass.enclaves || asksForEnclaves(claim),
    ipv6: bootstrap.dnsIp?.includes(":") ?? false,
    tags,
  };
  return Promise.all(
    [...groups.values()].map(async ({ ami, pods, efa, cpu, reservation, kubelet, types: own }) => {
      const template = templateOf(deps, {
        ...shared,
        imageId: ami.id,
        bootstrap: {
          ...{ ...bootstrap, kubelet, maxPods: pods },
          imageVersion: imageVersion(nodeClass.amiTerms, ami),
        },
        efaCount: efa,
        cpu,
        reservation,
      });
      try {
        const templateName = await deps.templates.ensure(template);
        return { templateName, imageId: ami.id, types: own, reservation };
      } catch (error) {
        const text = describeError(error);
        throw new CreateError(`creating launch template: ${text}`, launchFailure(text), error);
      }
    }),
  );
}

interface Group {
  readonly ami: Ami;
  readonly pods: number;
  readonly efa: number;
  readonly cpu: CpuChoice | undefined;
  readonly kubelet: ResolvedKubelet | undefined;
  readonly reservation: ReservationTarget | undefined;
  readonly types: LaunchCandidate[];
}

/**
 * The candidate, once for each reservation. A launch template targets one reservation, so each gets its own template.
 */
function byReservation(
  candidate: LaunchCandidate,
): readonly (LaunchCandidate & Pick<Group, "reservation">)[] {
  const { type, offerings } = candidate;
  if (offerings[0]?.capacityType !== "reserved") return [{ ...candidate, reservation: undefined }];
  return offerings.flatMap((offering) => {
    const id = offering.labels?.[LABEL_CAPACITY_RESERVATION_ID];
    if (id === undefined) return [];
    return [{ type, offerings: [offering], reservation: { id, kind: kindOf(offering) } }];
  });
}

function templateOf(
  { templates, metrics }: LaunchDeps,
  input: TemplateInput,
): CreateLaunchTemplateInput {
  try {
    const template = templates.of(input);
    const encoded = template.LaunchTemplateData.UserData ?? "";
    // Base64 encodes three bytes as four characters.
    const padding = encoded.endsWith("==") ? 2 : encoded.endsWith("=") ? 1 : 0;
    const bytes = (encoded.length / 4) * 3 - padding;
    metrics.set("ec2nodeclasses_userdata_bytes", { nodeclass: input.nodeClass.name }, bytes);
    return template;
  } catch (error) {
    if (!(error instanceof UserDataError)) throw error;
    const { message } = error;
    throw new CreateError(message, { reason: "UserDataInvalid", message });
  }
}

async function bootstrapOf(
  { facts, settings }: LaunchDeps,
  { claim, nodeClass }: LaunchInput,
  capacityType: CapacityType,
): Promise<Bootstrap> {
  const [clusterEndpoint, caBundle, dnsIp, clusterCidr] = await Promise.all([
    facts.endpoint(),
    facts.caBundle(),
    facts.dnsIp(),
    nodeClass.amiFamily === "AL2023" ? facts.serviceCidr() : undefined,
  ]);
  return {
    generation: claimGeneration(claim),
    clusterName: settings.clusterName,
    clusterEndpoint,
    caBundle,
    clusterCidr,
    dnsIp,
    kubelet: undefined,
    maxPods: 0,
    labels: { ...claim.metadata.labels, [CAPACITY_TYPE_LABEL_KEY]: capacityType },
    taints: [...(claim.spec.taints ?? []), ...(claim.spec.startupTaints ?? [])],
    raid0: nodeClass.instanceStorePolicy === "RAID0",
    custom: nodeClass.userData,
  };
}

/** Whether the pods of the claim run in Nitro enclaves. */
export function asksForEnclaves({ spec }: NodeClaim): boolean {
  return (parseResources(spec.resources?.requests)[ENCLAVE] ?? 0) > 0;
}

/**
 * EFA interfaces take IP addresses, so they are attached only if pods request the resource or claim such devices.
 * upstream: pkg/providers/amifamily/resolver.go
 */
export function efaCount({ metadata, spec }: NodeClaim, type: InstanceType): number {
  const drivers = metadata.annotations?.[REQUESTED_DRA_DRIVERS_ANNOTATION_KEY]?.split(",") ?? [];
  const wanted = parseResources(spec.resources?.requests)[EFA] ?? 0;
  return wanted > 0 || drivers.includes(EFA_DRIVER) ? (type.capacity[EFA] ?? 0) : 0;
}

/** Counts, for each subnet, the addresses that the smallest possible node would take there. */
function reserveAddresses(
  subnets: Subnets,
  { types }: Candidates,
  chosen: ReadonlyMap<string, Subnet>,
): ReadonlyMap<string, number> {
  const reserved = new Map<string, number>();
  for (const { type, offerings } of types) {
    for (const { zone } of offerings) {
      const id = chosen.get(zone)?.SubnetId;
      if (id === undefined) continue;
      const pods = type.capacity["pods"] ?? 0;
      reserved.set(id, Math.min(reserved.get(id) ?? Number.POSITIVE_INFINITY, pods));
    }
  }
  for (const [id, addresses] of reserved) subnets.reserve(id, addresses);
  return reserved;
}

function toLaunchError(errors: readonly FleetError[], groups: readonly TemplateGroup[]): Error {
  const gone = errors.filter((error) => isLaunchTemplateNotFound(error.ErrorCode));
  if (gone.length > 0) {
    return new TemplateGoneError(
      groups.map((group) => group.templateName),
      gone[0],
    );
  }
  const text = `with fleet error(s), ${describeFleetErrors(errors)}`;
  if (errors.every(isInsufficientCapacity)) return new InsufficientCapacityError(text);
  return new CreateError(`creating instance, ${text}`, launchFailure(text));
}

function imageOf(groups: readonly TemplateGroup[], typeName: string): string {
  const group = groups.find(({ types }) => types.some(({ type }) => type.name === typeName));
  return group?.imageId ?? "";
}
