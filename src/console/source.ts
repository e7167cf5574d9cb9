/**
 * Where the console gets what it shows. A scene is one moment of a cluster. Each part of it is worked out when somebody
 * asks, by what `karpenter explain`, `top` and `plan` use. Today scenes come from a live cluster.
 * A recording can be another source.
 */
import type { Event } from "../apis/core/kinds.ts";
import type { CommandAnswer } from "../core/answers/command-answer.ts";
import type { WorkloadCost } from "../core/answers/costs.ts";
import type { Fleet } from "../core/answers/fleet.ts";
import type { MovesUnderWay } from "../core/answers/moves-under-way.ts";
import type { PoolAnswer } from "../core/answers/pool-answer.ts";
import type { ReasonWeek } from "../core/answers/week.ts";
import type { VitalPoint } from "./views/vitals.ts";

/** A pod that fits nowhere. */
export interface UnplacedPod {
  readonly pod: string;
  /** RFC 3339. */
  readonly since?: string | undefined;
  readonly reason: string;
  /** The smallest change that would place it. */
  readonly fix?: string | undefined;
  /** That change as `kubectl patch` lines. */
  readonly patch?: readonly string[] | undefined;
  /** Why there is no patch, and what to do. */
  readonly byHand?: string | undefined;
}

/**
 * Each function answers the same at every call, so a change is seen by identity or value. What takes long may be of an
 * earlier moment.
 */
export interface ConsoleScene {
  /** Of the cluster's clock. */
  readonly nowMs: number;
  /** What could not be seen, and what was assumed. */
  readonly notes: readonly string[];
  readonly events: readonly Event[];
  fleet(): Promise<Fleet>;
  /** Where the pods of leaving nodes go. */
  moves(): Promise<MovesUnderWay>;
  pools(): Promise<readonly ConsolePool[]>;
  /** What the disruption loop would do next. */
  next(): Promise<readonly CommandAnswer[]>;
  /** Who the nodes are paid for. */
  costs(): Promise<ConsoleCosts>;
  unplaced(): Promise<readonly UnplacedPod[]>;
  /** The answer of `karpenter explain`. Throws an error whose message is for people. */
  explain(question: ConsoleQuestion): Promise<unknown>;
  /** The answer of `karpenter simulate`. Throws an error whose message is for people. */
  simulate(supposition: Supposition): Promise<unknown>;
  /** What a {@link Supposition} can be about. */
  editable(): Promise<Editable>;
  /** What the API server would refuse of NodePools written as YAML, a sentence each. */
  poolProblems(pools: string): readonly string[];
}

export interface ConsolePool extends PoolAnswer {
  readonly week: readonly ReasonWeek[];
  /** Nodes that differ from what the pool asks for now. */
  readonly drifted: number;
}

export interface ConsoleCosts {
  /** Most dear first. */
  readonly workloads: readonly WorkloadCost[];
  /** What nodes for these requests must cost at least, at prices of now; absent: no NodePool offers anything. */
  readonly leastMicroUsdPerHour?: number;
}

export interface ConsoleQuestion {
  readonly kind: string;
  readonly name: string;
  readonly namespace: string;
}

/** What if: nodes go, zones are drained, objects and prices are other, the cluster is consolidated to its end. */
export interface Supposition {
  readonly nodes: readonly string[];
  readonly zones: readonly string[];
  readonly consolidate: boolean;
  /** `TYPE=USD`, or `TYPE:spot=USD`, an hour. */
  readonly prices?: readonly string[];
  /** Deployments: `NAMESPACE/NAME=REPLICAS`. */
  readonly scales?: readonly string[];
  /** NodePools as they are to be, as YAML. */
  readonly pools?: string;
}

/** NodePools as their owners write them, Deployments (`namespace/name`), and instance types on offer. */
export interface Editable {
  readonly pools: readonly {
    readonly kind: string;
    readonly name: string;
    readonly yaml: string;
  }[];
  readonly workloads: readonly { readonly workload: string; readonly replicas: number }[];
  readonly types: readonly string[];
}

/** Something that may be done to a sandbox. */
export interface Act {
  readonly name: string;
  /** What the button says. */
  readonly label: string;
  /** What the person is asked for, in order; the names of the values. */
  readonly wants: readonly string[];
  /** Of what is asked for: what it may be, where that is known. */
  readonly choices?: Readonly<Record<string, readonly string[]>>;
}

export interface ConsoleSource {
  /** Of the cluster. */
  readonly name: string;
  readonly mode: "sandbox" | "cluster";
  /** Empty: nothing may be done. */
  readonly acts: readonly Act[];
  /** Throws an error whose message is for people. Resolves with what was done. */
  act(name: string, values: Readonly<Record<string, string>>): Promise<string>;
  /** How well the controller was, oldest first. Absent: its metrics cannot be read from here. */
  readonly vitals?: () => readonly VitalPoint[];
  /** Somebody looks: watches open. Returns "nobody looks any more". */
  open(): () => void;
  /** Views of the scene took so long. The source may rest for it before it makes another scene. */
  readonly worked?: (ms: number) => void;
  /** How things are now; the same scene until something changes. */
  scene(): Promise<ConsoleScene>;
}
