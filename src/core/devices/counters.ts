/**
 * Counters of partitionable devices: the parts of a physical device are devices that share its counters. Numbers are
 * exact.
 * upstream: pkg/scheduling/dynamicresources/partitionable_devices.go
 */
import type { Device } from "../../apis/resource/kinds.ts";
import { parseNano } from "../../base/quantity.ts";
import { within } from "../../base/within.ts";

/** Name → amount, in nano units. */
export type Counters = ReadonlyMap<string, bigint>;

/** For each counter set and counter: the amount that is used. */
export type CounterUse = Map<string, Map<string, bigint>>;

type WireCounters = Readonly<Record<string, { readonly value: string }>>;

/** The parsed counters. A text that is no quantity counts as zero, but the API server refuses such a text anyway. */
export function countersOf(counters: WireCounters): Counters {
  return new Map(
    Object.entries(counters).map(([name, { value }]) => [name, parseNano(value) ?? 0n]),
  );
}

/** Adds the counters that the device uses. If `times` is -1, subtracts them. */
export function consume(use: CounterUse, { consumesCounters = [] }: Device, times: 1 | -1): void {
  for (const { counterSet, counters } of consumesCounters) {
    const set = within(use, counterSet, () => new Map<string, bigint>());
    for (const [name, amount] of countersOf(counters))
      set.set(name, (set.get(name) ?? 0n) + amount * BigInt(times));
  }
}

/** The first counter of which the pool has too little left for the device. Undefined: there is none. */
export function shortCounter(
  budget: ReadonlyMap<string, Counters>,
  uses: readonly (CounterUse | undefined)[],
  { consumesCounters = [] }: Device,
): string | undefined {
  for (const { counterSet, counters } of consumesCounters) {
    for (const [name, amount] of countersOf(counters)) {
      let left = budget.get(counterSet)?.get(name) ?? 0n;
      for (const use of uses) left -= use?.get(counterSet)?.get(name) ?? 0n;
      if (amount > left) return `${counterSet}/${name}`;
    }
  }
  return undefined;
}
