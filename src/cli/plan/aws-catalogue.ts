/**
 * What AWS sells, without calls to AWS. The provider's own code computes labels, capacity, overhead and offerings
 * from the simulated account with the embedded catalogue. Prices are those of a running Karpenter. Without one,
 * on-demand prices are those of us-east-1 and spot prices are estimates.
 */
import { AWS_NODE_TEMPLATE, type AWSNodeTemplate } from "../../apis/aws/awsnodetemplate.ts";
import {
  EC2_NODE_CLASS,
  type EC2NodeClass,
  type EC2NodeClassStatus,
} from "../../apis/aws/ec2nodeclass.ts";
import { AWS_WELL_KNOWN_LABELS } from "../../apis/aws/labels.ts";
import { type AwsClass, toAwsClass } from "../../apis/hub/aws-class.ts";
import type { Pool } from "../../apis/hub/pool.ts";
import { FACTS } from "../../apis/karpenter/facts.ts";
import type { Provisioner } from "../../apis/karpenter/provisioner.ts";
import { requirementProblem } from "../../apis/karpenter/requirement-validation.ts";
import type { Kind } from "../../apis/meta.ts";
import type { Clock } from "../../base/clock.ts";
import { SILENT } from "../../base/log.ts";
import { Random } from "../../base/random.ts";
import { meantName } from "../../base/slips.ts";
import { VirtualClock } from "../../base/virtual-clock.ts";
import type { InstanceType } from "../../core/cloudprovider/instance-type.ts";
import { deviceGates } from "../../operator/settings/device-gates.ts";
import { parseOptions } from "../../operator/settings/parse-options.ts";
import type { Ami } from "../../providers/aws/ami/choose.ts";
import type { AwsApi } from "../../providers/aws/api/aws-api.ts";
import type { Subnet } from "../../providers/aws/api/network.ts";
import { catalogue } from "../../providers/aws/catalogue/catalogue.ts";
import { InstanceTypes } from "../../providers/aws/instancetype/instance-types.ts";
import { UnavailableOfferings } from "../../providers/aws/offering/unavailable.ts";
import { Prices } from "../../providers/aws/pricing/pricing.ts";
import { refreshPrices } from "../../providers/aws/pricing/refresh.ts";
import { Quotas } from "../../providers/aws/quota/quotas.ts";
import type { Reservation } from "../../providers/aws/reservation/reservations.ts";
import { ZonalShifts } from "../../providers/aws/zonalshift/zonal-shifts.ts";
import { createSimulatedAws } from "../../sandbox/ec2/simulated-aws.ts";
import { CliError } from "../program/cli-error.ts";
import { priceNote, type ReadFacts, settingsWith } from "./facts.ts";
import type { Manifests } from "./manifests.ts";
import { moreZonesIn } from "./region.ts";

const DEFAULT_REGION = "us-east-1";
/** The region of the embedded on-demand prices. */
const PRICED_REGION = "us-east-1";

/** The note about embedded prices. In another region prices differ, so the note names the region of the plan, too. */
function embeddedPriceNote(region: string): string {
  const where =
    region === PRICED_REGION
      ? `as in ${PRICED_REGION}, from the embedded catalogue`
      : `as in ${PRICED_REGION}, because the embedded catalogue has none of ${region}`;
  return `prices: on-demand ${where}; spot prices are estimates`;
}

const ANY_REGION = `region: ${DEFAULT_REGION}, for nothing in the input names a zone of AWS (see --region)`;

/** The facts about a cloud that planning needs. */
export interface Cloud {
  readonly wellKnownLabels: readonly string[];
  /** Kinds of node class that nodes are launched for. Absent: all. */
  readonly nodeClassKinds?: readonly Kind[];
  typesOf(pool: Pool): Promise<readonly InstanceType[]>;
  /** That the pool's node class is not in the input, and how to fix it. Undefined: it is, or nobody needs it. */
  missingClass?(pool: Pool): string | undefined;
  /** Free units of each quota, as a running Karpenter reported. Absent: not known. */
  quotaRoom?(): ReadonlyMap<string, number>;
  /** Notes about pools and prices for the reader of a plan. Notes are added as pools are used. */
  readonly notes: readonly string[];
}

/** An image for every instance, because the images of an account are not known here. */
const ANY_IMAGE: Ami = {
  id: "",
  name: "",
  creationDate: "",
  deprecated: false,
  requirements: [],
};
const SPOT_SEED = 1;

