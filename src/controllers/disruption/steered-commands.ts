/** The commands whose pods are steered to their planned nodes, found by command or by pod. */
import type { Pod } from "../../apis/core/pod.ts";
import type { EvictionTarget } from "../../core/disruption/eviction-order.ts";
import type { NodeView } from "../../core/state/node-view.ts";

/** One command and its plan. */
export interface SteeredCommand {
  /** Empty: another process made the plan, so it is not known. */
  readonly targets: readonly EvictionTarget[];
  readonly pods: readonly Pod[];
  /** Absent until every target has a Node. */
  progress?: SteeringProgress;
}

/** A pod of a command, and the index of its target. */
export interface SteeredPod {
  readonly command: SteeredCommand;
  readonly turn: number;
}

export interface SteeringProgress {
  /** The nodes of the targets, in their order. */
  readonly nodes: readonly NodeView[];
  readonly others: readonly string[];
  /** Measured by the monotonic clock, as are the instants below. */
  readonly sinceMs: number;
  turn: number;
  turnSinceMs: number;
  /** The time since which all pods of this turn are evicted and their owners have no pending pod. */
  doneSinceMs?: number;
}

export class SteeredCommands {
  readonly #byCommand = new Map<string, SteeredCommand>();
  /** Keyed by the UID of the pod: every eviction looks a pod up, and drift may run hundreds of commands. */
  readonly #byPod = new Map<string, SteeredPod>();

  /** `turns`: the pods of each target, in order. One list if the plan is not known. */
  add(id: string, targets: readonly EvictionTarget[], turns: readonly (readonly Pod[])[]): void {
    const command = { targets, pods: turns.flat() };
    for (const [turn, pods] of turns.entries())
      for (const { metadata } of pods) this.#byPod.set(metadata.uid ?? "", { command, turn });
    this.#byCommand.set(id, command);
  }

  of(id: string): SteeredCommand | undefined {
    return this.#byCommand.get(id);
  }

  steered({ metadata }: Pod): SteeredPod | undefined {
    return this.#byPod.get(metadata.uid ?? "");
  }

  /** Forgets the command. A pod that a newer command has planned stays with that command. */
  end(id: string): void {
    const command = this.#byCommand.get(id);
    this.#byCommand.delete(id);
    for (const { metadata } of command?.pods ?? []) {
      const uid = metadata.uid ?? "";
      if (this.#byPod.get(uid)?.command === command) this.#byPod.delete(uid);
    }
  }

  entries(): IterableIterator<[string, SteeredCommand]> {
    return this.#byCommand.entries();
  }

  /** Names of the targets of commands whose pods do not move yet. */
  awaited(): ReadonlySet<string> {
    const waiting = [...this.#byCommand.values()].filter(({ progress }) => progress === undefined);
    return new Set(waiting.flatMap(({ targets }) => targets.map(({ name }) => name)));
  }

  /** Commands whose pods move now. */
  inProgress(): readonly SteeringProgress[] {
    return [...this.#byCommand.values()].flatMap(({ progress }) => progress ?? []);
  }
}
