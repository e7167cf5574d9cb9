/**
 * The account with which every simulation begins:
 * - a VPC with three private subnets and two security groups, with Karpenter's discovery tags;
 * - stock images, the node role and its instance profile;
 * - the EKS cluster, and the interruption queue with its rules;
 * - two nodes of a node group that Karpenter does not manage.
 */

import type { Clock } from "../../base/clock.ts";
import { fieldOf } from "../../base/json.ts";
import { Random } from "../../base/random.ts";
import type { Tag } from "../../providers/aws/api/call.ts";
import type { EksCluster } from "../../providers/aws/api/eks.ts";
import type { AvailabilityZone } from "../../providers/aws/api/network.ts";
import type { Trace } from "../trace.ts";
import { Faults } from "./account/faults.ts";
import type { AwsState, InstanceTimings, SubnetRecord } from "./account/state.ts";
import { newId, setTags } from "./account/state.ts";
import type { KubeletFacts } from "./boot/kubelet-facts.ts";
import { unmanagedKubelet } from "./boot/kubelet-facts.ts";
import { publishStockImages } from "./instances/images.ts";
import { launch } from "./instances/instances.ts";
import { parseCidr } from "./instances/network.ts";
import { catalogueOf, embeddedCatalogue } from "./market/catalogue.ts";
import { installRules } from "./queues/event-bus.ts";
import { createQueue } from "./queues/sqs.ts";

/** Region and cluster of the account. */
export interface BaseOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly region: string;
  /** More zones of the region than a to c, from d to f. The cluster has no subnets there. Default: none. */
  readonly moreZones?: readonly string[];
  readonly clusterName: string;
  /** The version, such as `1.34` or `v1.34.2`. Images are published for the minor version. */
  readonly kubernetesVersion: string;
  readonly accountId?: string;
  readonly clusterEndpoint?: string;
  /** The cluster's CA as PEM text in base64. */
  readonly clusterCaBundle?: string;
  readonly timings?: Partial<InstanceTimings>;
  readonly trace?: Trace;
  /** Whether the region sells a type; absent: it sells all. */
  readonly sells?: (instanceType: string) => boolean;
}

const TIMINGS: InstanceTimings = {
  pendingMs: 5_000,
  shuttingDownMs: 20_000,
  forgetAfterMs: 3_600_000,
};

/** Creates the account with network, images and identities, but without instances. */
export function createBaseState(options: BaseOptions, notify: AwsState["notify"]): AwsState {
  const random = options.random.fork("aws");
  const version = minorOf(options.kubernetesVersion);
  const vpcId = `vpc-${random.hex(17)}`;
  const spotSeed = random.uint32();
  const state: AwsState = {
    clock: options.clock,
    random,
    timings: { ...TIMINGS, ...options.timings },
    notify,
    trace: options.trace,
    catalogue: options.sells === undefined ? embeddedCatalogue() : catalogueOf(options.sells),
    faults: new Faults(),
    region: options.region,
    accountId: options.accountId ?? "123456789012",
    clusterName: options.clusterName,
    vpcId,
    zones: zonesOf(options.region, options.moreZones ?? []),
    spotSeed,
    cluster: clusterOf(options, version, random),
    subnets: new Map(),
    securityGroups: new Map(),
    images: new Map(),
    parameters: new Map(),
    roles: new Map(),
    profiles: new Map(),
    launchTemplates: new Map(),
    launchTemplateIdByName: new Map(),
    instances: new Map(),
    volumes: new Map(),
    fleets: new Map(),
    capacityReservations: new Map(),
    placementGroups: new Map(),
    impaired: new Map(),
    tags: new Map(),
    notOffered: new Set(),
    policy: undefined,
    queues: new Map(),
    rules: new Map(),
    zonalShifts: new Map(),
    messageIds: new Random(`${spotSeed}/messages`),
  };
  addNetwork(state);
  addIdentities(state);
  publishStockImages(state, version);
  // Karpenter's installation makes the same: a queue with the cluster's name, and the rules that
  // send events to it.
  const queue = createQueue(state, state.clusterName, { MessageRetentionPeriod: "300" });
  installRules(state, queue.settings.arn);
  return state;
}

