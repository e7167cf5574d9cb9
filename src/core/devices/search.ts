/**
 * Finds devices (Dynamic Resource Allocation) for the claims of one pod on one node. The search is depth first over
 * claims, requests, alternatives and devices. Of equal devices, only the first is tried. The number of steps is
 * bounded, not the time, so equal input gives an equal result.
 * upstream: pkg/scheduling/dynamicresources/allocator.go (bounded by seconds there)
 */
import { within } from "../../base/within.ts";
import { addAmounts, capacityOf, type DeviceAmounts, shortDimension } from "./capacity.ts";
import { type Alternative, type ClaimSpec, MOST_RESULTS } from "./claim-specs.ts";
import { ConstraintState } from "./constraints.ts";
import { type CounterUse, consume, shortCounter } from "./counters.ts";
import type { DeviceList } from "./device-list.ts";
import type { DevicePool, PooledDevice } from "./inventory.ts";
import type { Match, Matcher } from "./match.ts";
import type { Reach } from "./reach.ts";

/** A device that is used for a request. */
export interface Use {
  readonly device: PooledDevice;
  readonly request: string;
  /** What the request uses of a shared device. Empty: the whole of a device that is not shared. */
  readonly consumes: DeviceAmounts;
  readonly adminAccess: boolean;
}

/** The devices that other pods and claims use. */
export interface Taken {
  /** Whether a device that is not shared is in use. */
  has(device: PooledDevice): boolean;
  /** The amounts of the shared device that are used. */
  consumed(device: PooledDevice): readonly (DeviceAmounts | undefined)[];
  /** The amounts of the pool's counters that are used. */
  counters(pool: DevicePool): readonly (CounterUse | undefined)[];
}

/** How a search narrows the node. `S`: a set of requirements on the node. */
export interface Narrowable<S> {
  readonly from: S;
  /**
   * The sets to which the node must be narrowed to use the device, as alternatives. Empty: it cannot use the device.
   */
  ways(device: Pick<PooledDevice, "reach">, at: S): readonly S[];
}

export interface DeviceQuestion<S> {
  readonly claims: readonly ClaimSpec[];
  readonly list: DeviceList;
  readonly taken: Taken;
  readonly nodes: Narrowable<S>;
  readonly matcher: Matcher;
  /**
   * Reduced by one for each device that is tried, and for each sixteen that are compared with a request. If none is
   * left when a device is tried, the search stops.
   */
  readonly budget: { steps: number };
}

export interface SearchFound<S> {
  readonly at: S;
  /** The devices for each claim of the question. */
  readonly uses: readonly (readonly Use[])[];
  /** All devices that pods of the node use, if this pod changes the devices of other pods. Absent: it does not. */
  readonly held?: readonly Use[];
}

/** Why no devices were found. Empty: the reason is not known. */
export type SearchFailure = { readonly problem?: string; readonly outOfSteps?: true };

/** The devices for all claims, or why none were found. */
export function search<S>(question: DeviceQuestion<S>): SearchFound<S> | SearchFailure {
  return new Search(question).run();
}

/** Whether the search found devices for all claims. */
export function isFound<S>(answer: SearchFound<S> | SearchFailure): answer is SearchFound<S> {
  return "uses" in answer;
}

/** The request that is next in the search. */
interface Position {
  readonly claim: number;
  readonly request: number;
}

/** How far one alternative of a request is filled with devices. Each of its slots needs one device. */
interface Filling<S> {
  readonly position: Position;
  readonly alternative: Alternative;
  /** Devices that may be used, in order. If the request is for all devices: those that must be used. */
  readonly among: readonly PooledDevice[];
  /** Whether some of these devices are shared. Then one device may fill several slots. */
  readonly hasShared: boolean;
  readonly slots: number;
  readonly slot: number;
  /** Index of the first device to try for this slot. Earlier devices were tried for an earlier slot. */
  readonly from: number;
  readonly at: S;
}

/** How many devices are compared with a request for one step of the budget. Trying a device costs a whole step. */
const LOOKED_AT_PER_STEP = 16;

class Search<S> {
  readonly #question: DeviceQuestion<S>;
  readonly #uses: Use[][];
  readonly #constraints: readonly ConstraintState[];
  readonly #taken = new Map<PooledDevice, number>();
  readonly #consumed = new Map<PooledDevice, DeviceAmounts[]>();
  readonly #counters = new Map<DevicePool, CounterUse>();
  #failure: SearchFailure = {};
  #stopped = false;

  constructor(question: DeviceQuestion<S>) {
    this.#question = question;
    this.#uses = question.claims.map(() => []);
    this.#constraints = question.claims.map(({ constraints }) => new ConstraintState(constraints));
  }

