/**
 * What one question supposes of a picture: nodes that are away, and pods that were given a place. All of it
 * can be taken back, latest first, to the beginning or to a moment in between.
 */
import type { ExistingNode, Saved } from "../nodes/existing-node.ts";

/** A moment to go back to. */
export interface Moment {
  readonly placed: number;
  readonly gone: number;
}

export class Supposed {
  /** Of this one alone: nodes that got pods bear it. */
  readonly #number: number;
  /** What nodes were like before each pod that they got. */
  readonly #placed: Saved[] = [];
  readonly #gone: ExistingNode[] = [];

  /** `number`: above 0, and none that was used before on these nodes. */
  constructor(number: number) {
    this.#number = number;
  }

  now(): Moment {
    return {
      placed: this.#placed.length,
      gone: this.#gone.length,
    };
  }

  backTo({ placed, gone }: Moment): void {
    while (this.#placed.length > placed) {
      const before = this.#placed.pop() as Saved;
      before.node.restore(before);
    }
    while (this.#gone.length > gone) (this.#gone.pop() as ExistingNode).gone = false;
  }

  /** The node is about to get a pod. */
  touch(node: ExistingNode): void {
    this.#placed.push(node.save());
    node.trial = this.#number;
  }

  hasTouched(node: ExistingNode): boolean {
    return node.trial === this.#number;
  }

  sendAway(node: ExistingNode): void {
    node.gone = true;
    this.#gone.push(node);
  }

  /** Nodes that got pods, in order of their index, as they were before. */
  touched({ placed }: Pick<Moment, "placed"> = BEGINNING): readonly Saved[] {
    const first: Saved[] = [];
    for (let at = placed; at < this.#placed.length; at++) {
      const saved = this.#placed[at] as Saved;
      if (saved.trial !== this.#number) first.push(saved);
    }
    return first.length > 1 ? first.sort(byIndex) : first;
  }
}

export const BEGINNING: Moment = { placed: 0, gone: 0 };

function byIndex(a: Saved, b: Saved): number {
  return a.node.index - b.node.index;
}