function minorOf(version: string): string {
  return /(\d+\.\d+)/.exec(version)?.[1] ?? version;
}

const DIRECTIONS: Readonly<Record<string, string>> = {
  north: "n",
  south: "s",
  east: "e",
  west: "w",
  central: "c",
  northeast: "ne",
  northwest: "nw",
  southeast: "se",
  southwest: "sw",
  gov: "g",
  iso: "i",
};

const USUAL_ZONES = 3;

/** The zones a to c, and `more`. Zone ids have AWS's short form of the region: `us-west-2` gives `usw2-az1`. */
function zonesOf(region: string, more: readonly string[]): AvailabilityZone[] {
  const short = region
    .split("-")
    .map((part) => fieldOf(DIRECTIONS, part) ?? part)
    .join("");
  return ["a", "b", "c", "d", "e", "f"].flatMap((letter, index): AvailabilityZone[] => {
    const ZoneName = `${region}${letter}`;
    if (index >= USUAL_ZONES && !more.includes(ZoneName)) return [];
    const ZoneId = `${short}-az${index + 1}`;
    return [
      {
        ZoneName,
        ZoneId,
        ZoneType: "availability-zone",
        State: "available",
        RegionName: region,
      },
    ];
  });
}

function clusterOf(options: BaseOptions, version: string, random: Random): EksCluster {
  const { region, clusterName } = options;
  const account = options.accountId ?? "123456789012";
  const pem = "-----BEGIN CERTIFICATE-----\nc2ltdWxhdGVk\n-----END CERTIFICATE-----\n";
  return {
    name: clusterName,
    arn: `arn:aws:eks:${region}:${account}:cluster/${clusterName}`,
    version,
    endpoint:
      options.clusterEndpoint ??
      `https://${random.hex(32).toUpperCase()}.gr7.${region}.eks.amazonaws.com`,
    status: "ACTIVE",
    certificateAuthority: {
      data: options.clusterCaBundle ?? Buffer.from(pem).toString("base64"),
    },
    kubernetesNetworkConfig: { serviceIpv4Cidr: "10.100.0.0/16", ipFamily: "ipv4" },
  };
}

function discoveryTags(clusterName: string): Tag[] {
  return [
    { Key: "karpenter.sh/discovery", Value: clusterName },
    { Key: "alpha.eksctl.io/cluster-name", Value: clusterName },
    { Key: `kubernetes.io/cluster/${clusterName}`, Value: "owned" },
  ];
}

function addNetwork(state: AwsState): void {
  const { clusterName } = state;
  setTags(state, state.vpcId, [
    { Key: "Name", Value: `eksctl-${clusterName}-cluster/VPC` },
    ...discoveryTags(clusterName),
  ]);
  for (const [index, zone] of state.zones.slice(0, USUAL_ZONES).entries()) {
    const subnet = addSubnet(state, { zone: zone.ZoneName, cidr: `10.0.${32 * (index + 3)}.0/19` });
    const label = zone.ZoneName.toUpperCase().replaceAll("-", "");
    setTags(state, subnet.id, [
      { Key: "Name", Value: `eksctl-${clusterName}-cluster/SubnetPrivate${label}` },
      { Key: "kubernetes.io/role/internal-elb", Value: "1" },
      ...discoveryTags(clusterName),
    ]);
  }
  const groups = [
    ["ClusterSharedNodeSecurityGroup", "Communication between all nodes in the cluster"],
    ["ControlPlaneSecurityGroup", "Communication between the control plane and nodes"],
  ] as const;
  for (const [name, description] of groups) {
    const id = newId(state, "sg");
    const fullName = `eksctl-${clusterName}-cluster-${name}`;
    state.securityGroups.set(id, { id, name: fullName, vpcId: state.vpcId, description });
    setTags(state, id, [
      { Key: "Name", Value: `eksctl-${clusterName}-cluster/${name}` },
      ...discoveryTags(clusterName),
    ]);
  }
}

