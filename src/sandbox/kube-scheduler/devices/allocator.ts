/**
 * Chooses devices on one node for the claims of a pod. It searches depth first, in the order of claims,
 * requests and devices. If a choice leaves no devices for later requests, it is undone.
 * upstream: dynamic-resource-allocation/structured
 */
import type {
  DeviceClass,
  DeviceToleration,
  ExactDeviceRequest,
  ResourceClaim,
} from "../../../apis/resource/kinds.ts";
import { deviceMatches } from "../../apiserver/cel/device-selectors.ts";
import { amountsTaken, type DimensionAmounts, hasRoom, nano } from "./capacity.ts";
import { ConstraintCheck } from "./constraints.ts";
import type { DevicesInUse } from "./in-use.ts";
import type { OfferedDevice, SlicePool } from "./pools.ts";

/** A device that was chosen for a request. */
export interface ChosenDevice extends OfferedDevice {
  /** The request's name: `request` or `request/subrequest`. */
  readonly request: string;
  readonly isAdmin: boolean;
  readonly tolerations: readonly DeviceToleration[];
  /**
   * The amounts that the request takes of a device that several claims can share. Undefined: the whole device is taken.
   */
  readonly consumed: DimensionAmounts | undefined;
  readonly deviceClass: DeviceClass;
}

/**
 * The devices of each claim, in the order of the claims. Or `none`: they cannot be allocated. Or `error`: the
 * question is invalid.
 */
export type Allocation =
  | { readonly kind: "found"; readonly byClaim: readonly (readonly ChosenDevice[])[] }
  | { readonly kind: "none" }
  | { readonly kind: "error"; readonly message: string };

export interface AllocationQuestion {
  readonly claims: readonly ResourceClaim[];
  readonly pools: readonly SlicePool[];
  readonly inUse: DevicesInUse;
  readonly deviceClass: (name: string) => DeviceClass | undefined;
}

/** Maximum number of devices for one claim. upstream: AllocationResultsMaxSize */
const MAX_DEVICES = 32;
/** Maximum number of choices to try for one node. kube-scheduler instead stops after ten seconds. */
const MAX_CHOICES = 200_000;
export const TIMED_OUT = "timed out trying to allocate devices";

/** Allocates devices on one node for the claims of a pod. */
export function allocate(question: AllocationQuestion): Allocation {
  const search = new Search(question);
  try {
    return search.run() ? { kind: "found", byClaim: search.chosen } : { kind: "none" };
  } catch (error) {
    if (error instanceof Unanswerable) return { kind: "error", message: error.message };
    throw error;
  }
}

class Unanswerable extends Error {}

/** One request, or one of the alternatives of a request. */
interface Ask {
  readonly claimAt: number;
  readonly name: string;
  readonly request: ExactDeviceRequest;
}

interface AskOfClass extends Ask {
  readonly deviceClass: DeviceClass;
}

type Then = () => boolean;

class Search {
  readonly chosen: ChosenDevice[][];
  readonly #question: AllocationQuestion;
  readonly #constraints: readonly (readonly ConstraintCheck[])[];
  /** Devices that this search took as a whole, with the claims that took them. */
  readonly #taken = new Map<string, Set<number>>();
  readonly #parts = new Map<string, Map<string, bigint>>();
  /** Counters that this search took, by slice, counter set and counter. */
  readonly #counters = new Map<string, bigint>();
  readonly #matches = new Map<string, boolean>();
  #choices = 0;

