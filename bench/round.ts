/**
 * A disruption round without budgets and hold-offs. Benches only call `consolidate` with it, which reads no budgets.
 * It has no type cast, so a change of `Round` fails the type check.
 */
import type { Round } from "../src/core/disruption/round.ts";
import type { Simulator } from "../src/core/disruption/simulate.ts";

/**
 * The round. Spot nodes are only deleted: upstream's default feature gates never replace a spot node by another
 * one.
 */
export function freeRound(simulator: Simulator): Round {
  return {
    nowMs: 0,
    facts: {
      candidates: [],
      nodes: [],
      simulator,
      protectedPods: () => new Set(),
      balancedTotals: () => new Map(),
      planStatic: () => undefined,
      typesOf: () => [],
      alphaBusy: false,
    },
    budgets: { allowances: new Map(), pdbs: [] },
    settings: {
      forSpot: "nothing",
      repack: undefined,
      splits: true,
      nodeMicroUsdPerHour: 0,
      terminateFirst: { drift: false, repair: false },
    },
    holdOffs: {
      of: () => undefined,
      fromRepack: () => false,
      *isSettling() {
        yield;
        return false;
      },
      turns: { waitLeftMs: () => 0, lastMs: () => 0 },
      minRepackShare: () => 0,
      backingOff: new Map(),
    },
  };
}