  run(): SearchFound<S> | SearchFailure {
    const problem = problemForAll(this.#question);
    if (problem !== undefined) return { problem };
    const at = this.#next({ claim: 0, request: 0 }, this.#question.nodes.from);
    return at === undefined ? this.#failure : { at, uses: this.#uses };
  }

  /**
   * Searches from this request to the last one. Undefined: none was found. `#failure` says whether the search stopped
   * early.
   */
  #next({ claim, request }: Position, at: S): S | undefined {
    const spec = this.#question.claims[claim];
    if (spec === undefined) return at;
    const alternatives = spec.requests[request];
    if (alternatives === undefined) return this.#next({ claim: claim + 1, request: 0 }, at);
    for (const alternative of alternatives) {
      const position = { claim, request };
      const { wantsAll } = alternative;
      const among = wantsAll ? this.#allOf(alternative, at) : this.#candidates(alternative, at);
      if (this.#stopped) return undefined;
      if (among.length === 0) continue;
      const slots = wantsAll ? among.length : alternative.count;
      const hasShared = among.some(isShared);
      const start = { position, alternative, among, hasShared, slots, slot: 0, from: 0, at };
      const end = this.#fill(start);
      if (end !== undefined || this.#stopped) return end;
    }
    return undefined;
  }

  /**
   * The devices that match and are free. A device is kept if a selector cannot be evaluated for it; the search fails
   * when it tries that device.
   */
  #candidates(alternative: Alternative, at: S): readonly PooledDevice[] {
    const { list, matcher, nodes, budget } = this.#question;
    budget.steps -= Math.ceil(list.devices.length / LOOKED_AT_PER_STEP);
    return list.devices.filter((device) => {
      if (!device.pool.isComplete || this.#question.list.closed.has(device.pool)) return false;
      const match = matcher.of(alternative, device);
      if (match.mismatch !== undefined) return match.mismatch.isError === true;
      if (!alternative.adminAccess && !this.#isFree(device, match.consumes)) return false;
      return nodes.ways(device, at).length > 0;
    });
  }

  #fill(filling: Filling<S>): S | undefined {
    const { position, alternative, among, slots, slot, at } = filling;
    const { claim, request } = position;
    if (slot >= slots) return this.#next({ claim, request: request + 1 }, at);
    const own = this.#uses[claim] as Use[];
    if (own.length + slots - slot > MOST_RESULTS) return undefined;
    if (alternative.wantsAll) return this.#take(among[slot] as PooledDevice, 0, filling);
    const tried = new Set<string>();
    for (let index = filling.from; index < among.length && !this.#stopped; index++) {
      if (!filling.hasShared && among.length - index < slots - slot) break;
      const device = among[index] as PooledDevice;
      const like = this.#likeness(device);
      if (tried.has(like)) continue;
      tried.add(like);
      const isSharing = isShared(device) && !alternative.adminAccess;
      const end = this.#take(device, isSharing ? index : index + 1, filling);
      if (end !== undefined) return end;
    }
    return undefined;
  }

  /** Tries this device, and continues the search with it. `from`: the first device to try for the next slot. */
  #take(device: PooledDevice, from: number, filling: Filling<S>): S | undefined {
    const { matcher, budget, nodes } = this.#question;
    if (--budget.steps < 0) {
      this.#failure = { outOfSteps: true };
      this.#stopped = true;
      return undefined;
    }
    const { alternative, position } = filling;
    const match = matcher.of(alternative, device);
    if (match.mismatch !== undefined) {
      if (match.mismatch.isError === true) this.#fail(alternative, match);
      return undefined;
    }
    const { adminAccess } = alternative;
    if (!adminAccess && !this.#isFree(device, match.consumes)) return undefined;
    const constraints = this.#constraints[position.claim] as ConstraintState;
    for (const at of nodes.ways(device, filling.at)) {
      if (constraints.take(alternative.name, device) !== undefined) return undefined;
      const own = this.#uses[position.claim] as Use[];
      own.push({ device, request: alternative.name, consumes: match.consumes, adminAccess });
      if (!adminAccess) this.#hold(device, match.consumes);
      const end = this.#fill({ ...filling, slot: filling.slot + 1, from, at });
      if (end !== undefined) return end;
      own.pop();
      if (!adminAccess) this.#letGo(device);
      constraints.giveBack(alternative.name);
      if (this.#stopped) return undefined;
    }
    return undefined;
  }

  /** Stops the search. Kubernetes fails a claim if a selector cannot be evaluated for a device that is tried. */
  #fail({ name }: Alternative, { mismatch }: Match): void {
    this.#failure = { problem: `request ${name}: selector ${mismatch?.text}` };
    this.#stopped = true;
  }

  /**
   * All devices that match the request. Empty: there are none, or the request does not tolerate the taint of one, or a
   * selector cannot be evaluated. In the last case the search stops.
   */
  #allOf(alternative: Alternative, at: S): readonly PooledDevice[] {
    const { list, matcher, nodes, budget } = this.#question;
    const found: PooledDevice[] = [];
    budget.steps -= Math.ceil(list.devices.length / LOOKED_AT_PER_STEP);
    for (const device of list.devices) {
      if (nodes.ways(device, at).length === 0) continue;
      const match = matcher.of(alternative, device);
      if (match.mismatch === undefined) found.push(device);
      else if (match.mismatch.isError === true) {
        this.#fail(alternative, match);
        return [];
      } else if (match.mismatch.step === "taint") return [];
    }
    return found;
  }

  #isHeld(device: PooledDevice): boolean {
    return this.#taken.has(device) || this.#question.taken.has(device);
  }

