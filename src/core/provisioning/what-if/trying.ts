/**
 * The classes of a batch as questions use them, one after the other: what one question tried, the next has
 * forgotten. Only what holds in every question is kept: nodes as they are that refuse a class.
 */
import type { Steps } from "../../../base/steps.ts";
import {
  forgetTries,
  type PodClass,
  type PodClasses,
  untried,
  type Variant,
} from "../batch/pod-class.ts";
import type { ExistingNode } from "../nodes/existing-node.ts";
import { Rooms } from "../nodes/rooms.ts";

/** A picture that is followed lasts for days: with so many changes all classes are told at once. */
const MOST_CHANGES = 100_000;

/** A class as questions use it: the same object in all of them. */
export interface Tried extends PodClass {
  readonly original: PodClass;
  /** How many of the changes it knows of. */
  knows: number;
  /** The question at hand is about it. */
  isUsed: boolean;
}

export class Trying {
  readonly #classes: PodClasses;
  #rooms = new Rooms([]);
  #count = 0;
  readonly #tried = new Map<PodClass, Tried>();
  /** Those that this question is about. */
  readonly #used: Tried[] = [];
  /** Indices of nodes that are not as they were, oldest first: a class is told when it is used again. */
  readonly #changes: number[] = [];

  constructor(classes: PodClasses) {
    this.#classes = classes;
  }

  /**
   * The nodes that pods may go to from now on, by index. Nobody has been tried on them yet. `former`: their
   * indices until now, or -1; absent: there were none.
   */
  see(nodes: readonly ExistingNode[], former?: Int32Array): void {
    this.#rooms = former === undefined ? new Rooms(nodes) : this.#rooms.moved(nodes, former);
    this.#count = nodes.length;
    this.#changes.length = 0;
    for (const tried of this.#tried.values()) {
      tried.variants.length = 0;
      tried.knows = 0;
    }
  }

  /** Looks at all nodes for what the classes so far ask of them. */
  *makeReady(): Steps<void> {
    const names = new Set<string>();
    for (const { requests } of this.#tried.keys()) for (const name in requests) names.add(name);
    yield* this.#rooms.read(names);
  }

  of(original: PodClass): Tried {
    let tried = this.#tried.get(original);
    if (tried === undefined) {
      const knows = this.#changes.length;
      tried = { ...original, variants: [], failedAt: -1, original, knows, isUsed: false };
      this.#tried.set(original, tried);
    }
    return tried;
  }

  /** A question is about it: to be told before it is tried. */
  use(tried: Tried): void {
    if (tried.knows < this.#changes.length) this.#tellChanges(tried);
    if (tried.isUsed) return;
    tried.isUsed = true;
    this.#used.push(tried);
  }

  /** No node that is there takes the class in any question, but for this one, which nobody has asked. */
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

  /** The node is not as it was when it refused. */
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

  /** Nobody needs the changes so far any more. */
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
