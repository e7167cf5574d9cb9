/**
 * The instance types that a class can launch, with their current offerings. What rarely changes (labels, capacity) is
 * kept apart from what changes often (prices, availability). While nothing changes, callers get the same objects,
 * because the planner identifies types by object. A list is made in steps, once for all callers.
 * upstream: pkg/providers/instancetype
 */
import {
  LABEL_CAPACITY_RESERVATION_ID,
  LABEL_CAPACITY_RESERVATION_INTERRUPTIBLE,
  LABEL_CAPACITY_RESERVATION_TYPE,
} from "../../../apis/aws/labels.ts";
import type { AwsClass } from "../../../apis/hub/aws-class.ts";
import type { Generation } from "../../../apis/hub/generation.ts";
import type { KubeletConfiguration, ResolvedKubelet } from "../../../apis/karpenter/kubelet.ts";
import type { Resources } from "../../../apis/resources.ts";
import type { Clock } from "../../../base/clock.ts";
import { canonicalJson, deepEqual } from "../../../base/json.ts";
import type { Logger } from "../../../base/log.ts";
import { inTurns, mapInSteps } from "../../../base/steps.ts";
import type { InstanceType, Offering } from "../../../core/cloudprovider/instance-type.ts";
import { type Ami, amiFor } from "../ami/choose.ts";
import { allPages } from "../api/call.ts";
import type { Ec2Api } from "../api/ec2.ts";
import type { InstanceTypeInfo } from "../api/images-and-types.ts";
import { TtlCache } from "../cache/ttl-cache.ts";
import { type Catalogue, catalogue } from "../catalogue/catalogue.ts";
import { type GpuSharing, sharingOf } from "../dra/sharing.ts";
import { type DeviceGates, dynamicResourcesOf } from "../dra/templates.ts";
import { expressionsOf, resolveKubelet } from "../kubelet/expressions.ts";
import type { UnavailableOfferings } from "../offering/unavailable.ts";
import type { Prices } from "../pricing/pricing.ts";
import type { Quotas } from "../quota/quotas.ts";
import type { CapacityReservations, Reservation } from "../reservation/reservations.ts";
import { zonesOf } from "../subnet/subnets.ts";
import type { ZonalShifts } from "../zonalshift/zonal-shifts.ts";
import { baselineOf } from "./baseline.ts";
import { type CapacitySettings, capacityOf, overheadOf, podCount } from "./capacity.ts";
import { type CpuChoice, cpuChoice, withCpuChoice } from "./cpu-options.ts";
import { archOf, capacityTypesOf, labelsOf, reservationLabels } from "./labels.ts";
import { LastAsked, type Selected, type TypesRequest } from "./last-asked.ts";
import { LearnedMemory } from "./learned-memory.ts";
import { type Needs, needsOf, serves } from "./needs.ts";
import { sizedOf } from "./sized.ts";
import { volumeAttachmentLimits } from "./volume-limits.ts";

/** Milliseconds between two readings of the types. upstream: providers.instancetype controller */
const REFRESH_MS = 12 * 3_600_000;
/**
 * Number of lists that are kept, one for each combination of class settings. With more combinations, lists are made
 * again.
 */
const KEPT_LISTS = 32;
/** Types in one step, which takes some milliseconds. A step must stay short, because health checks wait for it. */
const TYPES_PER_TURN = 64;

/** The dependencies of {@link InstanceTypes}. */
export interface InstanceTypesDeps {
  readonly ec2: Ec2Api;
  readonly clock: Clock;
  readonly region: string;
  /** Receives a line about each type that is left out. Absent: they are not logged. */
  readonly log?: Logger;
  readonly prices: Prices;
  readonly unavailable: UnavailableOfferings;
  readonly reservations: Pick<CapacityReservations, "available" | "version">;
  readonly shifts: Pick<ZonalShifts, "has" | "version">;
  readonly quotas: Pick<Quotas, "refusal" | "taken" | "version">;
  readonly vmMemoryOverhead: number;
  readonly reservedEnis: number;
  readonly eniLimitedPods: boolean;
  /** Whether the feature gate NodeClassCEL is on. Absent: off. */
  readonly kubeletExpressions?: boolean;
  /** Drivers whose devices pods may claim. Absent: none. */
  readonly devices?: DeviceGates;
  /** v1alpha5: whether the capacity includes network interfaces for single pods. Absent: yes. */
  readonly podEni?: boolean;
}

