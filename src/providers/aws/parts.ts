/**
 * The parts of the provider, one for each kind of AWS resource, made once and shared with its controllers. Also the
 * settings and dependencies that they are made from.
 */
import type { Clock } from "../../base/clock.ts";
import type { Logger } from "../../base/log.ts";
import type { Metrics } from "../../base/metrics.ts";
import { StandingProblems } from "../../base/standing-problems.ts";
import type { EndImpaired } from "../../core/cloudprovider/cloud-provider.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import type { EventRecorder } from "../../kube/events/events.ts";
import type { Mirrors } from "../../kube/mirror/mirror.ts";
import { Amis } from "./ami/amis.ts";
import type { AwsApi } from "./api/aws-api.ts";
import { catalogue } from "./catalogue/catalogue.ts";
import { ClusterFacts } from "./cluster/cluster-facts.ts";
import { clusterUid } from "./cluster/cluster-uid.ts";
import type { DeviceGates } from "./dra/templates.ts";
import { Ec2Batches } from "./instance/ec2-batches.ts";
import { InstanceProfiles } from "./instanceprofile/instance-profiles.ts";
import { InstanceTypes } from "./instancetype/instance-types.ts";
import { OfferedTypes } from "./instancetype/offered-types.ts";
import { SeenTypes } from "./instancetype/seen-types.ts";
import { LaunchTemplates } from "./launchtemplate/launch-templates.ts";
import { type ClassSource, createClassSource } from "./nodeclass/class-source.ts";
import { Trials } from "./nodeclass/trials.ts";
import { UnavailableOfferings } from "./offering/unavailable.ts";
import { PlacementGroups } from "./placementgroup/placement-groups.ts";
import { Prices } from "./pricing/pricing.ts";
import { Quotas } from "./quota/quotas.ts";
import type { RepairSettings } from "./repair-policies.ts";
import { CapacityReservations } from "./reservation/reservations.ts";
import { SecurityGroups } from "./securitygroup/security-groups.ts";
import { Subnets } from "./subnet/subnets.ts";
import type { Tags } from "./tags/tags.ts";
import { ZonalShifts } from "./zonalshift/zonal-shifts.ts";

/**
 * Milliseconds for which answers are cached. upstream: --ami-refresh-interval, --subnet-refresh-interval,
 * --security-group-refresh-interval
 */
const REFRESH_MS = 60_000;

/** Settings of the AWS provider. An absent one has upstream's default. */
export interface AwsSettings {
  readonly clusterName: string;
  /** The API server's address for nodes. Empty: it is read from EKS. */
  readonly clusterEndpoint: string;
  readonly clusterCaBundle?: string;
  readonly region: string;
  readonly eksControlPlane?: boolean;
  /** The setting `aws.defaultInstanceProfile`: the profile for AWSNodeTemplates that name none. */
  readonly defaultInstanceProfile?: string;
  /** The setting `aws.tags`: tags for everything that is launched for v1alpha5 and v1beta1 classes. */
  readonly tags?: Tags;
  /** Share of an instance's memory that the hypervisor takes. Absent: 0.075. */
  readonly vmMemoryOverheadPercent?: number;
  readonly reservedEnis?: number;
  /** The v1alpha5 setting `aws.enableENILimitedPodDensity`: whether network interfaces limit the number of pods. */
  readonly eniLimitedPodDensity?: boolean;
  /** The setting `aws.enablePodENI`: whether v1alpha5 nodes offer `vpc.amazonaws.com/pod-eni`. */
  readonly podEni?: boolean;
  readonly isolatedVpc?: boolean;
  /** Whether core's feature gate ReservedCapacity is on. Absent: on. */
  readonly reservedCapacity?: boolean;
  /** Whether spot nodes are replaced on a rebalance recommendation. Absent: no. */
  readonly actOnRebalance?: boolean;
  /** Whether the permission checks by dry runs are skipped. */
  readonly disableDryRun?: boolean;
  /** How long answers about images, subnets and security groups are cached. Absent: a minute. */
  readonly amiRefreshMs?: number;
  readonly subnetRefreshMs?: number;
  readonly securityGroupRefreshMs?: number;
  /** Whether the feature gate NodeClassCEL is on. Absent: off. */
  readonly kubeletExpressions?: boolean;
  /** Which node conditions node repair acts on. Absent: upstream's default. */
  readonly repair?: RepairSettings;
  /** Drivers whose devices pods may claim (DRA); none by default. */
  readonly devices?: DeviceGates;
  /** Whether ARC zonal shifts of the cluster are followed. Absent: no. */
  readonly zonalShift?: boolean;
  /** Whether launches keep within the account's vCPU quotas. Absent: no. */
  readonly quotaAwareness?: boolean;
  /** Name of the SQS queue with interruption messages. Empty: there is none. */
  readonly interruptionQueue?: string;
}

