/**
 * A disruption round that allows everything, over a simulator that is ready. Benches ask `consolidate` with it, and
 * so measure the question alone: no budgets, no hold-offs. It has no cast, so a change of `Round` fails the type check.
 */
import type { Round } from "../src/core/disruption/round.ts";
import type { Simulator } from "../src/core/disruption/simulate.ts";

/** The round; spot nodes are only deleted, since upstream's default gates replace none of them by spot. */
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
      terminateFirst: { drift: false, repair: false },
    },
    holdOffs: {
      of: () => undefined,
      fromRepack: () => false,
      *isSettling() {
        yield;
        return false;
      },
      turns: { patienceMs: () => 0, lastMs: () => 0 },
      minRepackShare: () => 0,
      backingOff: new Map(),
    },
  };
}