/** The instance types of the region, and the zones that offer each, read together from EC2. */
interface Region {
  /** Instance types, by name. */
  readonly infos: readonly InstanceTypeInfo[];
  /** Zones that offer each type, ascending. */
  readonly zones: ReadonlyMap<string, readonly string[]>;
}

/** A type without its offerings. */
interface Bare {
  readonly type: Omit<InstanceType, "offerings">;
  readonly capacityTypes: readonly ("on-demand" | "spot")[];
  readonly offeredZones: readonly string[];
  /** The class's reservations of this type. */
  readonly reservations: readonly Reservation[];
  /** The placement group of the class. */
  readonly group: { readonly id: string } | undefined;
  /** Whether the type can do what the class requires. */
  readonly launchable: boolean;
  overheadOf(capacity: Resources): Resources;
}

/** Kubelet settings before their expressions are evaluated for a type. */
type TypeSettings = Omit<CapacitySettings, "kubelet"> & {
  readonly kubelet: KubeletConfiguration | undefined;
};

interface MadeWith extends Pick<Selected, "reservations" | "placementGroup"> {
  readonly region: Region;
  readonly settings: TypeSettings;
  readonly zones: ReadonlyMap<string, string>;
  readonly generation: Generation;
  readonly needs: Needs;
  readonly sharing: GpuSharing;
}

interface Asked {
  readonly key: string;
  readonly imageKey: string;
  readonly set: Omit<MadeWith, "region">;
}

interface Kept {
  readonly region: Region;
  readonly bare: Promise<readonly Bare[]>;
  /** Version of the list below. It changes with prices, unavailable offerings and images. */
  version: string;
  list: Promise<readonly InstanceType[]>;
}

/** The instance types of a node class, with their offerings. The same objects are returned while nothing changes. */
export class InstanceTypes {
  /** The memory that nodes reported. */
  readonly memory: LearnedMemory;
  readonly #deps: InstanceTypesDeps;
  readonly #catalogue: Catalogue;
  readonly #region: TtlCache<Region>;
  #last: Region | undefined;
  readonly #asked = new LastAsked<Asked>();
  /** Lists by a key of their settings, least recently used first. */
  readonly #kept = new Map<string, Kept>();

  constructor(deps: InstanceTypesDeps, data: Catalogue = catalogue()) {
    this.#deps = deps;
    this.memory = new LearnedMemory(deps.clock);
    this.#catalogue = data;
    this.#region = new TtlCache(deps.clock, REFRESH_MS);
  }

  /** All types, by name. A type that no image of `amis` fits is listed, too, with all offerings unavailable. */
  async list(
    nodeClass: AwsClass,
    kubelet: KubeletConfiguration | undefined,
    selected: Selected,
  ): Promise<readonly InstanceType[]> {
    const { amis, reservations } = selected;
    const region = await this.#region.get("", () => this.#read());
    const request = { nodeClass, kubelet, selected };
    const { key, imageKey, set } = this.#asked.get(request, () => this.#keysOf(request));
    const kept = this.#keep(key, region, () => this.#bare({ region, ...set }));
    const { prices, unavailable, shifts, quotas } = this.#deps;
    const counted = reservations.length === 0 ? 0 : this.#deps.reservations.version;
    const version = `${prices.version}/${unavailable.version}/${counted}/${shifts.version}/${quotas.version}/${this.memory.version}/${imageKey}`;
    if (kept.version !== version) {
      kept.version = version;
      kept.list = this.#offered(kept, set.zones, amis);
    }
    try {
      return await kept.list;
    } catch (error) {
      this.#kept.delete(key);
      throw error;
    }
  }

