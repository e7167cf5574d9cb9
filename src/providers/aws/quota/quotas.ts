/**
 * How many vCPUs the account may still launch. Service Quotas returns the limits, EC2 the running instances and the
 * capacity reservations. Later launches are counted here, so that no vCPU is used twice. While nothing is known,
 * nothing is refused: EC2 decides at launch.
 */

import type { VcpuQuotaUse } from "../../../apis/karpenter/facts.ts";
import type { Clock } from "../../../base/clock.ts";
import { grouped } from "../../../base/counted.ts";
import type { CapacityType } from "../../../core/cloudprovider/instance-type.ts";
import type { Instance } from "../api/instances.ts";
import { quotaOf } from "./vcpu-quotas.ts";

/** Percent of a quota from which on a warning is published. */
const NEAR_PERCENT = 90;

/** EC2 lists a new instance within this time. A list that is read earlier may lack it. */
const UNSEEN_MS = 15_000;

/** The fields of an instance that decide against which quota it counts. */
export type Running = Pick<
  Instance,
  "InstanceType" | "InstanceLifecycle" | "CapacityReservationId"
>;

/** What a capacity reservation sets aside. */
export interface Reserved {
  readonly InstanceType: string;
  /** Instances for which the reservation has room, used or not. */
  readonly count: number;
}

/** A launch whose instance EC2 may not list yet. */
interface Held {
  readonly code: string;
  readonly vcpus: number;
  /** When the launch ended. Undefined: EC2 has not answered it yet. */
  endedMs: number | undefined;
}

/** Ends a hold. If `launched` is false, it ends at once, else when EC2 lists the instance. */
export type Settle = (launched: boolean) => void;

/** What AWS returned at one time. */
export interface QuotaReading {
  /** When EC2 was last asked, as elapsed time of the clock. */
  readonly askedMs: number;
  /** The quotas, by code. */
  readonly quotas: ReadonlyMap<string, { readonly name: string; readonly vcpus: number }>;
  /** Pending and running instances of the account in this region. */
  readonly running: readonly Running[];
  /** The capacity reservations that the account owns. Their vCPUs count whether instances run in them or not. */
  readonly reserved: readonly Reserved[];
  /** The vCPUs that EC2 counts for each type. */
  readonly vcpus: ReadonlyMap<string, number>;
}

/** The quotas and how much of each is used. */
export class Quotas {
  readonly #clock: Clock;
  #vcpus: ReadonlyMap<string, number> = new Map();
  /** Quota code → the limit, and what is used according to EC2. */
  #known: ReadonlyMap<string, VcpuQuotaUse> = new Map();
  readonly #held = new Set<Held>();
  #version = 0;
  #fitting = "";

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Changes when a size of instance begins or ceases to fit. Part of cache keys. */
  get version(): number {
    return this.#version;
  }

