/**
 * Faults that scenarios and tests inject: pools without capacity, quotas, changed spot prices; calls that are
 * denied, throttled or unanswered; delayed visibility; nodes that join late or never. A fault stays until it
 * is undone or used up.
 */
import { AwsError } from "../../../providers/aws/api/call.ts";

/** Selects pools or instances. A missing field matches everything. */
export interface PoolMatch {
  readonly instanceType?: string;
  readonly zone?: string;
  readonly capacityType?: "on-demand" | "spot";
}

/** Offerings that run out of capacity. */
export interface CapacityFault extends PoolMatch {
  /** Instances that can still be launched from the matching pools together. Default 0. */
  readonly remaining?: number;
  /** The error code. Default: `InsufficientInstanceCapacity`, for spot `UnfulfillableCapacity`. */
  readonly code?: string;
  readonly message?: string;
}

/** Multiplies the spot prices of the matching pools. */
export interface PriceFault extends Omit<PoolMatch, "capacityType"> {
  readonly factor: number;
}

/** A limit on the vCPUs of one kind that the account may run at the same time. */
export interface QuotaFault {
  /** Quota code, such as `L-1216C47A`. Absent: every quota of the capacity type. */
  readonly code?: string;
  readonly capacityType: "on-demand" | "spot";
  readonly vcpus: number;
}

/** Calls that fail, are throttled, or get no answer. */
export interface CallFault {
  /** The name of the call, such as `CreateFleet`. Absent: every call of the service, or of all services. */
  readonly action?: string;
  /** The name of the service, such as `ec2`, `ssm` or `zonalShift`. Absent: all services. */
  readonly service?: string;
  readonly code: string;
  readonly message: string;
  /** The HTTP status of the answer. 0 means that no answer comes. */
  readonly status: number;
  /** Number of calls that fail. Absent: all, until the fault is undone. */
  readonly times?: number;
  /**
   * Whether a permission is missing. EC2 answers with `UnauthorizedOperation`, the other services with `AccessDenied`.
   */
  readonly isDenial?: boolean;
}

/** Removes the fault. A second call does nothing. */
export type Undo = () => void;

interface Counted<T> {
  readonly fault: T;
  left: number;
}

/** The faults that are active now. */
export class Faults {
  readonly #capacity = new Set<Counted<CapacityFault>>();
  readonly #calls = new Set<Counted<CallFault>>();
  readonly #neverJoin = new Set<Counted<PoolMatch>>();
  readonly #slowBoots = new Set<PoolMatch & { readonly byMs: number }>();
  readonly #prices = new Set<PriceFault>();
  readonly #quotas = new Set<QuotaFault>();
  readonly #lags = new Set<{ readonly ms: number }>();

