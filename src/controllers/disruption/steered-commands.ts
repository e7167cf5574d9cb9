/** Commands whose pods have a place to go to: by command, and by pod. What steering knows of them. */
import type { Pod } from "../../apis/core/pod.ts";
import type { EvictionTarget } from "../../core/disruption/eviction-order.ts";
import type { NodeView } from "../../core/state/node-view.ts";

/** One command's pods on their way. */
export interface Course {
  /** None: where its pods go is not known. */
  readonly stops: readonly EvictionTarget[];
  readonly pods: readonly Pod[];
  /** Absent until all nodes are there. */
  going?: Going;
}

/** A pod of a command, and at which of its stops it has its turn. */
export interface Steered {
  readonly course: Course;
  readonly turn: number;
}

export interface Going {
  /** The nodes that the stops are, in their order. */
  readonly nodes: readonly NodeView[];
  readonly others: readonly string[];
  /** This and the next ones by the clock that never goes back. */
  readonly sinceMs: number;
  turn: number;
  turnSinceMs: number;
  /** Since when all pods of this turn have left and no new one waits. */
  doneSinceMs?: number;
}

export class Courses {
  readonly #byCommand = new Map<string, Course>();
  /** By UID: asked of every pod that leaves, while drift may have hundreds of commands under way. */
  readonly #byPod = new Map<string, Steered>();

  /** `turns`: the pods in the order of the stops; all at once where these are not known. */
  add(id: string, stops: readonly EvictionTarget[], turns: readonly (readonly Pod[])[]): void {
    const course = { stops, pods: turns.flat() };
    for (const [turn, pods] of turns.entries())
      for (const { metadata } of pods) this.#byPod.set(metadata.uid ?? "", { course, turn });
    this.#byCommand.set(id, course);
  }

  of(id: string): Course | undefined {
    return this.#byCommand.get(id);
  }

  steered({ metadata }: Pod): Steered | undefined {
    return this.#byPod.get(metadata.uid ?? "");
  }

  /** A pod that another command has taken over stays with that one. */
  end(id: string): void {
    const course = this.#byCommand.get(id);
    this.#byCommand.delete(id);
    for (const { metadata } of course?.pods ?? []) {
      const uid = metadata.uid ?? "";
      if (this.#byPod.get(uid)?.course === course) this.#byPod.delete(uid);
    }
  }

  entries(): IterableIterator<[string, Course]> {
    return this.#byCommand.entries();
  }

  /** Names of what commands are to fill that wait for nodes still. */
  awaited(): ReadonlySet<string> {
    const waiting = [...this.#byCommand.values()].filter(({ going }) => going === undefined);
    return new Set(waiting.flatMap(({ stops }) => stops.map(({ name }) => name)));
  }

  /** Those whose nodes are all there. */
  going(): readonly Going[] {
    return [...this.#byCommand.values()].flatMap(({ going }) => going ?? []);
  }
}
