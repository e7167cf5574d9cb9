/**
 * The pod classes, as used by one what-if question after another. Facts that one question found out by trying a class
 * are cleared before the next question. Only facts that hold in every question are kept: which unchanged nodes refuse a
 * class.
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
import { Rooms } from "../nodes/rooms.ts";

/**
 * The most changes that are listed. When there are more, all classes are updated at once and the list is cleared, so
 * that it does not grow for days.
 */
const MOST_CHANGES = 100_000;

/** A pod class as what-if questions use it. All questions share the object. */
export interface Tried extends PodClass {
  readonly original: PodClass;
  /** How many entries of `#changes` were applied to the class. */
  knows: number;
  /** Whether the current question uses the class. */
  isUsed: boolean;
}

export class Trying {
  readonly #classes: PodClasses;
  #rooms = new Rooms([]);
  #count = 0;
  readonly #tried = new Map<PodClass, Tried>();
  /** Classes that the current question uses. */
  readonly #used: Tried[] = [];
  /** Indices of changed nodes, the oldest first. They are applied to a class when it is used again. */
  readonly #changes: number[] = [];

  constructor(classes: PodClasses) {
    this.#classes = classes;
  }

  /**
   * Sets the nodes on which pods can be placed, by index. Clears the results of all classes, which are about other
   * nodes.
   */
  see(nodes: readonly ExistingNode[]): void {
    this.#rooms = new Rooms(nodes);
    this.#count = nodes.length;
    this.#changes.length = 0;
    for (const tried of this.#tried.values()) {
      tried.variants.length = 0;
      tried.knows = 0;
    }
  }

  /** Computes, for all nodes, how much is left of each resource that the known classes request. */
  *makeReady(): Steps<void> {
    const names = new Set<string>();
    for (const { requests } of this.#tried.keys()) for (const name in requests) names.add(name);
    yield* this.#rooms.read(names);
  }

  of(original: PodClass): Tried {
    return within(this.#tried, original, () => {
      const knows = this.#changes.length;
      return { ...original, variants: [], failedAt: -1, original, knows, isUsed: false };
    });
  }

  /** Prepares the class for the current question. Call it before the class is tried. */
  use(tried: Tried): void {
    if (tried.knows < this.#changes.length) this.#tellChanges(tried);
    if (tried.isUsed) return;
    tried.isUsed = true;
    this.#used.push(tried);
  }

  /** Whether the class fits on no existing node except `but`, in any question. */
  hasNoRoom(tried: Tried, but: ExistingNode): boolean {
    for (let step = 0; ; step++) {
      const variant = this.variant(tried, step);
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
    const variant = this.#classes.variant((podClass as Tried).original, step);
    if (variant === undefined) return undefined;
    const fresh = untried(variant);
    this.#rooms.addFull(podClass.requests, fresh.ruledOut);
    podClass.variants.push(fresh);
    return fresh;
  }

  /** Records that the node has changed. Classes that it refused must be checked again. */
  roomAgain(node: ExistingNode): void {
    this.#rooms.update(node);
    if (this.#changes.length >= MOST_CHANGES) this.#tellAll();
    this.#changes.push(node.index);
  }

  forget(): void {
    for (const tried of this.#used) {
      forgetTries(tried);
      tried.isUsed = false;
    }
    this.#used.length = 0;
  }

  /** Applies the recorded changes to every class, and clears the list. */
  #tellAll(): void {
    for (const tried of this.#tried.values()) {
      this.#tellChanges(tried);
      tried.knows = 0;
    }
    this.#changes.length = 0;
  }

  #tellChanges(tried: Tried): void {
    for (const { ruledOut, metNodes } of tried.variants) {
      for (let at = tried.knows; at < this.#changes.length; at++) {
        ruledOut?.delete(this.#changes[at] as number);
        metNodes.delete(this.#changes[at] as number);
      }
    }
    tried.knows = this.#changes.length;
  }
}