  #isFree(device: PooledDevice, consumes: DeviceAmounts): boolean {
    const { taken } = this.#question;
    if (isShared(device)) {
      const used = [...taken.consumed(device), ...(this.#consumed.get(device) ?? [])];
      if (shortDimension(capacityOf(device.device), used, consumes) !== undefined) return false;
    } else if (this.#isHeld(device)) return false;
    if (!this.#isCharged(device)) return true;
    const uses = [...taken.counters(device.pool), this.#counters.get(device.pool)];
    return shortCounter(device.pool.counters, uses, device.device) === undefined;
  }

  #hold(device: PooledDevice, consumes: DeviceAmounts): void {
    if (isShared(device))
      within(this.#consumed, device, () => [] as DeviceAmounts[]).push(consumes);
    if (this.#isCharged(device))
      consume(within(this.#counters, device.pool, newUse), device.device, 1);
    this.#taken.set(device, (this.#taken.get(device) ?? 0) + 1);
  }

  #letGo(device: PooledDevice): void {
    const times = (this.#taken.get(device) ?? 1) - 1;
    if (times === 0) this.#taken.delete(device);
    else this.#taken.set(device, times);
    if (isShared(device)) this.#consumed.get(device)?.pop();
    if (this.#isCharged(device))
      consume(within(this.#counters, device.pool, newUse), device.device, -1);
  }

  /**
   * Whether the next share of the device uses counters. kube-scheduler 1.34 charges counters for each share of one pod,
   * and ignores shares of other pods. Here, shares of other pods are charged once, so the first share of this pod is
   * not charged again.
   * upstream: dynamic-resource-allocation/structured/internal/experimental, checkAvailableCounters
   */
  #isCharged(device: PooledDevice): boolean {
    if (device.device.consumesCounters === undefined) return false;
    return this.#taken.has(device) || !this.#question.taken.has(device);
  }

  /** A text about the device. Of devices with equal texts, only one needs to be tried. */
  #likeness(device: PooledDevice): string {
    if (!isShared(device)) return String(device.content);
    const used = [
      ...this.#question.taken.consumed(device),
      ...(this.#consumed.get(device) ?? []),
    ].reduce<DeviceAmounts>(
      (sum, one) => (one === undefined ? sum : addAmounts(sum, one)),
      new Map(),
    );
    const held = this.#taken.has(device) ? "held" : "";
    return `${device.content} ${held} ${[...used].sort().join()}`;
  }
}

/**
 * Why kube-scheduler would refuse the node because a request asks for all devices, even if another alternative fits.
 * kube-scheduler checks every pool, of any driver, that has a slice for the node. Kubernetes 1.34 also treats a pool as
 * incomplete if some of its slices are for other nodes. Kubernetes 1.35 does not.
 * upstream: dynamic-resource-allocation/structured, validateDeviceRequest and GatherPools
 */
function problemForAll<S>({ claims, list, nodes }: DeviceQuestion<S>): string | undefined {
  const all = claims.flatMap(({ requests }) => requests.flat()).find(({ wantsAll }) => wantsAll);
  if (all === undefined) return undefined;
  const { from } = nodes;
  const isReached = (reaches: readonly Reach[]) =>
    reaches.some((reach) => nodes.ways({ reach }, from).includes(from));
  const mayBeReached = (reaches: readonly Reach[]) =>
    reaches.some((reach) => nodes.ways({ reach }, from).length > 0);
  for (const pool of list.pools) {
    if (!pool.slices.some(mayBeReached)) continue;
    const why =
      list.closed.get(pool) ??
      (pool.isComplete ? undefined : "is not complete yet") ??
      (pool.isAlike || pool.slices.every(isReached) ? undefined : PARTED);
    if (why !== undefined)
      return `request ${all.name} asks for all devices, and pool ${pool.name} of ${pool.driver} ${why}`;
  }
  return undefined;
}

const PARTED = "has slices that not every such node reaches";

function newUse(): CounterUse {
  return new Map();
}

/** Whether several claims may each use a share of the device. */
export function isShared({ device }: PooledDevice): boolean {
  return device.allowMultipleAllocations === true;
}
