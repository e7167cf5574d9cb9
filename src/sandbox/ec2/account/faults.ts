/**
 * The world's ill will, set by scenarios and tests: pools without capacity, quotas, spot prices that move,
 * refused, throttled or unreachable calls, news that come late, machines that join late or never. A fault
 * stays until it is taken back or used up.
 */
import { AwsError } from "../../../providers/aws/api/call.ts";

/** A set of pools or instances. A field left out matches everything. */
export interface PoolMatch {
  readonly instanceType?: string;
  readonly zone?: string;
  readonly capacityType?: "on-demand" | "spot";
}

/** Offerings that run out of capacity. */
export interface CapacityFault extends PoolMatch {
  /** Instances that can still be launched from the matching pools together. Default 0. */
  readonly remaining?: number;
  /** Default `InsufficientInstanceCapacity`, for spot `UnfulfillableCapacity`. */
  readonly code?: string;
  readonly message?: string;
}

/** Multiplies the spot prices of the matching pools. */
export interface PriceFault extends Omit<PoolMatch, "capacityType"> {
  readonly factor: number;
}

/** A limit on the vCPUs of one kind that the account may run at the same time. */
export interface QuotaFault {
  /** `L-1216C47A`: the quota. Left out: each quota of the capacity type. */
  readonly code?: string;
  readonly capacityType: "on-demand" | "spot";
  readonly vcpus: number;
}

/** Calls that fail, are throttled, or get no answer. */
export interface CallFault {
  /** `CreateFleet`, `DescribeSubnets`; left out: every call of the service, or of all. */
  readonly action?: string;
  /** `ec2`, `ssm`, `iam`, `eks`, `pricing`, `sts`, `sqs`, `events`. */
  readonly service?: string;
  readonly code: string;
  readonly message: string;
  /** HTTP status; 0 means that no answer comes. */
  readonly status: number;
  /** How often it strikes; left out: until taken back. */
  readonly times?: number;
  /** A missing permission: EC2 has its own code for it, the other services say `AccessDenied`. */
  readonly isDenial?: boolean;
}

/** Takes a fault back. Twice does nothing. */
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

  /** Limits what the matching pools still have; without `remaining` they are empty. */
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

  /** Cuts a service off, or all of AWS. */
  unreachable(service?: string): Undo {
    return this.failCalls({
      ...(service === undefined ? {} : { service }),
      code: "NetworkingError",
      message: `connect ECONNREFUSED ${service ?? "aws"}`,
      status: 0,
    });
  }

  /** Machines of the matching pools run, but no kubelet ever joins. `times` limits how many. */
  neverJoin(match: PoolMatch & { readonly times?: number }): Undo {
    return put(this.#neverJoin, { fault: match, left: match.times ?? Number.POSITIVE_INFINITY });
  }

  /** Delays the boot of machines of the matching pools, in milliseconds. */
  slowBoot(fault: PoolMatch & { readonly byMs: number }): Undo {
    return put(this.#slowBoots, fault);
  }

  /** Moves spot prices; several that match multiply. */
  moveSpotPrices(fault: PriceFault): Undo {
    return put(this.#prices, fault);
  }

  /** Launches beyond it are refused. */
  limitQuota(fault: QuotaFault): Undo {
    return put(this.#quotas, fault);
  }

  /** EC2 is eventually consistent: new instances and launch templates become visible after this delay. */
  tellLate(ms: number): Undo {
    return put(this.#lags, { ms });
  }

  /** Takes every fault back. */
  clear(): void {
    const all = [this.#capacity, this.#calls, this.#neverJoin, this.#slowBoots];
    for (const set of [...all, this.#prices, this.#quotas, this.#lags]) set.clear();
  }

  /** Throws when a call is to fail now. */
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

  /** Whether a resource that was created then is visible now. */
  isTold(madeMs: number, nowMs: number): boolean {
    return [...this.#lags].every(({ ms }) => nowMs - madeMs >= ms);
  }

  /** Whether this machine never joins; counts it. */
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