/** What the AWS provider needs from the operator. */
export interface AwsDeps {
  readonly api: AwsApi;
  readonly kube: KubeClient;
  readonly mirrors: Mirrors;
  readonly clock: Clock;
  readonly log: Logger;
  readonly events: EventRecorder;
  readonly metrics: Metrics;
  readonly settings: AwsSettings;
  readonly endImpaired: EndImpaired;
}

/** The parts of the provider, made once and shared with its controllers. */
export interface AwsParts {
  readonly classes: ClassSource;
  readonly facts: ClusterFacts;
  readonly prices: Prices;
  readonly unavailable: UnavailableOfferings;
  readonly subnets: Subnets;
  readonly securityGroups: SecurityGroups;
  readonly amis: Amis;
  readonly profiles: InstanceProfiles;
  readonly instanceTypes: InstanceTypes;
  readonly offered: OfferedTypes;
  readonly templates: LaunchTemplates;
  readonly batches: Ec2Batches;
  readonly reservations: CapacityReservations;
  readonly placementGroups: PlacementGroups;
  readonly trials: Trials;
  /** Differences of nodes that EC2's answers do not prove, as they were logged. */
  readonly doubts: StandingProblems;
  readonly shifts: ZonalShifts;
  /** The account's quotas. Without quota awareness this object has none, so it refuses nothing. */
  readonly quotas: Quotas;
  readonly seen: SeenTypes;
  /**
   * UIDs of claims whose instances EC2 will take back, as it has announced. The interruption controller updates this
   * set.
   */
  readonly takenBack: Set<string>;
}

/** Makes the parts once; they share caches. */
export function createParts(deps: AwsDeps): AwsParts {
  const { api, kube, clock, settings, mirrors } = deps;
  const log = deps.log.named("aws");
  const { clusterName, region } = settings;
  const facts = new ClusterFacts(api, kube, clock, settings);
  const prices = new Prices(fallbackPrices());
  const unavailable = new UnavailableOfferings(clock, log);
  const shifts = new ZonalShifts(clock);
  const quotas = new Quotas(clock);
  const reservations = new CapacityReservations({ ec2: api.ec2, clock, log });
  return {
    classes: createClassSource(mirrors),
    facts,
    prices,
    unavailable,
    subnets: new Subnets({
      ...{ ec2: api.ec2, clock, log },
      refreshMs: settings.subnetRefreshMs ?? REFRESH_MS,
    }),
    securityGroups: new SecurityGroups({
      ...{ ec2: api.ec2, clock, log },
      refreshMs: settings.securityGroupRefreshMs ?? REFRESH_MS,
    }),
    amis: new Amis({
      ...{ api, clock, log },
      refreshMs: settings.amiRefreshMs ?? REFRESH_MS,
      kubernetesVersion: () => facts.kubernetesVersion(),
    }),
    profiles: new InstanceProfiles({
      ...{ iam: api.iam, ec2: api.ec2, clock, log },
      clusterName,
      region,
      clusterUid: () => clusterUid(mirrors),
      defaultInstanceProfile: settings.defaultInstanceProfile ?? "",
    }),
    instanceTypes: new InstanceTypes({
      ec2: api.ec2,
      log,
      clock,
      region,
      prices,
      unavailable,
      reservations,
      shifts,
      quotas,
      vmMemoryOverhead: settings.vmMemoryOverheadPercent ?? 0.075,
      reservedEnis: settings.reservedEnis ?? 0,
      eniLimitedPods: settings.eniLimitedPodDensity ?? true,
      podEni: settings.podEni ?? true,
      kubeletExpressions: settings.kubeletExpressions ?? false,
      ...(settings.devices === undefined ? {} : { devices: settings.devices }),
    }),
    offered: new OfferedTypes(api.ec2, clock),
    templates: new LaunchTemplates({
      ...{ ec2: api.ec2, clock, log, clusterName },
      clusterUid: () => clusterUid(mirrors),
    }),
    batches: new Ec2Batches(api.ec2, clock, deps.metrics),
    reservations,
    shifts,
    quotas,
    placementGroups: new PlacementGroups(api.ec2, clock),
    seen: new SeenTypes(clock),
    trials: new Trials(api.ec2, clock, clusterName),
    doubts: new StandingProblems(log, clock),
    takenBack: new Set(),
  };
}

function fallbackPrices(): readonly (readonly [string, number])[] {
  return Object.entries(catalogue().types).flatMap(([name, row]) =>
    row?.usd === undefined ? [] : [[name, row.usd] as const],
  );
}