/** Creates the cloud. `known` is the region, or undefined. `facts` are those of a running Karpenter. */
export async function awsCatalogue(
  known: string | undefined,
  manifests: Manifests,
  facts?: ReadFacts,
): Promise<Cloud> {
  const region = known ?? DEFAULT_REGION;
  const clock = stoppedClock();
  const moreZones = moreZonesIn(manifests, region);
  const { api } = simulatedAccount(clock, region, moreZones);
  const told = facts?.prices?.region === region ? facts.prices : undefined;
  const prices = new Prices(told?.onDemand ?? embeddedPrices());
  if (told !== undefined) prices.setSpot(told.spot);
  let priced: Promise<unknown> | undefined;
  const options = parseOptions(settingsWith(facts, {}).flags, {});
  const quotas = new Quotas(clock);
  const devices = deviceGates(options);
  const types = new InstanceTypes({
    ec2: api.ec2,
    clock,
    region,
    prices,
    unavailable: new UnavailableOfferings(clock, SILENT),
    reservations: { version: 0, available: (id) => told?.reserved?.get(id) ?? 0 },
    shifts: new ZonalShifts(clock),
    quotas,
    ...(devices === undefined ? {} : { devices }),
    vmMemoryOverhead: options.vmMemoryOverheadPercent,
    reservedEnis: options.reservedEnis,
    eniLimitedPods: options.eniLimitedPodDensity,
  });
  if (told?.quotas !== undefined) quotas.restore(told.quotas, await types.vcpus());
  const subnets = await subnetsOf(api);
  const ofPrices =
    facts === undefined || told === undefined ? embeddedPriceNote(region) : priceNote(facts);
  const notes: string[] = [];
  if (moreZones.length > 0) notes.push(moreZonesNote(moreZones));
  return {
    wellKnownLabels: AWS_WELL_KNOWN_LABELS,
    nodeClassKinds: [EC2_NODE_CLASS, AWS_NODE_TEMPLATE] as readonly Kind[],
    notes,
    quotaRoom: () => quotas.room(),
    missingClass: (pool) =>
      classOf(pool, manifests) === undefined ? missingClassText(pool, manifests) : undefined,
    typesOf: async (pool) => {
      // A cluster without AWS NodePools needs no spot prices, whose estimates take a third of a second.
      if (told === undefined)
        priced ??= refreshPrices({ api, prices, clock, log: SILENT, region, isolatedVpc: true });
      await priced;
      if (known === undefined) noteOnce(notes, ANY_REGION);
      if (!notes.includes(ofPrices)) notes.unshift(ofPrices);
      const nodeClass = classOf(pool, manifests);
      const used = nodeClass ?? DEFAULT_CLASS;
      const status = statusOf(pool, manifests);
      const reservations = told?.reserved === undefined ? undefined : reservationsIn(status);
      if (reservations === undefined)
        for (const note of reservationNotes(pool, used, status)) noteOnce(notes, note);
      return types.list(used, pool.kubelet ?? used.kubelet, {
        subnets: discovered(status, subnets) ?? subnets,
        amis: imagesIn(status, pool),
        reservations: reservations ?? [],
        placementGroup: undefined,
      });
    },
  };
}

function moreZonesNote(zones: readonly string[]): string {
  const named = zones.length === 1 ? "is a zone of" : "are zones of";
  return `zones: ${zones.join(", ")} ${named} the input; which instance types AWS sells there is not known`;
}

function simulatedAccount(clock: Clock, region: string, moreZones: readonly string[]) {
  return createSimulatedAws({
    clock,
    random: new Random(SPOT_SEED),
    region,
    moreZones,
    clusterName: "plan",
    kubernetesVersion: "1.34",
    nodeGroup: false,
    onInstance: () => undefined,
  });
}

/** A clock that does not advance. A wait on it ends at once. */
function stoppedClock(): Clock {
  const stopped = new VirtualClock();
  return {
    now: () => stopped.now(),
    elapsedMs: () => stopped.elapsedMs(),
    after: (delayMs, callback) => stopped.after(delayMs, callback),
    sleep: () => Promise.resolve(),
    turnMs: () => 0,
  };
}

/** What a plan assumes about a NodePool whose class is missing. In a cluster such a pool is not ready. */
const ASSUMED_CLASS = "a plan takes it to be AL2023";

/** Which class of a NodePool is missing, and how to fix it. */
function missingClassText({ classRef: { kind, name } }: Pool, { nodeClasses }: Manifests): string {
  const known = nodeClasses.filter((one) => one.kind === kind).map(({ metadata }) => metadata.name);
  const meant = meantName(name, known);
  const remedy =
    meant === undefined
      ? `add the ${kind} with -f`
      : `did you mean ${meant}? Then set spec.template.spec.nodeClassRef.name`;
  return `its ${kind} ${name} is not in the input, ${ASSUMED_CLASS}; ${remedy}`;
}

/** One subnet in each zone of the region. */
async function subnetsOf(api: AwsApi): Promise<readonly Subnet[]> {
  const { AvailabilityZones } = await api.ec2.describeAvailabilityZones({});
  return AvailabilityZones.map(({ ZoneName, ZoneId }) => subnetIn(ZoneName, ZoneId));
}

