/**
 * Consumable capacity: several claims share a device, and each uses a part of its capacity. Numbers are exact.
 * upstream: pkg/scheduling/dynamicresources/consumable_capacity.go
 */
import type { CapacityRequestPolicy, Device } from "../../apis/resource/kinds.ts";
import { parseNano } from "../../base/quantity.ts";

/** Dimension → amount, in nano units. */
export type DeviceAmounts = ReadonlyMap<string, bigint>;

export const NO_AMOUNTS: DeviceAmounts = new Map();

/** How much of each dimension all claims that share the device may use together. */
export function capacityOf({ capacity = {} }: Device): DeviceAmounts {
  return new Map(Object.entries(capacity).map(([name, { value }]) => [name, nano(value)]));
}

/** The amounts in a request's `capacity.requests`. A name without a domain has the driver's domain. */
export function requestedOf(
  requests: Readonly<Record<string, string>>,
): ReadonlyMap<string, bigint> {
  return new Map(Object.entries(requests).map(([name, value]) => [name, nano(value)]));
}

/**
 * What a claim uses of the device's capacity: the requested amounts, rounded up as the device's policy demands. Empty:
 * the device is not shared. If the device cannot be used for the claim, returns the reason as a text.
 */
export function consumedBy(
  { capacity = {}, allowMultipleAllocations }: Device,
  driver: string,
  requested: DeviceAmounts,
): DeviceAmounts | string {
  const asked = new Map<string, bigint>();
  for (const [name, amount] of requested) {
    const known = knownName(capacity, driver, name);
    if (known === undefined) return `it has no capacity ${name}`;
    asked.set(known, amount);
  }
  if (allowMultipleAllocations !== true) {
    for (const [name, amount] of asked)
      if (amount > nano(capacity[name]?.value)) return `it has less ${name}`;
    return NO_AMOUNTS;
  }
  const consumed = new Map<string, bigint>();
  for (const [name, { value, requestPolicy }] of Object.entries(capacity)) {
    const amount = rounded(asked.get(name), nano(value), requestPolicy);
    if (isRefused(amount, requestPolicy)) return `its policy allows no such share of ${name}`;
    if (amount > nano(value)) return `it has less ${name}`;
    consumed.set(name, amount);
  }
  return consumed;
}

/** The first dimension of which `whole` minus `used` is less than `wanted`. Undefined: there is enough of all. */
export function shortDimension(
  whole: DeviceAmounts,
  used: readonly (DeviceAmounts | undefined)[],
  wanted: DeviceAmounts,
): string | undefined {
  for (const [name, amount] of wanted) {
    let left = whole.get(name) ?? 0n;
    for (const one of used) left -= one?.get(name) ?? 0n;
    if (amount > left) return name;
  }
  return undefined;
}

/** The sum of two amounts, for each dimension. */
export function addAmounts(a: DeviceAmounts, b: DeviceAmounts): DeviceAmounts {
  if (a.size === 0) return b;
  const sum = new Map(a);
  for (const [name, amount] of b) sum.set(name, (sum.get(name) ?? 0n) + amount);
  return sum;
}

/** The larger of two amounts, for each dimension. */
export function largerAmounts(a: DeviceAmounts, b: DeviceAmounts): DeviceAmounts {
  const larger = new Map(a);
  for (const [name, amount] of b) {
    const known = larger.get(name) ?? 0n;
    larger.set(name, amount > known ? amount : known);
  }
  return larger;
}

function rounded(
  asked: bigint | undefined,
  whole: bigint,
  policy: CapacityRequestPolicy | undefined,
): bigint {
  if (asked === undefined) return policy?.default === undefined ? whole : nano(policy.default);
  const { validRange, validValues } = policy ?? {};
  if (validRange !== undefined) {
    const least = nano(validRange.min);
    if (asked <= least) return least;
    const step = validRange.step === undefined ? 0n : nano(validRange.step);
    return step === 0n ? asked : least + ((asked - least + step - 1n) / step) * step;
  }
  const next = validValues?.map(nano).filter((value) => value >= asked);
  return next === undefined || next.length === 0 ? asked : next.reduce((a, b) => (a < b ? a : b));
}

/** Whether the device's policy forbids the amount. The default of the policy is always allowed. */
function isRefused(amount: bigint, policy: CapacityRequestPolicy | undefined): boolean {
  if (policy === undefined) return false;
  const { validRange, validValues } = policy;
  if (policy.default !== undefined && amount === nano(policy.default)) return false;
  if (validRange !== undefined) {
    const least = nano(validRange.min);
    const step = validRange.step === undefined ? 0n : nano(validRange.step);
    if (amount < least || (step > 0n && (amount - least) % step !== 0n)) return true;
    return validRange.max !== undefined && amount > nano(validRange.max);
  }
  return validValues !== undefined && !validValues.some((value) => nano(value) === amount);
}

function knownName(
  capacity: NonNullable<Device["capacity"]>,
  driver: string,
  name: string,
): string | undefined {
  if (Object.hasOwn(capacity, name)) return name;
  const bare = name.startsWith(`${driver}/`) ? name.slice(driver.length + 1) : undefined;
  if (bare !== undefined && Object.hasOwn(capacity, bare)) return bare;
  const full = `${driver}/${name}`;
  return Object.hasOwn(capacity, full) ? full : undefined;
}

function nano(value: string | undefined): bigint {
  return value === undefined ? 0n : (parseNano(value) ?? 0n);
}
