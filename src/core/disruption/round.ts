/** The facts and limits that one disruption method gets in one run of the loop. make-round.ts makes a `Round`. */
import type { Pod } from "../../apis/core/pod.ts";
import type { PodDisruptionBudget } from "../../apis/policy/kinds.ts";
import type { Steps } from "../../base/steps.ts";
import type { InstanceType } from "../cloudprovider/instance-type.ts";
import type { PlannerOptions } from "../planner/planner-options.ts";
import type { StaticNodes } from "../provisioning/static-nodes.ts";
import type { NodeView } from "../state/node-view.ts";
import type { PoolTotals } from "./balanced.ts";
import type { RepairRules } from "./broken-nodes.ts";
import type { PoolAllowance } from "./budgets.ts";
import type { Candidate } from "./candidates.ts";
import type { ForSpot } from "./cheaper.ts";
import type { Command, HoldOff } from "./command.ts";
import type { RepackTurns } from "./repack-turns.ts";
import type { Simulator } from "./simulate.ts";
import type { TerminateFirst } from "./terminate-first.ts";

/** The input of one disruption method. */
export interface Round {
  readonly nowMs: number;
  readonly facts: RoundFacts;
  readonly budgets: RoundBudgets;
  readonly settings: RoundSettings;
  readonly holdOffs: RoundHoldOffs;
}

/** The state of the cluster as it was read for this round. */
export interface RoundFacts {
  /** The nodes that may be disrupted, sorted by node name. */
  readonly candidates: readonly Candidate[];
  /** All nodes of the cluster, sorted by name. */
  readonly nodes: readonly NodeView[];
  /** Simulates the cluster without some of its nodes. */
  readonly simulator: Simulator;
  /** The pods of these nodes that are evicted only after a new pod of their workload runs (competing-pods.ts). */
  readonly protectedPods: (candidates: readonly Candidate[]) => ReadonlySet<Pod>;
  /** Price and reschedule cost of each pool with the policy Balanced, by pool id. Computed on the first call. */
  readonly balancedTotals: () => ReadonlyMap<string, PoolTotals>;
  /**
   * Plans new nodes for a static pool, fewer than `count` if limits leave less room. Undefined: no controller creates
   * nodes for the pool, because it is not ready or the feature gate StaticCapacity is off.
   */
  readonly planStatic: (wanted: StaticPlan) => StaticNodes | undefined;
  /** The instance types of the pool with this id. Empty if they are not known. */
  readonly typesOf: (poolId: string) => readonly InstanceType[];
  /** Whether a v1alpha5 node with pods is being replaced. In v1alpha5, only one is replaced at a time. */
  readonly alphaBusy: boolean;
}

/** New nodes for a static pool, in place of nodes that are removed. */
export interface StaticPlan {
  readonly poolId: string;
  readonly count: number;
  readonly instead: readonly string[];
}

/** Limits on how much may be disrupted at the same time. counters.ts counts how much of them a method has used. */
export interface RoundBudgets {
  /** How many nodes the budgets for the method's reason allow, by pool id. */
  readonly allowances: ReadonlyMap<string, PoolAllowance>;
  readonly pdbs: readonly PodDisruptionBudget[];
}

export interface RoundSettings {
  /** The capacity type that may replace nodes if all of them are spot. */
  readonly forSpot: ForSpot;
  /** The settings of repack. Undefined: repack is off. */
  readonly repack: Repack | undefined;
  /** Whether one consolidation command may launch several nodes. */
  readonly splits: boolean;
  /** The cost of a node beyond its instance (`--planner-node-cost`), in micro-dollars an hour. */
  readonly nodeMicroUsdPerHour: number;
  /** The rules of node repair. Undefined: node repair is off. */
  readonly repair?: RepairRules | undefined;
  /** Which methods may remove a node before its replacement is launched. */
  readonly terminateFirst: TerminateFirst;
}

/** The part of the controller's settings that rounds need. `repair`: undefined, if node repair is off. */
export function roundSettings(
  settings: Omit<RoundSettings, "repair" | "nodeMicroUsdPerHour"> & {
    readonly planner: PlannerOptions;
  },
  repair: RepairRules | undefined,
): RoundSettings {
  const { forSpot, repack, splits, terminateFirst, planner } = settings;
  const { nodeMicroUsdPerHour } = planner;
  return { forSpot, repack, splits, terminateFirst, nodeMicroUsdPerHour, repair };
}

export interface Repack {
  readonly planner: PlannerOptions;
  /** A repack must save at least this share, in percent of the price of the removed nodes. */
  readonly minSavingsPercent: number;
}

/** Times during which nodes or NodePools are not disrupted, because of earlier commands. */
export interface RoundHoldOffs {
  /** Why this command must not begin now. Undefined: it may begin. */
  readonly of: (command: Command) => HoldOff | undefined;
  /**
   * Whether repack must leave out the node: it is a new replacement, or the last repack of its pool saved too little.
   */
  readonly fromRepack: (candidate: Candidate) => boolean;
  /** Whether nodes of these pools took pods of a consolidation and will soon be consolidatable (settling.ts). */
  readonly isSettling: (poolIds: ReadonlySet<string>) => Steps<boolean>;
  /** When each group of pools was last served, and how long its command may still be deferred. */
  readonly turns: Pick<RepackTurns, "waitLeftMs" | "lastMs">;
  /**
   * The share of their price that a repack of these nodes must save. It rises if their last repack saved too little.
   */
  readonly minRepackShare: (candidates: readonly Candidate[]) => number;
  /** Pools (by id) whose last replacement failed, and until when no other is launched. */
  readonly backingOff: ReadonlyMap<string, number>;
}