  /** All quotas by code. What is used includes launches of this process. */
  list(): readonly VcpuQuotaUse[] {
    return [...this.#known.values()].map((one) => ({ ...one, used: this.#used(one) }));
  }

  take({ askedMs, quotas, running, reserved, vcpus }: QuotaReading): void {
    this.#vcpus = vcpus;
    const used = new Map<string, number>();
    const use = (type: string, capacityType: CapacityType, count: number) => {
      const code = quotaOf(type, capacityType, quotas);
      if (code === undefined) return;
      used.set(code, (used.get(code) ?? 0) + count * (vcpus.get(type) ?? 0));
    };
    for (const one of running) {
      const capacityType = countedAs(one);
      if (capacityType !== undefined) use(one.InstanceType, capacityType, 1);
    }
    for (const { InstanceType, count } of reserved) use(InstanceType, "on-demand", count);
    for (const held of this.#held)
      if (held.endedMs !== undefined && held.endedMs + UNSEEN_MS <= askedMs)
        this.#held.delete(held);
    this.restore(
      [...quotas].map(([code, { name, vcpus: allowed }]) => {
        return { code, name, allowed, used: used.get(code) ?? 0 };
      }),
      vcpus,
    );
  }

  /** Uses these values, which AWS returned or another Karpenter process reported. */
  restore(quotas: readonly VcpuQuotaUse[], vcpus: ReadonlyMap<string, number>): void {
    this.#vcpus = vcpus;
    const sorted = [...quotas].sort((a, b) => (a.code < b.code ? -1 : 1));
    this.#known = new Map(sorted.map((one) => [one.code, one]));
    this.#renew();
  }

  /** The code of the quota against which an instance of this type and capacity type counts. */
  of(instanceType: string, capacityType: CapacityType): string | undefined {
    return quotaOf(instanceType, capacityType, this.#known);
  }

  /** Why EC2 would refuse an instance of this type and capacity type now. Undefined: no quota prevents it. */
  refusal(instanceType: string, capacityType: CapacityType): string | undefined {
    const quota = this.#known.get(this.of(instanceType, capacityType) ?? "");
    const vcpus = this.#vcpus.get(instanceType);
    if (quota === undefined || vcpus === undefined) return undefined;
    const used = this.#used(quota);
    return used + vcpus <= quota.allowed ? undefined : useText({ ...quota, used });
  }

  /** vCPUs that may still be launched, by code. */
  room(): ReadonlyMap<string, number> {
    return new Map([...this.#known].map(([code, one]) => [code, one.allowed - this.#used(one)]));
  }

  /** How many vCPUs of which quota an instance of this type and capacity type uses. Undefined: no quota counts it. */
  taken(
    instanceType: string,
    capacityType: CapacityType,
  ): { readonly id: string; readonly units: number } | undefined {
    const id = this.of(instanceType, capacityType);
    const units = this.#vcpus.get(instanceType);
    return id === undefined || units === undefined ? undefined : { id, units };
  }

  /** Counts a launch that begins, until the returned function ends it. */
  hold(instanceType: string, capacityType: CapacityType): Settle {
    const code = this.of(instanceType, capacityType);
    const vcpus = this.#vcpus.get(instanceType);
    if (code === undefined || vcpus === undefined) return () => undefined;
    const held: Held = { code, vcpus, endedMs: undefined };
    this.#held.add(held);
    this.#renew();
    return (launched) => {
      if (launched) held.endedMs = this.#clock.elapsedMs();
      else this.#held.delete(held);
      this.#renew();
    };
  }

  #used({ code, used }: VcpuQuotaUse): number {
    let sum = used;
    for (const held of this.#held) if (held.code === code) sum += held.vcpus;
    return sum;
  }

  #renew(): void {
    const sizes = [...new Set(this.#vcpus.values())];
    const fitting = [...this.#known.values()]
      .map((one) => {
        const room = one.allowed - this.#used(one);
        return sizes.filter((size) => size <= room).length;
      })
      .join(" ");
    if (fitting === this.#fitting) return;
    this.#fitting = fitting;
    this.#version++;
  }
}

/** Whether a warning is due. A quota of 0 gives none, because such an account has never launched these instances. */
export function isNear({ allowed, used }: VcpuQuotaUse): boolean {
  return allowed > 0 && used * 100 >= allowed * NEAR_PERCENT;
}

/**
 * The use of a quota as text: `30 of 32 vCPUs of EC2's quota "Running On-Demand G and VT instances" (L-DB2E81BA) are
 * used`
 */
export function useText({ code, name, allowed, used }: VcpuQuotaUse): string {
  return `${grouped(used)} of ${grouped(allowed)} vCPUs of EC2's quota "${name}" (${code}) are used`;
}

/**
 * The capacity type as which EC2 counts this instance. Undefined: the instance itself counts against no quota. EC2
 * counts a capacity reservation as a whole for its owner, so an instance in it would count twice, or for the wrong
 * account. Capacity blocks count against no quota.
 * Page: docs.aws.amazon.com/AWSEC2/latest/UserGuide/ec2-capacity-reservations.html
 */
function countedAs({
  InstanceLifecycle,
  CapacityReservationId,
}: Running): "on-demand" | "spot" | undefined {
  if (InstanceLifecycle === "spot") return "spot";
  const isOwn = InstanceLifecycle === undefined && CapacityReservationId === undefined;
  return isOwn ? "on-demand" : undefined;
}
