/**
 * What one question supposes of a picture: nodes that are away, pods that were given a place, limits that
 * have more room. All of it can be taken back, latest first, to the beginning or to a moment in between.
 */
import type { ExistingNode, Saved } from "./existing-node.ts";

/** A moment to go back to. */
export interface Moment {
  readonly undo: number;
  readonly placed: number;
  readonly gone: number;
}

export class Supposed {
  /** Of this one alone: nodes that got pods bear it. */
  readonly #number: number;
  readonly #undo: (() => void)[] = [];
  /** What nodes were like before each pod that they got. */
  readonly #placed: Saved[] = [];
  readonly #gone: ExistingNode[] = [];

  /** `number`: above 0, and none that was used before on these nodes. */
  constructor(number: number) {
    this.#number = number;
  }

  now(): Moment {
    return {
      undo: this.#undo.length,
      placed: this.#placed.length,
      gone: this.#gone.length,
    };
  }

  backTo({ undo, placed, gone }: Moment): void {
    while (this.#undo.length > undo) this.#undo.pop()?.();
    while (this.#placed.length > placed) {
      const before = this.#placed.pop() as Saved;
      before.node.restore(before);
    }
    while (this.#gone.length > gone) (this.#gone.pop() as ExistingNode).gone = false;
  }

  /** The function takes back what has just been done. */
  did(undo: () => void): void {
    this.#undo.push(undo);
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
    return this.#placed
      .slice(placed)
      .filter(({ trial }) => trial !== this.#number)
      .sort((a, b) => a.node.index - b.node.index);
  }
}

export const BEGINNING: Moment = { undo: 0, placed: 0, gone: 0 };
