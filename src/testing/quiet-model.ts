/** A cluster without any running command, for tests of simulated disruption. */
import type { Model } from "../core/answers/model.ts";
import { Ledger } from "../core/disruption/ledger.ts";
import type { Repack } from "../core/disruption/round.ts";
import { createSimulator } from "../core/disruption/simulate.ts";
import { schedulingInput } from "./builders.ts";
import { NEVER_FIRST, NOW } from "./disruption.ts";

interface QuietModel {
  readonly pools: Model["pools"];
  readonly nodes: Model["picture"]["nodes"];
  readonly restraint: ConstructorParameters<typeof Ledger>[0];
  /** The settings of repack. Absent: repack is off. */
  readonly repack?: Repack | undefined;
}

/** A model without cluster-wide budget, pause, back-off or PodDisruptionBudget. The time is NOW. */
export function quietModel({ pools, nodes, restraint, repack }: QuietModel): Model {
  const scheduling = { ...schedulingInput({ pools, nodes }), nowMs: NOW };
  return {
    made: 0,
    pools,
    picture: {
      nowMs: NOW,
      nodes,
      pools,
      scheduling,
      simulator: createSimulator(scheduling),
      staticPools: [],
      pdbs: [],
      queued: new Set(),
      backingOff: new Map(),
      paused: () => undefined,
      movesFirst: () => false,
      surgeProblem: () => undefined,
      clusterBudgets: [],
      expiry: { spreadPercent: 0, respectsBudgets: false },
      initializationTimeoutMs: 0,
      ledger: new Ledger(restraint),
      settings: {
        forSpot: "nothing",
        splits: true,
        nodeMicroUsdPerHour: 0,
        repack,
        terminateFirst: NEVER_FIRST,
      },
    },
  };
}