  constructor(question: AllocationQuestion) {
    this.#question = question;
    this.chosen = question.claims.map(() => []);
    this.#constraints = question.claims.map(({ spec }) =>
      (spec.devices?.constraints ?? []).map((one) => new ConstraintCheck(one)),
    );
    for (const [id, held] of question.inUse.parts) this.#parts.set(id, new Map(held));
    // Only devices that are wholly in use take counters. kube-scheduler 1.34 ignores devices in shared use
    // here (checkAvailableCounters).
    for (const pool of question.pools)
      for (const one of pool.devices) if (question.inUse.whole.has(one.id)) this.#count(one, 1n);
  }

  run(): boolean {
    return this.#claim(0);
  }

  #claim(claimAt: number): boolean {
    if (claimAt === this.#question.claims.length) return true;
    return this.#request(claimAt, 0);
  }

  #request(claimAt: number, at: number): boolean {
    const requests = this.#question.claims[claimAt]?.spec.devices?.requests ?? [];
    const request = requests[at];
    if (request === undefined) return this.#claim(claimAt + 1);
    const then = (): boolean => this.#request(claimAt, at + 1);
    if (request.exactly !== undefined)
      return this.#ask({ claimAt, name: request.name, request: request.exactly }, then);
    return (request.firstAvailable ?? []).some((one) =>
      this.#ask({ claimAt, name: `${request.name}/${one.name}`, request: one }, then),
    );
  }

  #ask(ask: Ask, then: Then): boolean {
    const deviceClass = this.#question.deviceClass(ask.request.deviceClassName);
    if (deviceClass === undefined) return false;
    const whole = { ...ask, deviceClass };
    const room = MAX_DEVICES - (this.chosen[ask.claimAt]?.length ?? 0);
    if (ask.request.allocationMode === "All") {
      const all = this.#allDevices(whole);
      return all.length > 0 && all.length <= room && this.#takeAll(whole, all, then);
    }
    const count = ask.request.count ?? 1;
    const devices = this.#question.pools.flatMap(({ id, twice, devices: own }) => {
      if (twice !== undefined)
        throw new Unanswerable(`pool ${id} is invalid: duplicate device name ${twice}`);
      return own;
    });
    return count <= room && this.#takeCount(whole, { count, from: 0, devices }, then);
  }

  /**
   * Every device that matches the request, even if it is in use. A request for all devices gets every one or
   * fails.
   */
  #allDevices(ask: AskOfClass): readonly OfferedDevice[] {
    for (const { id, isIncomplete, twice } of this.#question.pools) {
      const state = isIncomplete ? "being updated" : twice === undefined ? "" : "invalid";
      if (state === "") continue;
      const what = `asks for all devices, but resource pool ${id} is currently ${state}`;
      throw new Unanswerable(`${this.#nameOf(ask)}: ${what}`);
    }
    return this.#question.pools
      .flatMap(({ devices }) => devices)
      .filter((one) => this.#isSelected(ask, one))
      .filter(({ device }) => amountsTaken(device, ask.request.capacity) !== undefined);
  }

  #takeAll(ask: AskOfClass, [first, ...rest]: readonly OfferedDevice[], then: Then): boolean {
    if (first === undefined) return then();
    return this.#with(ask, first, () => this.#takeAll(ask, rest, then));
  }

  /** Takes devices in ascending order only, because the order of devices makes no difference. */
  #takeCount(
    ask: AskOfClass,
    left: {
      readonly count: number;
      readonly from: number;
      readonly devices: readonly OfferedDevice[];
    },
    then: Then,
  ): boolean {
    const { count, from, devices } = left;
    if (count === 0) return then();
    for (let at = from; at < devices.length; at++) {
      const one = devices[at] as OfferedDevice;
      if (!this.#isSelected(ask, one)) continue;
      const next = one.device.allowMultipleAllocations === true ? at : at + 1;
      const rest = { count: count - 1, from: next, devices };
      const goOn = (): boolean => this.#takeCount(ask, rest, then);
      if (this.#with(ask, one, goOn)) return true;
    }
    return false;
  }

  /** Takes the device and continues the search. Gives the device back if the rest of the search fails. */
  #with(ask: AskOfClass, one: OfferedDevice, then: Then): boolean {
    if (++this.#choices > MAX_CHOICES) throw new Unanswerable(TIMED_OUT);
    const { request, claimAt, deviceClass } = ask;
    const isAdmin = request.adminAccess === true;
    const isShared = one.device.allowMultipleAllocations === true;
    const taken = amountsTaken(one.device, request.capacity);
    if (taken === undefined || !this.#isFree(one, { claimAt, isAdmin, isShared, taken }))
      return false;
    if (!toleratesAll(one, request.tolerations ?? [])) return false;
    const constraints = this.#constraints[claimAt] ?? [];
    const added = constraints.findIndex((constraint) => !constraint.add(ask.name, one));
    if (added >= 0) {
      for (const constraint of constraints.slice(0, added)) constraint.remove(ask.name);
      if (request.allocationMode === "All") {
        const what = `cannot add device ${one.id} because a claim constraint would not be satisfied`;
        throw new Unanswerable(`${this.#nameOf(ask)}: ${what}`);
      }
      return false;
    }
    const consumed = isShared ? taken : undefined;
    const tolerations = request.tolerations ?? [];
    this.#hold(one, { claimAt, isAdmin, consumed }, 1n);
    const list = this.chosen[claimAt] as ChosenDevice[];
    list.push({ ...one, request: ask.name, isAdmin, tolerations, consumed, deviceClass });
    if (then()) return true;
    list.pop();
    this.#hold(one, { claimAt, isAdmin, consumed }, -1n);
    for (const constraint of constraints) constraint.remove(ask.name);
    return false;
  }

  #isFree(
    one: OfferedDevice,
    how: {
      readonly claimAt: number;
      readonly isAdmin: boolean;
      readonly isShared: boolean;
      readonly taken: DimensionAmounts;
    },
  ): boolean {
    const holders = this.#taken.get(one.id);
    if (how.isAdmin) return holders?.has(how.claimAt) !== true;
    if (this.#question.inUse.whole.has(one.id) || (holders?.size ?? 0) > 0) return false;
    const held = how.isShared ? this.#parts.get(one.id) : undefined;
    return hasRoom(one.device, how.taken, held) && this.#hasCounters(one);
  }

  #hold(
    one: OfferedDevice,
    how: {
      readonly claimAt: number;
      readonly isAdmin: boolean;
      readonly consumed: DimensionAmounts | undefined;
    },
    sign: 1n | -1n,
  ): void {
    if (how.consumed === undefined) {
      const holders = this.#taken.get(one.id) ?? new Set<number>();
      this.#taken.set(one.id, holders);
      if (sign > 0n) holders.add(how.claimAt);
      else holders.delete(how.claimAt);
    } else {
      const held = this.#parts.get(one.id) ?? new Map<string, bigint>();
      this.#parts.set(one.id, held);
      for (const [name, amount] of how.consumed)
        held.set(name, (held.get(name) ?? 0n) + sign * amount);
    }
    if (!how.isAdmin) this.#count(one, sign);
  }

  #count({ device, slice }: OfferedDevice, sign: 1n | -1n): void {
    for (const { counterSet, counters } of device.consumesCounters ?? [])
      for (const [name, { value }] of Object.entries(counters)) {
        const key = `${slice.metadata.name} ${counterSet} ${name}`;
        this.#counters.set(key, (this.#counters.get(key) ?? 0n) + sign * nano(value));
      }
  }

  #hasCounters({ device, slice }: OfferedDevice): boolean {
    return (device.consumesCounters ?? []).every(({ counterSet, counters }) => {
      const set = slice.spec.sharedCounters?.find(({ name }) => name === counterSet);
      return Object.entries(counters).every(([name, { value }]) => {
        const all = set?.counters[name];
        const held = this.#counters.get(`${slice.metadata.name} ${counterSet} ${name}`) ?? 0n;
        return all === undefined || held + nano(value) <= nano(all.value);
      });
    });
  }

  #isSelected(ask: AskOfClass, one: OfferedDevice): boolean {
    const key = `${ask.claimAt} ${ask.name} ${one.id}`;
    let known = this.#matches.get(key);
    if (known === undefined) {
      known = this.#selects(ask, one);
      this.#matches.set(key, known);
    }
    return known;
  }

  #selects(ask: AskOfClass, { device, slice }: OfferedDevice): boolean {
    const { deviceClass } = ask;
    // Devices that must be prepared after the choice need a feature gate that is off.
    if ((device.bindingConditions ?? []).length > 0) return false;
    const sources = [
      { whose: `class ${deviceClass.metadata.name}`, selectors: deviceClass.spec.selectors ?? [] },
      { whose: this.#claimName(ask), selectors: ask.request.selectors ?? [] },
    ];
    return sources.every(({ whose, selectors }) =>
      selectors.every(({ cel }, at) => {
        const verdict = deviceMatches(cel?.expression ?? "", slice.spec.driver, device);
        if ("matches" in verdict) return verdict.matches;
        throw new Unanswerable(`${whose}: selector #${at}: CEL runtime error: ${verdict.problem}`);
      }),
    );
  }

  #claimName({ claimAt }: Ask): string {
    const { namespace = "", name = "" } = this.#question.claims[claimAt]?.metadata ?? {};
    return `claim ${namespace}/${name}`;
  }

  #nameOf(ask: Ask): string {
    return `${this.#claimName(ask)}, request ${ask.name}`;
  }
}

/**
 * Whether the device has only tolerated taints. Taints with effect `None` are only informative. upstream:
 * resourceclaim.ToleratesTaint
 */
function toleratesAll(
  { device }: OfferedDevice,
  tolerations: readonly DeviceToleration[],
): boolean {
  return (device.taints ?? []).every(
    (taint) =>
      taint.effect === "None" ||
      tolerations.some(
        ({ key = "", operator = "Equal", value = "", effect }) =>
          (effect === undefined || effect === taint.effect) &&
          (key === "" ? operator === "Exists" : key === taint.key) &&
          (operator === "Exists" || value === (taint.value ?? "")),
      ),
  );
}
