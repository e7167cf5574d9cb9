/**
 * The pod classes (pods that are equal for planning), as used by one what-if question after another. Only facts that
 * are true in every question are kept for the next one: which unchanged nodes refuse a class.
 */
import type { Steps } from "../../../base/steps.ts";
import { within } from "../../../base/within.ts";
import {
  forgetTries,
  type PodClass,
  type PodClasses,
  untried,
  type Variant,
} from "../batch/pod-class.ts";
import type { ExistingNode } from "../nodes/existing-node.ts";
import { FreeAmounts } from "../nodes/free-amounts.ts";

/** The most changes that are listed, so that the list does not grow for days. */
const MOST_CHANGES = 100_000;

/** A pod class as what-if questions use it. All questions share the object. */
export interface QuestionClass extends PodClass {
  readonly original: PodClass;
  /** How many entries of `#changes` (changed nodes) were applied to the class. */
  applied: number;
  isUsed: boolean;
}

export class QuestionClasses {
  readonly #classes: PodClasses;
  #freeAmounts = new FreeAmounts([]);
  #count = 0;
  readonly #classOf = new Map<PodClass, QuestionClass>();
  readonly #used: QuestionClass[] = [];
  /** Indices of changed nodes, the oldest first. They are applied to a class when it is used again. */
  readonly #changes: number[] = [];

  constructor(classes: PodClasses) {
    this.#classes = classes;
  }

  /** Sets the nodes on which pods can be placed, by index. Clears the results of all classes. */
  setNodes(nodes: readonly ExistingNode[]): void {
    this.#freeAmounts = new FreeAmounts(nodes);
    this.#count = nodes.length;
    this.#changes.length = 0;
    for (const podClass of this.#classOf.values()) {
      podClass.variants.length = 0;
      podClass.applied = 0;
    }
  }

  /** Computes, for all nodes, how much is left of each resource that the known classes request. */
  *readAmounts(): Steps<void> {
    const names = new Set<string>();
    for (const { requests } of this.#classOf.keys()) for (const name in requests) names.add(name);
    yield* this.#freeAmounts.read(names);
  }

  of(original: PodClass): QuestionClass {
    return within(this.#classOf, original, () => {
      const applied = this.#changes.length;
      return { ...original, variants: [], failedAt: -1, original, applied, isUsed: false };
    });
  }

  /** Prepares the class for the current question. Call it before the class is tried. */
  use(podClass: QuestionClass): void {
    // The pods' rules are read before the first pod is tried, for example to find where a whole affinity group fits.
    this.variant(podClass, 0);
    if (podClass.applied < this.#changes.length) this.#applyChanges(podClass);
    if (podClass.isUsed) return;
    podClass.isUsed = true;
    this.#used.push(podClass);
  }

  /** Whether the class fits on no existing node except `but`, in any question. */
  hasNoRoom(podClass: QuestionClass, but: ExistingNode): boolean {
    for (let step = 0; ; step++) {
      const variant = this.variant(podClass, step);
      if (variant === undefined) return true;
      const { deadNodes, ruledOut = deadNodes } = variant;
      let free = ruledOut.firstMissing(0);
      if (free === but.index) free = ruledOut.firstMissing(free + 1);
      if (free < this.#count) return false;
    }
  }

  variant(podClass: PodClass, step: number): Variant | undefined {
    const known = podClass.variants[step];
    if (known !== undefined) return known;
    const variant = this.#classes.variant((podClass as QuestionClass).original, step);
    if (variant === undefined) return undefined;
    const fresh = untried(variant);
    this.#freeAmounts.addFull(podClass.requests, fresh.ruledOut);
    podClass.variants.push(fresh);
    return fresh;
  }

  /** Records that the node has changed. Classes that it refused must be checked again. */
  noteChanged(node: ExistingNode): void {
    this.#freeAmounts.update(node);
    if (this.#changes.length >= MOST_CHANGES) this.#applyToAll();
    this.#changes.push(node.index);
  }

  forget(): void {
    for (const podClass of this.#used) {
      forgetTries(podClass);
      podClass.isUsed = false;
    }
    this.#used.length = 0;
  }

  /** Applies the recorded changes to every class, and clears the list. */
  #applyToAll(): void {
    for (const podClass of this.#classOf.values()) {
      this.#applyChanges(podClass);
      podClass.applied = 0;
    }
    this.#changes.length = 0;
  }

  #applyChanges(podClass: QuestionClass): void {
    for (const { ruledOut, metNodes } of podClass.variants) {
      for (let at = podClass.applied; at < this.#changes.length; at++) {
        ruledOut?.delete(this.#changes[at] as number);
        metNodes.delete(this.#changes[at] as number);
      }
    }
    podClass.applied = this.#changes.length;
  }
}
