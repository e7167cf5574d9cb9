/** The commands whose pods are steered to their planned nodes. They are found by command or by pod. */
import type { Pod } from "../../apis/core/pod.ts";
import type { EvictionTarget } from "../../core/disruption/eviction-order.ts";
import type { NodeView } from "../../core/state/node-view.ts";

/** One command, the nodes of its plan, and its pods. */
export interface SteeredCommand {
  /** The target nodes in order. Empty: another process made the plan, so it is not known. */
  readonly targets: readonly EvictionTarget[];
  readonly pods: readonly Pod[];
  /** The state of the steering. Absent until every target has a Node. */
  progress?: SteeringProgress;
}

/** A pod of a command. `turn`: the index of the target that the pod is planned for. */
export interface SteeredPod {
  readonly command: SteeredCommand;
  readonly turn: number;
}

export interface SteeringProgress {
  /** The nodes of the targets, in their order. */
  readonly nodes: readonly NodeView[];
  readonly others: readonly string[];
  /** When the steering began, by the monotonic clock. The times below use the same clock. */
  readonly sinceMs: number;
  turn: number;
  turnSinceMs: number;
  /** When all pods of this turn were evicted and their owners had no pending pod. Absent: not yet. */
  doneSinceMs?: number;
}

export class SteeredCommands {
  readonly #byCommand = new Map<string, SteeredCommand>();
  /** Steered pods by UID. Every eviction looks a pod up, and drift may run hundreds of commands. */
  readonly #byPod = new Map<string, SteeredPod>();

  /** Adds a command. `turns`: the pods of each target, in order; one list of all pods if the plan is not known. */
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

  /** Removes the command. Pods that are also in the plan of a newer command are kept for that command. */
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

  /** Names of the targets of commands that have not begun to move pods. */
  awaited(): ReadonlySet<string> {
    const waiting = [...this.#byCommand.values()].filter(({ progress }) => progress === undefined);
    return new Set(waiting.flatMap(({ targets }) => targets.map(({ name }) => name)));
  }

  /** The state of commands that move pods now. */
  inProgress(): readonly SteeringProgress[] {
    return [...this.#byCommand.values()].flatMap(({ progress }) => progress ?? []);
  }
}
