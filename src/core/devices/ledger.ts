/**
 * The devices that a plan has promised: what each planned or existing node uses, and on which node each claim has its
 * devices. When a fork of the scheduling state is undone, so are its changes here, the newest first.
 * upstream: pkg/scheduling/dynamicresources/allocationtracker.go
 */
import { within } from "../../base/within.ts";
import type { PodClaims } from "./any-order.ts";
import { addAmounts, type DeviceAmounts, largerAmounts, NO_AMOUNTS } from "./capacity.ts";
import { type CounterUse, consume } from "./counters.ts";
import type { DevicePool, PooledDevice } from "./inventory.ts";
import type { Reach } from "./reach.ts";
import type { Taken, Use } from "./search.ts";
import { isShared } from "./search.ts";
import type { Seed } from "./seed.ts";

/** A planned or existing node. */
export type Holder = object;

/** The devices that a node uses, for each kind of instance type that it may become. */
export type KindUses = ReadonlyMap<number, readonly Use[]>;

/** A claim for which this pass has found devices. */
export interface PlacedClaim {
  readonly holder: Holder;
  /** The nodes that can use the claim's devices. Undefined: only the holder. */
  readonly reaches: readonly Reach[] | undefined;
}

/** Which devices count as used in a search. */
export interface TakenBy {
  readonly kind: number;
  readonly seed: Seed;
  /** The devices that the node's own pods use. Absent: those in the ledger. */
  readonly uses?: readonly Use[] | undefined;
}

const NO_USES: KindUses = new Map();
const NO_PODS: readonly PodClaims[] = [];

export class DeviceLedger {
  readonly #holders = new Map<Holder, KindUses>();
  readonly #claims = new Map<string, PlacedClaim>();
  /** For each published device and node: the amounts that the node uses of the device. */
  readonly #byDevice = new Map<PooledDevice, Map<Holder, DeviceAmounts>>();
  /** The pods that get devices on a node in this pass, in order. */
  readonly #pods = new Map<Holder, readonly PodClaims[]>();
  readonly #undo: (() => void)[] = [];
  /** Increases when a claim gets devices, and when that is undone. */
  #revision = 0;

  get revision(): number {
    return this.#revision;
  }

  usesOf(holder: Holder): KindUses {
    return this.#holders.get(holder) ?? NO_USES;
  }

  podsOn(holder: Holder): readonly PodClaims[] {
    return this.#pods.get(holder) ?? NO_PODS;
  }

  addPod(holder: Holder, claims: PodClaims): void {
    const before = this.podsOn(holder);
    this.#pods.set(holder, [...before, claims]);
    this.#undo.push(() => {
      if (before.length === 0) this.#pods.delete(holder);
      else this.#pods.set(holder, before);
    });
  }

  placed(claim: string): PlacedClaim | undefined {
    return this.#claims.get(claim);
  }

  /** The current position in the undo log, to return to by {@link backTo}. */
  now(): number {
    return this.#undo.length;
  }

  backTo(moment: number): void {
    while (this.#undo.length > moment) this.#undo.pop()?.();
  }

  /** Adds a function to the undo log that undoes a change outside the ledger. */
  note(undo: () => void): void {
    this.#undo.push(undo);
  }

  setUses(holder: Holder, uses: KindUses): void {
    const before = this.usesOf(holder);
    this.#replace(holder, before, uses);
    this.#undo.push(() => this.#replace(holder, uses, before));
  }

  place(claim: string, placed: PlacedClaim): void {
    const before = this.#claims.get(claim);
    this.#claims.set(claim, placed);
    this.#revision++;
    this.#undo.push(() => {
      if (before === undefined) this.#claims.delete(claim);
      else this.#claims.set(claim, before);
      this.#revision++;
    });
  }

  /**
   * The devices that are in use when a pod is tried on this node, assumed that the node becomes instance type kind
   * `kind`.
   */
  taken(holder: Holder, { kind, seed, uses = this.usesOf(holder).get(kind) }: TakenBy): Taken {
    const own = takenBy(uses);
    const counters = new Map<DevicePool, CounterUse>();
    const byOthers = (device: PooledDevice) => {
      const holders = this.#byDevice.get(device);
      return holders !== undefined && (holders.size > 1 || !holders.has(holder));
    };
    const has = (device: PooledDevice) =>
      own.has(device) || seed.held.has(device) || byOthers(device);
    return {
      has,
      consumed: (device) => {
        const others = [...(this.#byDevice.get(device) ?? [])].filter(([one]) => one !== holder);
        const amounts = others.map(([, amount]) => amount);
        return [seed.consumed.get(device), own.get(device), ...amounts];
      },
      counters: (pool) => [
        within(counters, pool, () => {
          const use: CounterUse = new Map();
          for (const one of pool.devices) if (has(one)) consume(use, one.device, 1);
          return use;
        }),
      ],
    };
  }

  #replace(holder: Holder, before: KindUses, after: KindUses): void {
    for (const uses of before.values()) {
      for (const { device } of uses) {
        if (device.pool.isTemplate) continue;
        const holders = this.#byDevice.get(device);
        holders?.delete(holder);
        if (holders?.size === 0) this.#byDevice.delete(device);
      }
    }
    // The node will become only one kind, so for each device the largest amount of its kinds counts.
    for (const uses of after.values()) {
      for (const [device, amounts] of takenBy(uses)) {
        if (device.pool.isTemplate) continue;
        const holders = within(this.#byDevice, device, () => new Map<Holder, DeviceAmounts>());
        holders.set(holder, largerAmounts(holders.get(holder) ?? NO_AMOUNTS, amounts));
      }
    }
    if (after.size === 0) this.#holders.delete(holder);
    else this.#holders.set(holder, after);
  }
}

const NO_DEVICES: ReadonlyMap<PooledDevice, DeviceAmounts> = new Map();
/** The amounts that a list of uses takes of each device. Lists never change, so sums are cached. */
const TAKEN = new WeakMap<readonly Use[], ReadonlyMap<PooledDevice, DeviceAmounts>>();

function takenBy(uses: readonly Use[] | undefined): ReadonlyMap<PooledDevice, DeviceAmounts> {
  if (uses === undefined) return NO_DEVICES;
  return within(TAKEN, uses, () => takenAnew(uses));
}

/** Sums up the uses. Requests with admin access only monitor devices and do not count. */
function takenAnew(uses: readonly Use[]): ReadonlyMap<PooledDevice, DeviceAmounts> {
  const taken = new Map<PooledDevice, DeviceAmounts>();
  for (const { device, consumes, adminAccess } of uses) {
    if (adminAccess) continue;
    const known = taken.get(device) ?? NO_AMOUNTS;
    taken.set(device, isShared(device) ? addAmounts(known, consumes) : known);
  }
  return taken;
}
