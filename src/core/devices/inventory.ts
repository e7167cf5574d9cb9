/**
 * All known devices (Dynamic Resource Allocation): those of ResourceSlices, and those that a new node of an instance
 * type will publish. Only the slices of a pool's highest generation count.
 * upstream: pkg/scheduling/dynamicresources/pool.go
 */
import type { CounterSet, Device, ResourceSlice } from "../../apis/resource/kinds.ts";
import { canonicalJson } from "../../base/json.ts";
import { within } from "../../base/within.ts";
import type { DynamicResources } from "../cloudprovider/dynamic-resources.ts";
import { type Counters, countersOf } from "./counters.ts";
import { EVERYWHERE, type Reach, reachOf } from "./reach.ts";

export interface DevicePool {
  readonly driver: string;
  readonly name: string;
  /** Whether all slices of the highest generation exist. If not, devices of the pool are not used. */
  readonly isComplete: boolean;
  /** For each slice: the nodes that can use its devices, as alternatives. */
  readonly slices: readonly (readonly Reach[])[];
  /** Whether all slices can be used by the same nodes. */
  readonly isAlike: boolean;
  /** For each counter set and counter: the amount of the whole pool. */
  readonly counters: ReadonlyMap<string, Counters>;
  /**
   * Why no device of the pool can be used: one of them uses a counter that the pool lacks, or a counter set occurs
   * twice.
   */
  readonly problem: string | undefined;
  /** Whether the pool belongs to an instance type: a new node will publish it. */
  readonly isTemplate: boolean;
  readonly devices: PooledDevice[];
}

export interface PooledDevice {
  /**
   * The number of the device. It is unique among the devices of one search. Devices with lower numbers are tried first.
   */
  readonly id: number;
  readonly pool: DevicePool;
  readonly device: Device;
  /** A number for the device's properties. Equal numbers: no request can tell the devices apart. */
  readonly content: number;
  readonly reach: Reach;
  /** Whether only one node can use the device: it was published for that node, or belongs to an instance type. */
  readonly isLocal: boolean;
  /**
   * Attribute → the number of a group of devices that will have the same value of this attribute. Absent: the device is
   * in no such group.
   */
  readonly bound?: ReadonlyMap<string, number>;
}

/**
 * Gives equal texts the same number: devices with equal properties have equal texts. All searches of a pass share one
 * object.
 */
export class Contents {
  readonly #numbers = new Map<string, number>();

  of(text: string): number {
    return within(this.#numbers, text, () => this.#numbers.size);
  }
}

/** The devices of instance types have ids from here on, so that published devices are tried first. */
const FIRST_TEMPLATE = 2 ** 30;

/** The device pools of the cluster, by driver and name. */
export class ClusterDevices {
  readonly pools: readonly DevicePool[];
  /** Devices that several nodes can use, such as devices attached over a network. */
  readonly shared: readonly PooledDevice[];
  /** Pools whose devices several nodes can use. */
  readonly sharedPools: readonly DevicePool[];
  readonly #poolsByNode = new Map<string, DevicePool[]>();
  readonly #byNode = new Map<string, PooledDevice[]>();
  readonly #byName = new Map<string, PooledDevice[]>();
  #count = 0;

