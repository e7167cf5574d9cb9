/**
 * The source of the console's data. A scene is one moment of a cluster. Its parts are computed on demand, by
 * the same code as `karpenter explain`, `top` and `plan`. Today scenes come from a live cluster; a recording
 * could be another source.
 */
import type { Event } from "../apis/core/kinds.ts";
import type { CommandAnswer } from "../core/answers/command-answer.ts";
import type { WorkloadCost } from "../core/answers/costs.ts";
import type { Fleet } from "../core/answers/fleet.ts";
import type { MovesUnderWay } from "../core/answers/moves-under-way.ts";
import type { PoolAnswer } from "../core/answers/pool-answer.ts";
import type { RehearsalProgress } from "../core/answers/rehearsal-progress.ts";
import type { ReasonWeek } from "../core/answers/week.ts";
import type { ListedNodes, NodeQuestion } from "./views/node-groups.ts";
import type { VitalPoint } from "./views/vitals.ts";

/** A pod that fits nowhere. */
export interface UnplacedPod {
  readonly pod: string;
  /** When the pod began to wait, in RFC 3339. */
  readonly since?: string | undefined;
  readonly reason: string;
  /** The smallest change that would place the pod. */
  readonly fix?: string | undefined;
  /** The change as `kubectl patch` command lines. */
  readonly patch?: readonly string[] | undefined;
  /** Why the change has no patch, and what the user can do instead. */
  readonly byHand?: string | undefined;
}

/**
 * One moment of a cluster. Each function returns the same object on each call, so a change is visible by identity or
 * value. Slow parts may be from an earlier moment.
 */
export interface ConsoleScene {
  /** The time on the cluster's clock. */
  readonly nowMs: number;
  /** What could not be read, and what was assumed. */
  readonly notes: readonly string[];
  readonly events: readonly Event[];
  /**
   * Kinds that are still being listed. The fleet lacks their objects, so views that need all objects are not
   * sent yet. Absent: none.
   */
  readonly loading?: readonly string[];
  fleet(): Promise<Fleet>;
  /** Where the pods of nodes that are being removed go. */
  moves(): Promise<MovesUnderWay>;
  /** Number of pods of CapacityBuffers for which a node keeps room, by node name. */
  room(): Promise<ReadonlyMap<string, number>>;
  pools(): Promise<readonly ConsolePool[]>;
  /** What the disruption loop would do next. */
  next(): Promise<readonly CommandAnswer[]>;
  /** Which workloads cause the cost of the nodes. */
  costs(): Promise<ConsoleCosts>;
  unplaced(): Promise<readonly UnplacedPod[]>;
  /** The nodes that match the question, each as a row of the map. */
  nodes(question: NodeQuestion): Promise<ListedNodes>;
  /** The answer of `karpenter explain`. Throws an error with a message for people. */
  explain(question: ConsoleQuestion): Promise<unknown>;
  /** The answer of `karpenter simulate`. Throws an error with a message for people. */
  simulate(supposition: Supposition, asker: SimulationFollower): Promise<unknown>;
  /** The objects that a {@link Supposition} can change. */
  editable(): Promise<Editable>;
  /** Errors that the API server would report for these NodePools (YAML), one sentence each. */
  poolProblems(pools: string): readonly string[];
}

export interface ConsolePool extends Omit<PoolAnswer, "held"> {
  /** What blocks the disruption of nodes. `says` stands after a number: `2 nodes: the NodePool's policy`. */
  readonly held: readonly (PoolAnswer["held"][number] & { readonly says: string })[];
  readonly week: readonly ReasonWeek[];
  /** Number of nodes that have drifted. */
  readonly drifted: number;
}

export interface ConsoleCosts {
  /** The most expensive first. */
  readonly workloads: readonly WorkloadCost[];
  /** A lower bound for nodes that run these requests, at present prices. Absent: no NodePool offers anything. */
  readonly leastMicroUsdPerHour?: number;
}

export interface ConsoleQuestion {
  readonly kind: string;
  readonly name: string;
  readonly namespace: string;
}

/** Who waits for the answer of a simulation. */
export interface SimulationFollower {
  /** Whether nobody waits any more, so that the work may end. */
  readonly isGone: () => boolean;
  /** Gets how far the simulation has come. */
  readonly tell: (progress: SimulationProgress) => void;
}

export interface SimulationProgress extends RehearsalProgress {
  /** Milliseconds since the question, and after how many its consolidation is stopped. */
  readonly elapsedMs: number;
  readonly longestMs: number;
}

/**
 * The assumptions of a what-if question: nodes are removed, zones are drained, objects and prices change, the
 * cluster is consolidated completely.
 */
export interface Supposition {
  readonly nodes: readonly string[];
  readonly zones: readonly string[];
  readonly consolidate: boolean;
  /** Prices an hour: `TYPE=USD` or `TYPE:spot=USD`. */
  readonly prices?: readonly string[];
  /** Replicas of Deployments: `NAMESPACE/NAME=REPLICAS`. */
  readonly scales?: readonly string[];
  /** The changed NodePools as YAML. */
  readonly pools?: string;
}

/** NodePools as their owners wrote them, Deployments (`namespace/name`), and the instance types on offer. */
export interface Editable {
  readonly pools: readonly {
    readonly kind: string;
    readonly name: string;
    readonly yaml: string;
  }[];
  readonly workloads: readonly { readonly workload: string; readonly replicas: number }[];
  readonly types: readonly string[];
}

/** An action that a person may do in a sandbox. */
export interface SandboxAct {
  readonly name: string;
  /** The text of the button. */
  readonly label: string;
  /** The values that the person must enter, in order, by name. */
  readonly wants: readonly string[];
  /** The allowed values, if they are known, by name. */
  readonly choices?: Readonly<Record<string, readonly string[]>>;
}

export interface ConsoleSource {
  /** Name of the cluster. */
  readonly name: string;
  readonly mode: "sandbox" | "cluster";
  /** The actions that a user can do. Empty: there are none. */
  readonly acts: readonly SandboxAct[];
  /** Does an action and resolves with a description. Throws an error with a message for people. */
  act(name: string, values: Readonly<Record<string, string>>): Promise<string>;
  /** The controller's health over time, oldest first. Absent: its metrics cannot be read. */
  readonly vitals?: () => readonly VitalPoint[];
  /** Opens the watches for a viewer. Returns a function to call when the viewer leaves. */
  open(): () => void;
  /** Reports how many milliseconds the views of a scene took. The source rests in proportion before the next scene. */
  readonly worked?: (ms: number) => void;
  /**
   * The present scene. It is the same object until something changes. `early`: what takes long to list may still be
   * missing, see {@link ConsoleScene.loading}.
   */
  scene(options?: { readonly early?: boolean }): Promise<ConsoleScene>;
}
