/**
 * The commands whose pods are steered to their planned nodes, by command and by pod.
 */
import type { Pod } from "../../apis/core/pod.ts";
import type { EvictionTarget } from "../../core/disruption/eviction-order.ts";
import type { NodeView } from "../../core/state/node-view.ts";

/** One command and its plan. */
export interface SteeredCommand {
  /** Empty: the plan is not known, because another process made it. */
  readonly targets: readonly EvictionTarget[];
  readonly pods: readonly Pod[];
  /** Absent until all targets have a Node. */
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
  /** This and the next instants are of the monotonic clock. */
  readonly sinceMs: number;
  turn: number;
  turnSinceMs: number;
  /** Since when all pods of this turn are evicted and no new pod is pending. */
  doneSinceMs?: number;
}

export class SteeredCommands {
  readonly #byCommand = new Map<string, SteeredCommand>();
  /** By UID: each eviction asks, and drift may run hundreds of commands. */
  readonly #byPod = new Map<string, SteeredPod>();

  /** `turns`: the pods of each target, in order; one list if the plan is not known. */
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

  /** Forgets the command. A pod that another command has planned since stays with that one. */
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