  constructor(slices: readonly ResourceSlice[], contents: Contents) {
    const byPool = new Map<string, ResourceSlice[]>();
    for (const slice of slices) {
      const { driver, pool } = slice.spec;
      within(byPool, `${driver}/${pool.name}`, () => [] as ResourceSlice[]).push(slice);
    }
    const sorted = [...byPool].sort(([a], [b]) => (a < b ? -1 : 1));
    this.pools = sorted.map(([, own]) => this.#pool(own, contents));
    const shared: PooledDevice[] = [];
    for (const { devices } of this.pools) {
      for (const one of devices) {
        const { reach } = one;
        if (typeof reach === "object" && "node" in reach)
          within(this.#byNode, reach.node, () => [] as PooledDevice[]).push(one);
        else shared.push(one);
        within(this.#byName, nameOf(one), () => [] as PooledDevice[]).push(one);
      }
    }
    this.shared = shared;
    const sharedPools: DevicePool[] = [];
    for (const pool of this.pools) {
      const [[reach] = []] = pool.slices;
      if (pool.isAlike && typeof reach === "object" && "node" in reach)
        within(this.#poolsByNode, reach.node, () => [] as DevicePool[]).push(pool);
      else sharedPools.push(pool);
    }
    this.sharedPools = sharedPools;
  }

  /** Pools that only this node can use. */
  poolsOn(name: string): readonly DevicePool[] {
    return this.#poolsByNode.get(name) ?? [];
  }

  /** Devices that were published for this node. */
  onNode(name: string): readonly PooledDevice[] {
    return this.#byNode.get(name) ?? [];
  }

  /** The devices of this name. There are several if slices of one pool use a name twice. */
  named(driver: string, pool: string, device: string): readonly PooledDevice[] {
    return this.#byName.get(`${driver}/${pool}/${device}`) ?? [];
  }

  #pool(all: readonly ResourceSlice[], contents: Contents): DevicePool {
    const newest = Math.max(...all.map(({ spec }) => spec.pool.generation));
    const slices = all
      .filter(({ spec }) => spec.pool.generation === newest)
      .sort((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1));
    const [{ spec }] = slices as [ResourceSlice];
    const sets = slices.flatMap(({ spec: { sharedCounters = [] } }) => sharedCounters);
    const pool = newPool({
      ...reachesOf(slices),
      driver: spec.driver,
      name: spec.pool.name,
      isComplete: slices.length === spec.pool.resourceSliceCount,
      sets,
      devices: slices.flatMap((slice) => slice.spec.devices ?? []),
      isTemplate: false,
    });
    for (const slice of slices) {
      for (const device of slice.spec.devices ?? []) {
        const reach = reachOf(slice.spec, device);
        if (reach === undefined) continue;
        const isLocal = typeof reach === "object" && "node" in reach;
        const text = `${contentText(pool, device)} ${canonicalJson(reach)}`;
        const content = contents.of(text);
        pool.devices.push({ id: this.#count++, pool, device, content, reach, isLocal });
      }
    }
    return pool;
  }
}

/** The devices that a new node of some instance types will publish. Types with equal devices share one object. */
export interface TemplateDevices {
  /** The number of this list of devices. Lists that differ only in the names of pools have the same number. */
  readonly kind: number;
  readonly devices: readonly PooledDevice[];
}

/** Reads the devices of instance types, each list once. */
export class DeviceKinds {
  readonly #byText = new Map<string, TemplateDevices>();
  readonly #byTemplate = new WeakMap<DynamicResources, TemplateDevices>();
  readonly #contents: Contents;

  constructor(contents: Contents) {
    this.#contents = contents;
  }

  of(resources: DynamicResources | undefined): TemplateDevices {
    if (resources === undefined || resources.pools.length === 0) return NO_TEMPLATES;
    return within(this.#byTemplate, resources, () => {
      const text = withoutPoolNames(resources);
      return within(this.#byText, text, () => this.#read(resources, this.#byText.size + 1));
    });
  }

  #read({ pools, bindings }: DynamicResources, kind: number): TemplateDevices {
    const bound = boundDevices(bindings);
    const devices: PooledDevice[] = [];
    for (const template of pools) {
      const pool = newPool({
        slices: [[EVERYWHERE]],
        isAlike: true,
        driver: template.driver,
        name: template.pool,
        isComplete: true,
        sets: template.sharedCounters ?? [],
        devices: template.devices,
        isTemplate: true,
      });
      for (const device of template.devices) {
        const own = bound.get(`${template.driver}/${template.pool}/${device.name}`);
        const groups = own === undefined ? "" : canonicalJson([...own]);
        const content = this.#contents.of(`${contentText(pool, device)} ${groups}`);
        const id = FIRST_TEMPLATE + devices.length;
        const one = { id, pool, device, content, reach: EVERYWHERE, isLocal: true };
        const pooled = own === undefined ? one : { ...one, bound: own };
        pool.devices.push(pooled);
        devices.push(pooled);
      }
    }
    return { kind, devices };
  }
}

const NO_TEMPLATES: TemplateDevices = { kind: 0, devices: [] };

/**
 * The devices as text, without the names of pools. Selectors cannot read these names, and types with equal devices have
 * different ones.
 */
function withoutPoolNames({ pools, bindings }: DynamicResources): string {
  const numbers = new Map(pools.map(({ driver, pool }, at) => [`${driver}/${pool}`, at]));
  const groups = bindings.map(({ attribute, devices }) => [
    attribute,
    devices.map(({ driver, pool, device }) => [numbers.get(`${driver}/${pool}`), device]),
  ]);
  return canonicalJson([pools.map(({ pool: _, ...rest }) => rest), groups]);
}

/** Combines bindings of one attribute that have a device in common into one group. */
function boundDevices(
  bindings: DynamicResources["bindings"],
): Map<string, ReadonlyMap<string, number>> {
  const groups = new Map<string, Set<string>[]>();
  for (const { attribute, devices } of bindings) {
    const names = new Set(devices.map((one) => `${one.driver}/${one.pool}/${one.device}`));
    const all = within(groups, attribute, () => [] as Set<string>[]);
    const touching = all.filter((group) => [...group].some((name) => names.has(name)));
    const joined = new Set([...names, ...touching.flatMap((group) => [...group])]);
    groups.set(attribute, [...all.filter((group) => !touching.includes(group)), joined]);
  }
  const bound = new Map<string, Map<string, number>>();
  for (const [attribute, all] of groups)
    for (const [number, names] of all.entries())
      for (const name of names)
        within(bound, name, () => new Map<string, number>()).set(attribute, number);
  return bound;
}

function reachesOf(slices: readonly ResourceSlice[]): Pick<DevicePool, "slices" | "isAlike"> {
  const choices = slices.map(({ spec: { nodeName, allNodes, nodeSelector, ...spec } }) =>
    spec.perDeviceNodeSelection === true
      ? spec.devices?.map((device) => [device.nodeName, device.allNodes, device.nodeSelector])
      : [nodeName, allNodes, nodeSelector],
  );
  return {
    isAlike: new Set(choices.map((one) => canonicalJson(one ?? []))).size < 2,
    slices: slices.map(({ spec }) => {
      const devices = spec.perDeviceNodeSelection === true ? (spec.devices ?? []) : [{ name: "" }];
      return devices.flatMap((device) => reachOf(spec, device) ?? []);
    }),
  };
}

type PoolFacts = "driver" | "name" | "isComplete" | "isTemplate" | "slices" | "isAlike";

interface PoolParts extends Pick<DevicePool, PoolFacts> {
  readonly sets: readonly CounterSet[];
  readonly devices: readonly Device[];
}

function newPool({ sets, devices, ...pool }: PoolParts): DevicePool {
  const counters = new Map<string, Counters>();
  let problem: string | undefined;
  for (const set of sets) {
    if (counters.has(set.name)) problem ??= `names counter set ${set.name} twice`;
    counters.set(set.name, countersOf(set.counters));
  }
  for (const { name, consumesCounters = [] } of devices) {
    for (const { counterSet, counters: wanted } of consumesCounters) {
      const known = counters.get(counterSet);
      const missing = Object.keys(wanted).find((counter) => known?.get(counter) === undefined);
      if (known === undefined)
        problem ??= `has no counter set ${counterSet}, which device ${name} consumes`;
      else if (missing !== undefined)
        problem ??= `has no counter ${missing} in set ${counterSet}, which device ${name} consumes`;
    }
  }
  return { ...pool, counters, problem, devices: [] };
}

/** The text of each device. Devices never change, so texts are cached. */
const TEXTS = new WeakMap<Device, string>();

/** The text of a device's content. Devices that use counters are equal only within one pool. */
function contentText({ driver, name, isTemplate }: DevicePool, device: Device): string {
  const text = within(TEXTS, device, () => {
    const { name: _, ...content } = device;
    return canonicalJson(content);
  });
  const owner = device.consumesCounters === undefined ? "" : `${isTemplate} ${name}`;
  return `${driver} ${owner} ${text}`;
}

/** The name by which the status of a claim refers to the device. */
export function nameOf({ pool, device }: PooledDevice): string {
  return `${pool.driver}/${pool.name}/${device.name}`;
}

/** A device name that two of these devices of one pool have. Undefined: there is none. */
export function repeatedName(devices: readonly PooledDevice[]): string | undefined {
  const seen = new Set<string>();
  for (const { device } of devices) {
    if (seen.has(device.name)) return device.name;
    seen.add(device.name);
  }
  return undefined;
}

/** The drivers that have published at least one complete pool for the node. */
export function publishedDrivers(
  slices: readonly ResourceSlice[],
  nodeName: string,
): ReadonlySet<string> {
  const own = slices.filter(
    ({ spec, metadata }) =>
      spec.nodeName === nodeName ||
      metadata.ownerReferences?.some(({ kind, name }) => kind === "Node" && name === nodeName),
  );
  const pools = new ClusterDevices(own, new Contents()).pools;
  return new Set(pools.filter(({ isComplete }) => isComplete).map(({ driver }) => driver));
}