function embeddedPrices(): (readonly [string, number])[] {
  return Object.entries(catalogue().types).flatMap(([name, row]) =>
    row?.usd === undefined ? [] : [[name, row.usd] as const],
  );
}

/** A class for planning: its selectors are ignored, it has subnets in all zones and an image for every type. */
const DEFAULT_CLASS = toAwsClass({
  apiVersion: "karpenter.k8s.aws/v1",
  kind: "EC2NodeClass",
  metadata: { name: "default" },
  spec: {
    amiSelectorTerms: [{ alias: "al2023@latest" }],
    subnetSelectorTerms: [],
    securityGroupSelectorTerms: [],
  },
});

/**
 * The subnets in the class's status. Undefined if none is in a zone of this region, so that a cluster can be
 * planned for another region.
 */
function discovered(
  status: EC2NodeClassStatus | undefined,
  ofRegion: readonly Subnet[],
): readonly Subnet[] | undefined {
  const zones = new Set(ofRegion.map(({ AvailabilityZone }) => AvailabilityZone));
  const found = (status?.subnets ?? []).filter(({ zone }) => zones.has(zone));
  return found.length === 0
    ? undefined
    : found.map(({ id, zone, zoneID }) => subnetIn(zone, zoneID ?? "", id));
}

function statusOf({ classRef }: Pool, { nodeClasses }: Manifests): EC2NodeClassStatus | undefined {
  const native = nodeClasses.find(
    (one) => one.kind === classRef.kind && one.metadata.name === classRef.name,
  );
  return native?.status as EC2NodeClassStatus | undefined;
}

/** The images in the class's status. Without a status, every image is assumed to exist. Throws CliError. */
function imagesIn(status: EC2NodeClassStatus | undefined, { classRef }: Pool): readonly Ami[] {
  const found = status?.amis ?? [];
  if (found.length === 0) return [ANY_IMAGE];
  for (const [index, { requirements = [] }] of found.entries())
    for (const [at, one] of requirements.entries()) {
      const why = requirementProblem(one, [one.key]);
      const place = `${classRef.kind} ${classRef.name}: status.amis[${index}].requirements[${at}]`;
      if (why !== undefined) throw new CliError(`${place}: ${why}`);
    }
  return found.map(({ id, name = "", deprecated = false, requirements = [] }) => ({
    ...ANY_IMAGE,
    id,
    name,
    deprecated,
    requirements,
  }));
}

/** The reservations in the class's status, of kinds that a provider serves. */
function reservationsIn(status: EC2NodeClassStatus | undefined): readonly Reservation[] {
  return (status?.capacityReservations ?? []).flatMap((one) => {
    const { id, instanceType, interruptible, state, endTime } = one;
    const { instanceMatchCriteria: matchCriteria, reservationType: type } = one;
    if (matchCriteria !== "open" && matchCriteria !== "targeted") return [];
    if (type !== "default" && type !== "capacity-block") return [];
    const place = { zone: one.availabilityZone, ownerId: one.ownerID };
    return [{ id, instanceType, ...place, matchCriteria, type, interruptible, state, endTime }];
  });
}

/** Notes on reservations that are left out because the input does not say enough about them. */
function reservationNotes(
  { classRef: { kind, name } }: Pool,
  { reservationTerms }: AwsClass,
  status: EC2NodeClassStatus | undefined,
): string[] {
  const isFound = reservationsIn(status).length > 0;
  // A status without reservations says that there are none.
  const isAsked = status === undefined && reservationTerms.length > 0;
  if (!isFound && !isAsked) return [];
  const unknown = isFound ? "how many instances they have room for" : "which there are";
  return [
    `${kind} ${name}: its capacity reservations are left out, for the input does not say ${unknown}; read the cluster with --cluster, or add the ConfigMap ${FACTS}`,
  ];
}

function noteOnce(notes: string[], note: string): void {
  if (!notes.includes(note)) notes.push(note);
}

function subnetIn(zone: string, zoneId: string, id = `subnet-${zone}`): Subnet {
  return {
    SubnetId: id,
    VpcId: "vpc",
    AvailabilityZone: zone,
    AvailabilityZoneId: zoneId,
    AvailableIpAddressCount: 1_000_000,
    Tags: [],
  };
}

function classOf(pool: Pool, { nodeClasses, pools }: Manifests): AwsClass | undefined {
  if (pool.inlineProvider !== undefined) {
    const native = pools.find(
      (one) => one.kind === "Provisioner" && one.metadata.name === pool.name,
    );
    return native === undefined ? undefined : toAwsClass(native as Provisioner);
  }
  const { kind, name } = pool.classRef;
  const native = nodeClasses.find((one) => one.kind === kind && one.metadata.name === name);
  return native === undefined ? undefined : toAwsClass(native as EC2NodeClass | AWSNodeTemplate);
}