/** A subnet to create. Without an id it gets a random one. */
export interface SubnetSeed {
  readonly id?: string;
  readonly zone: string;
  /** The address range, such as `10.0.32.0/19`. */
  readonly cidr: string;
  readonly vpcId?: string;
  readonly isPublic?: boolean;
  /** The number of free addresses at first. Default: as many as the subnet can have. */
  readonly freeAddresses?: number;
}

/** Creates a subnet. */
export function addSubnet(state: AwsState, seed: SubnetSeed): SubnetRecord {
  const zone = state.zones.find((known) => known.ZoneName === seed.zone);
  if (zone === undefined) {
    const known = state.zones.map(({ ZoneName }) => ZoneName).join(", ");
    throw new Error(`adding subnet: zone ${seed.zone} does not exist; use one of ${known}`);
  }
  const record: SubnetRecord = {
    id: seed.id ?? newId(state, "subnet"),
    vpcId: seed.vpcId ?? state.vpcId,
    zone: zone.ZoneName,
    zoneId: zone.ZoneId,
    cidr: seed.cidr,
    ...parseCidr(seed.cidr),
    isPublic: seed.isPublic ?? false,
    used: new Set(),
    freeOverride: seed.freeAddresses,
    nextOffset: 10,
  };
  state.subnets.set(record.id, record);
  return record;
}

function addIdentities(state: AwsState): void {
  const role = `KarpenterNodeRole-${state.clusterName}`;
  const profile = `KarpenterNodeInstanceProfile-${state.clusterName}`;
  const id = state.random.hex(16).toUpperCase();
  const createdMs = state.clock.now();
  state.roles.set(role, { name: role, path: "/", id: `AROA${id}`, createdMs });
  state.profiles.set(profile, {
    name: profile,
    path: "/",
    id: `AIPA${id}`,
    createdMs: state.clock.now(),
    tags: new Map(),
    role,
  });
}

/** Type of the two nodes that Karpenter does not manage. */
const UNMANAGED_TYPE = "m5.large";

/**
 * Starts the node group's instances in the first two zones. They count as running for an hour already.
 * Returns what their kubelets report.
 */
export function startNodeGroup(state: AwsState): readonly KubeletFacts[] {
  const nodeGroup = `${state.clusterName}-ng`;
  const image = [...state.images.values()].find(
    ({ family, variant, image: { Architecture } }) =>
      family === "AL2023" && variant === "standard" && Architecture === "x86_64",
  );
  if (image === undefined) throw new Error("starting node group: no AL2023 image is published");
  return state.zones.slice(0, 2).flatMap((zone) => {
    const subnet = [...state.subnets.values()].find((known) => known.zone === zone.ZoneName);
    if (subnet === undefined) return [];
    const tags = [
      { Key: "Name", Value: `${nodeGroup}-Node` },
      { Key: "eks:cluster-name", Value: state.clusterName },
      { Key: "eks:nodegroup-name", Value: nodeGroup },
      { Key: `kubernetes.io/cluster/${state.clusterName}`, Value: "owned" },
    ];
    const record = launch(state, {
      type: UNMANAGED_TYPE,
      image,
      subnet,
      capacityType: "on-demand",
      data: {},
      securityGroupIds: [...state.securityGroups.keys()],
      profileName: `KarpenterNodeInstanceProfile-${state.clusterName}`,
      fleetId: undefined,
      instanceTags: tags,
      volumeTags: tags,
      interfaceTags: [],
      spotRequestTags: [],
      alreadyRunning: true,
    });
    if (record === undefined) return [];
    return [
      unmanagedKubelet(state, record, {
        "alpha.eksctl.io/cluster-name": state.clusterName,
        "alpha.eksctl.io/nodegroup-name": nodeGroup,
        "eks.amazonaws.com/nodegroup": nodeGroup,
        "eks.amazonaws.com/capacityType": "ON_DEMAND",
      }),
    ];
  });
}