  /** Limits the capacity of the matching pools. Without `remaining` they are empty. */
  limitCapacity(fault: CapacityFault): Undo {
    return put(this.#capacity, { fault, left: fault.remaining ?? 0 });
  }

  /** Makes calls fail as the fault describes. */
  failCalls(fault: CallFault): Undo {
    return put(this.#calls, { fault, left: fault.times ?? Number.POSITIVE_INFINITY });
  }

  /** Denies an action as a missing permission does. */
  deny(action: string, times?: number): Undo {
    const message = `You are not authorized to perform this operation. User is not authorized to perform: ${action} because no identity-based policy allows the action`;
    return this.failCalls({
      action,
      code: "UnauthorizedOperation",
      message,
      status: 403,
      isDenial: true,
      ...(times === undefined ? {} : { times }),
    });
  }

  /** Throttles an action, or every call. */
  throttle(action?: string, times?: number): Undo {
    return this.failCalls({
      ...(action === undefined ? {} : { action }),
      code: "RequestLimitExceeded",
      message: "Request limit exceeded.",
      status: 503,
      ...(times === undefined ? {} : { times }),
    });
  }

  /** Makes one service, or all of AWS, unreachable. */
  unreachable(service?: string): Undo {
    return this.failCalls({
      ...(service === undefined ? {} : { service }),
      code: "NetworkingError",
      message: `connect ECONNREFUSED ${service ?? "aws"}`,
      status: 0,
    });
  }

  /** No kubelet joins from instances of the matching pools. `times` limits the number of instances. */
  neverJoin(match: PoolMatch & { readonly times?: number }): Undo {
    return put(this.#neverJoin, { fault: match, left: match.times ?? Number.POSITIVE_INFINITY });
  }

  /** Delays the boot of instances in the matching pools, in milliseconds. */
  slowBoot(fault: PoolMatch & { readonly byMs: number }): Undo {
    return put(this.#slowBoots, fault);
  }

  /** Multiplies spot prices. If several faults match, their factors multiply. */
  moveSpotPrices(fault: PriceFault): Undo {
    return put(this.#prices, fault);
  }

  /** Refuses launches beyond the quota. */
  limitQuota(fault: QuotaFault): Undo {
    return put(this.#quotas, fault);
  }

  /** Delays when new instances and launch templates become visible, because EC2 is eventually consistent. */
  tellLate(ms: number): Undo {
    return put(this.#lags, { ms });
  }

  /** Removes all faults. */
  clear(): void {
    const all = [this.#capacity, this.#calls, this.#neverJoin, this.#slowBoots];
    for (const set of [...all, this.#prices, this.#quotas, this.#lags]) set.clear();
  }

  /** Throws if a fault makes this call fail. */
  checkCall(service: string, action: string): void {
    for (const entry of this.#calls) {
      const { fault } = entry;
      if (fault.action !== undefined && fault.action !== action) continue;
      if (fault.service !== undefined && fault.service !== service) continue;
      use(this.#calls, entry);
      const code = fault.isDenial === true && service !== "ec2" ? "AccessDenied" : fault.code;
      throw new AwsError(code, fault.message, fault.status);
    }
  }

  /** The first fault that leaves a pool without capacity, if any. */
  lacking(pool: Required<PoolMatch>): CapacityFault | undefined {
    for (const entry of this.#capacity) {
      if (matches(entry.fault, pool) && entry.left <= 0) return entry.fault;
    }
    return undefined;
  }

  /** Counts one launch from a pool. */
  launched(pool: Required<PoolMatch>): void {
    for (const entry of this.#capacity) if (matches(entry.fault, pool)) entry.left--;
  }

  bootDelayMs(pool: Required<PoolMatch>): number {
    const delays = [...this.#slowBoots].filter((one) => matches(one, pool)).map((one) => one.byMs);
    return Math.max(0, ...delays);
  }

  spotPriceFactor(pool: Required<Omit<PoolMatch, "capacityType">>): number {
    let factor = 1;
    for (const fault of this.#prices)
      if (matches(fault, { ...pool, capacityType: "spot" })) factor *= fault.factor;
    return factor;
  }

  /** vCPUs that a quota of this code allows; infinite without a limit. */
  quotaOf(capacityType: "on-demand" | "spot", code: string): number {
    const limits = [...this.#quotas].filter(
      (one) => one.capacityType === capacityType && (one.code ?? code) === code,
    );
    return Math.min(...limits.map((one) => one.vcpus));
  }

  /** Whether a resource created at `madeMs` is visible now. */
  isTold(madeMs: number, nowMs: number): boolean {
    return [...this.#lags].every(({ ms }) => nowMs - madeMs >= ms);
  }

  /** True if a fault prevents this instance from joining. Counts one use of the fault. */
  takesJoin(pool: Required<PoolMatch>): boolean {
    for (const entry of this.#neverJoin) {
      if (!matches(entry.fault, pool)) continue;
      use(this.#neverJoin, entry);
      return true;
    }
    return false;
  }
}

function put<T>(set: Set<T>, entry: T): Undo {
  set.add(entry);
  return () => {
    set.delete(entry);
  };
}

function use<T>(set: Set<Counted<T>>, entry: Counted<T>): void {
  entry.left--;
  if (entry.left <= 0) set.delete(entry);
}

function matches(match: PoolMatch, pool: Required<PoolMatch>): boolean {
  return (
    (match.instanceType === undefined || match.instanceType === pool.instanceType) &&
    (match.zone === undefined || match.zone === pool.zone) &&
    (match.capacityType === undefined || match.capacityType === pool.capacityType)
  );
}
