/**
 * What one disruption method may know in one run of the loop: the facts, the time and the budgets. A method takes
 * this and nothing else. survey.ts makes it; docs/designs/004-the-centre.md, part 4, is the design.
 */
import type { Pod } from "../../apis/core/pod.ts";
import type { PodDisruptionBudget } from "../../apis/policy/kinds.ts";
import type { Steps } from "../../base/steps.ts";
import type { PlannerOptions } from "../planner/planner-options.ts";
import type { PlannedClaim } from "../provisioning/result.ts";
import type { NodeView } from "../state/node-view.ts";
import type { PoolTotals } from "./balanced.ts";
import type { PoolAllowance } from "./budgets.ts";
import type { Candidate } from "./candidates.ts";
import type { ForSpot } from "./cheaper.ts";
import type { Command, Objection } from "./command.ts";
import type { Simulator } from "./simulate.ts";

export interface Repack {
  readonly planner: PlannerOptions;
  /** Least saving, in percent of the price of the nodes that go. */
  readonly minSavingsPercent: number;
}

export interface Round {
  readonly nowMs: number;

  // Facts.

  /** Nodes that may be disrupted, sorted by node name. */
  readonly candidates: readonly Candidate[];
  /** All nodes of the cluster, sorted by name. */
  readonly nodes: readonly NodeView[];
  readonly pdbs: readonly PodDisruptionBudget[];
  /** Plans the cluster without some of its nodes. */
  readonly simulator: Simulator;
  /** The node keeps room for pods of a CapacityBuffer: it is not empty. */
  readonly hostsBufferPods: (candidate: Candidate) => boolean;
  /** Pods of these nodes that leave only after a new pod of their workload runs: the drain waits for that. */
  readonly keptPods: (candidates: readonly Candidate[]) => ReadonlySet<Pod>;
  /** Price and pods of each Balanced pool, by pool id; computed on the first call. */
  readonly balancedTotals: () => ReadonlyMap<string, PoolTotals>;
  /**
   * Plans `count` new nodes for a static pool (by id) in the place of the named nodes; fewer where limits leave less
   * room. Undefined: the gate is off or the pool is not ready, so nobody keeps the pool at its size.
   */
  readonly planStatic: (
    poolId: string,
    count: number,
    instead: readonly string[],
  ) => readonly PlannedClaim[] | undefined;

  // Budgets and settings.

  /** Disruptions still allowed for the method's reason, by pool id. */
  readonly allowances: ReadonlyMap<string, PoolAllowance>;
  /** What may replace nodes that are all spot. */
  readonly forSpot: ForSpot;
  /** Settings of repack; undefined: repack is off. */
  readonly repack: Repack | undefined;
  /** Share of their price that a repack of these nodes must save. */
  readonly wantedShare: (candidates: readonly Candidate[]) => number;

  // What was done of late.

  /** Why this consolidation must wait, whatever it saves; undefined: it need not. */
  readonly objection: (command: Command) => Objection | undefined;
  /** Pods that a consolidation moved to nodes of these pools (by id) arrived less than `consolidateAfter` ago. */
  readonly isSettling: (poolIds: ReadonlySet<string>) => Steps<boolean>;
  /** How much longer repack may wait for more nodes of these pools (by id) to become quiet. */
  readonly patienceMs: (poolIds: ReadonlySet<string>) => number;
  /** When a command for these pools (by id) was last proposed; 0: never. */
  readonly lastTurnMs: (poolIds: ReadonlySet<string>) => number;
  /** The node replaced another one a short time ago, so it is not replaced itself. */
  readonly rests: (candidate: Candidate) => boolean;
  /** The last repack of the node's pool did not save what it should, so the pool is not repacked. */
  readonly poolRests: (candidate: Candidate) => boolean;
  /** A used node of an alpha pool is being replaced; alpha replaces one at a time. */
  readonly alphaBusy: boolean;
  /** Pools (by id) whose replacement failed, and until when no other one is launched. */
  readonly backingOff: ReadonlyMap<string, number>;
}
