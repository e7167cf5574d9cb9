/**
 * How much of a shared device one request takes. Amounts are counted in nano units.
 * upstream: dynamic-resource-allocation/structured/internal/experimental/consumable_capacity.go
 */
import type { Device, DeviceCapacity, ExactDeviceRequest } from "../../../apis/resource/kinds.ts";
import { parseNano } from "../../../base/quantity.ts";

/** Amounts in nano units, by name. */
export type DimensionAmounts = ReadonlyMap<string, bigint>;

/** How much of each capacity the request takes. Undefined if the device can never provide it. */
export function amountsTaken(
  device: Device,
  asked: ExactDeviceRequest["capacity"],
): DimensionAmounts | undefined {
  const capacity = device.capacity ?? {};
  const requests = asked?.requests ?? {};
  if (Object.keys(requests).some((name) => capacity[name] === undefined)) return undefined;
  const taken = new Map<string, bigint>();
  for (const [name, one] of Object.entries(capacity)) {
    const amount = amountOf(requests[name], one);
    if (breaksPolicy(amount, one)) return undefined;
    taken.set(name, amount);
  }
  return taken;
}

/** Whether the device has room for `taken` in addition to the amounts that others hold. */
export function hasRoom(
  device: Device,
  taken: DimensionAmounts,
  held: DimensionAmounts | undefined,
): boolean {
  return Object.entries(device.capacity ?? {}).every(
    ([name, { value }]) => (held?.get(name) ?? 0n) + (taken.get(name) ?? 0n) <= nano(value),
  );
}

/** A quantity in nano units. */
export function nano(quantity: string): bigint {
  return parseNano(quantity) ?? 0n;
}

/** Formats nano units as a quantity. */
export function quantityOf(amount: bigint): string {
  const units = amount / NANO;
  return units * NANO === amount ? String(units) : `${amount}n`;
}

const NANO = 1_000_000_000n;

function amountOf(asked: string | undefined, { value, requestPolicy }: DeviceCapacity): bigint {
  if (asked === undefined) return nano(requestPolicy?.default ?? value);
  const amount = nano(asked);
  const { validRange, validValues } = requestPolicy ?? {};
  if (validRange?.min !== undefined) {
    const min = nano(validRange.min);
    const step = validRange.step === undefined ? 0n : nano(validRange.step);
    if (amount < min) return min;
    return step === 0n ? amount : min + ((amount - min + step - 1n) / step) * step;
  }
  const fitting = (validValues ?? []).map(nano).find((one) => amount <= one);
  return fitting ?? amount;
}

function breaksPolicy(amount: bigint, { requestPolicy }: DeviceCapacity): boolean {
  if (requestPolicy === undefined) return false;
  if (requestPolicy.default !== undefined && nano(requestPolicy.default) === amount) return false;
  const { validRange, validValues = [] } = requestPolicy;
  if (validRange !== undefined)
    return validRange.max !== undefined && amount > nano(validRange.max);
  return validValues.length > 0 && !validValues.some((one) => nano(one) === amount);
}