  /** What the types of a request are made from, and the keys by which they are cached. */
  #keysOf({ nodeClass, kubelet, selected }: TypesRequest): Asked {
    const { subnets, amis, reservations, placementGroup } = selected;
    const settings = this.#settings(nodeClass, kubelet);
    const zones = zonesOf(subnets);
    const { generation } = nodeClass;
    const needs = needsOf(nodeClass, placementGroup);
    const sharing = sharingOf(nodeClass);
    const key = canonicalJson([settings, [...zones], generation, reservations, needs, sharing]);
    const imageKey = canonicalJson(amis.map((ami) => [ami.id, ami.requirements]));
    const set = { settings, zones, generation, reservations, placementGroup, needs, sharing };
    return { key, imageKey, set };
  }

  /** The list with current offerings. A type whose offerings did not change is the same object as before. */
  async #offered(
    { bare, list }: Kept,
    zones: ReadonlyMap<string, string>,
    amis: readonly Ami[],
  ): Promise<readonly InstanceType[]> {
    const before = new Map((await list).map((type) => [type.name, type]));
    return this.#inTurns(await bare, (one) =>
      this.#withOfferings(one, zones, amis, before.get(one.type.name)),
    );
  }

  #inTurns<T, R>(items: readonly T[], make: (item: T) => R): Promise<readonly R[]> {
    return inTurns(this.#deps.clock, mapInSteps(items, TYPES_PER_TURN, make), 0);
  }

  /** The kubelet settings for nodes of this type. */
  kubeletFor(
    type: string,
    nodeClass: AwsClass,
    kubelet: KubeletConfiguration | undefined,
  ): ResolvedKubelet | undefined {
    if (expressionsOf(kubelet).length === 0) return kubelet as ResolvedKubelet | undefined;
    const info = this.#info(type);
    if (info === undefined) return undefined;
    const sized = withCpuChoice(info, nodeClass);
    return this.#resolved(sized, this.#settings(nodeClass, kubelet)).kubelet;
  }

  /** The cores and threads that the class chooses for the type. Undefined: the type's own. */
  cpuFor(type: string, nodeClass: AwsClass): CpuChoice | undefined {
    const info = this.#info(type);
    return info === undefined ? undefined : cpuChoice(info, nodeClass);
  }

  /** The vCPUs that EC2 counts for each type, no matter how many cores a launch chooses. */
  async vcpus(): Promise<ReadonlyMap<string, number>> {
    const { infos } = await this.#region.get("", () => this.#read());
    return new Map(infos.map((one) => [one.InstanceType, one.VCpuInfo.DefaultVCpus]));
  }

  #info(type: string): InstanceTypeInfo | undefined {
    return this.#last?.infos.find((one) => one.InstanceType === type);
  }

  /** The first type for which an expression gives no valid number. */
  async expressionProblem(nodeClass: AwsClass): Promise<string | undefined> {
    if (expressionsOf(nodeClass.kubelet).length === 0) return undefined;
    const { infos } = await this.#region.get("", () => this.#read());
    const settings = this.#settings(nodeClass, nodeClass.kubelet);
    for (const info of infos) {
      const { problem } = this.#resolve(info, settings);
      if (problem !== undefined) return problem;
    }
    return undefined;
  }

  #resolve(info: InstanceTypeInfo, settings: TypeSettings): ReturnType<typeof resolveKubelet> {
    const density = podCount(info, { ...settings, kubelet: undefined });
    const enabled = this.#deps.kubeletExpressions === true;
    return resolveKubelet(settings.kubelet, info, { enabled, density });
  }

  #resolved(info: InstanceTypeInfo, settings: TypeSettings): CapacitySettings {
    return { ...settings, kubelet: this.#resolve(info, settings).kubelet };
  }

  #settings(nodeClass: AwsClass, kubelet: KubeletConfiguration | undefined): TypeSettings {
    const { vmMemoryOverhead, reservedEnis, eniLimitedPods, podEni = true } = this.#deps;
    return {
      family: nodeClass.amiFamily,
      blockDeviceMappings: nodeClass.blockDeviceMappings,
      instanceStorePolicy: nodeClass.instanceStorePolicy,
      kubelet,
      countsSoftEviction: nodeClass.generation !== "v1",
      vmMemoryOverhead,
      reservedEnis,
      // After v1alpha5, network interfaces always limit the number of pods.
      eniLimitedPods: nodeClass.generation === "alpha" ? eniLimitedPods : true,
      podEni: nodeClass.generation === "alpha" ? podEni : true,
      networkInterfaces: nodeClass.networkInterfaces,
    };
  }

  #keep(key: string, region: Region, make: () => Kept["bare"]): Kept {
    let kept = this.#kept.get(key);
    if (kept === undefined || kept.region !== region) {
      kept = { region, bare: make(), version: "", list: Promise.resolve([]) };
    }
    this.#kept.delete(key);
    this.#kept.set(key, kept);
    if (this.#kept.size > KEPT_LISTS) {
      this.#kept.delete(this.#kept.keys().next().value as string);
    }
    return kept;
  }

  #bare(made: MadeWith): Promise<readonly Bare[]> {
    const { region, zones, generation, placementGroup } = made;
    return this.#inTurns(region.infos, (info) => {
      const sized = withCpuChoice(info, made.needs.cpu);
      const settings = this.#resolved(sized, made.settings);
      const row = this.#catalogue.types[info.InstanceType];
      const offeredZones = region.zones.get(info.InstanceType) ?? [];
      const reachable = offeredZones.filter((zone) => zones.has(zone));
      const zoneIds = reachable.map((zone) => zones.get(zone) ?? "").filter((id) => id !== "");
      const capacity = capacityOf(sized, row, settings);
      const own = made.reservations.filter((one) => one.instanceType === info.InstanceType);
      const labels = labelsOf(info, row, {
        region: this.#deps.region,
        zones: reachable,
        zoneIds,
        family: settings.family,
        pods: generation === "alpha" ? (capacity["pods"] ?? 0) : undefined,
        generation,
        reservations: reservationLabels(own),
        placementGroup: {
          ids: placementGroup === undefined ? [] : [placementGroup.id],
          partitions: placementGroup?.partitions ?? [],
        },
      });
      const overheadWith = (amounts: Resources): Resources => overheadOf(sized, amounts, settings);
      const overhead = overheadWith(capacity);
      const baseline = baselineOf(info);
      const dynamicResources = this.#devices(info, made);
      const volumes = volumeAttachmentLimits(info, settings);
      return {
        type: {
          name: info.InstanceType,
          labels,
          capacity,
          overhead,
          ...(baseline === undefined ? {} : { baseline }),
          ...(dynamicResources === undefined ? {} : { dynamicResources }),
          ...(volumes === undefined ? {} : { volumeAttachmentLimits: volumes }),
        },
        capacityTypes: capacityTypesOf(info),
        offeredZones,
        reservations: own,
        group: placementGroup === undefined ? undefined : { id: placementGroup.id },
        launchable: serves(info, made.needs),
        overheadOf: overheadWith,
      };
    });
  }

  #devices(
    info: InstanceTypeInfo,
    { settings, sharing }: MadeWith,
  ): Bare["type"]["dynamicResources"] {
    const { devices: gates } = this.#deps;
    if (gates === undefined) return undefined;
    return dynamicResourcesOf(info, { gates, sharing, interfaces: settings.networkInterfaces });
  }

  /** The type with the memory that nodes of this type reported. */
  #asLearned({ type, overheadOf }: Bare, imageId: string): Bare["type"] {
    const memory = this.memory.of(type.name, imageId);
    if (memory === undefined || memory === type.capacity["memory"]) return type;
    const capacity = Object.freeze({ ...type.capacity, memory });
    return { ...type, capacity, overhead: overheadOf(capacity) };
  }

  #withOfferings(
    bare: Bare,
    zones: ReadonlyMap<string, string>,
    amis: readonly Ami[],
    before: InstanceType | undefined,
  ): InstanceType {
    const { capacityTypes, offeredZones, group } = bare;
    const ami = amiFor({ ...bare.type, offerings: [] }, amis);
    const type = ami === undefined ? bare.type : this.#asLearned(bare, ami.id);
    const launchable = bare.launchable && ami !== undefined;
    const { prices, unavailable, shifts, quotas } = this.#deps;
    const refusals = new Map(
      capacityTypes.map((one) => [one, quotas.refusal(type.name, one)] as const),
    );
    const offerings: Offering[] = [];
    for (const zone of offeredZones) {
      for (const capacityType of capacityTypes) {
        const price =
          capacityType === "spot" ? prices.spot(type.name, zone) : prices.onDemand(type.name);
        const key = {
          ...{ capacityType, instanceType: type.name, zone },
          ...(group === undefined ? {} : { group }),
        };
        const zoneId = zones.get(zone);
        const reachable = zoneId !== undefined && !shifts.has(zoneId);
        const refusal = refusals.get(capacityType);
        const quota = quotas.taken(type.name, capacityType);
        const isOut = unavailable.has(key);
        const sold = launchable && price !== undefined && reachable;
        const lacksPriceAlone =
          launchable && price === undefined && reachable && refusal === undefined && !isOut;
        offerings.push({
          zone,
          capacityType,
          priceMicroUsd: price ?? 0,
          available: sold && refusal === undefined && !isOut,
          ...(quota === undefined ? {} : { quota }),
          ...(lacksPriceAlone ? { isUnpriced: true as const } : {}),
          ...(sold && refusal !== undefined ? { unavailableBecause: refusal } : {}),
          ...(zoneId ? { labels: { "topology.k8s.aws/zone-id": zoneId } } : {}),
        });
      }
    }
    offerings.push(...this.#reservedOfferings(bare, zones, launchable));
    if (
      before !== undefined &&
      deepEqual(before.offerings, offerings) &&
      deepEqual(before.capacity, type.capacity)
    )
      return before;
    return { ...type, offerings };
  }

  #reservedOfferings(
    { type, offeredZones, reservations }: Bare,
    zones: ReadonlyMap<string, string>,
    launchable: boolean,
  ): readonly Offering[] {
    const { prices, unavailable, shifts } = this.#deps;
    const offerings: Offering[] = [];
    for (const reservation of reservations) {
      const zoneId = zones.get(reservation.zone);
      const count = this.#deps.reservations.available(reservation.id);
      const price = prices.onDemand(type.name) ?? 0;
      const { zone } = reservation;
      const key = { capacityType: "reserved", instanceType: type.name, zone } as const;
      offerings.push({
        zone: reservation.zone,
        capacityType: "reserved",
        // A reservation is paid for already, so only a ten-millionth of the price counts, nearly always rounded down to
        // 0. upstream keeps the fraction.
        priceMicroUsd: Math.floor(price / 10_000_000),
        // Whether the reservation can be used. `reservationCapacity` says how many instances it has left.
        available:
          launchable &&
          !unavailable.has({ ...key, reservation: reservation.id }) &&
          zoneId !== undefined &&
          !shifts.has(zoneId) &&
          offeredZones.includes(reservation.zone) &&
          reservation.state === "active",
        reservationCapacity: count,
        labels: {
          ...(zoneId ? { "topology.k8s.aws/zone-id": zoneId } : {}),
          [LABEL_CAPACITY_RESERVATION_ID]: reservation.id,
          [LABEL_CAPACITY_RESERVATION_TYPE]: reservation.type,
          [LABEL_CAPACITY_RESERVATION_INTERRUPTIBLE]: String(reservation.interruptible),
        },
      });
    }
    return offerings;
  }

  /**
   * Reads the instance types and their zones from EC2. Returns the old object if nothing changed, so that everything
   * derived from it stays valid.
   */
  async #read(): Promise<Region> {
    const [typePages, offeringPages] = await Promise.all([
      allPages((token) =>
        this.#deps.ec2.describeInstanceTypes({
          Filters: [
            { Name: "supported-virtualization-type", Values: ["hvm"] },
            { Name: "processor-info.supported-architecture", Values: ["x86_64", "arm64"] },
          ],
          MaxResults: 100,
          ...token,
        }),
      ),
      allPages((token) =>
        this.#deps.ec2.describeInstanceTypeOfferings({
          LocationType: "availability-zone",
          MaxResults: 1_000,
          ...token,
        }),
      ),
    ]);
    const sold = typePages.flatMap((page) => page.InstanceTypes);
    const infos = sizedOf(sold, this.#deps.log)
      .filter((info) => archOf(info) !== undefined)
      .sort((a, b) => (a.InstanceType < b.InstanceType ? -1 : 1));
    const zones = new Map<string, string[]>();
    for (const { InstanceType, Location } of offeringPages.flatMap(
      (page) => page.InstanceTypeOfferings,
    )) {
      zones.set(InstanceType, [...(zones.get(InstanceType) ?? []), Location].sort());
    }
    const region: Region = { infos, zones };
    if (infos.length === 0) throw new Error("no instance types found in this region");
    const same =
      this.#last !== undefined &&
      deepEqual(this.#last.infos, infos) &&
      deepEqual([...this.#last.zones], [...zones]);
    if (!same) this.#last = region;
    return this.#last as Region;
  }
}
