/**
 * The pod classes, as successive questions use them. What one question learned by trying is forgotten before the
 * next. Only facts that hold in every question are kept: unchanged nodes that refuse a class.
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

/** The most listed changes. Beyond it all classes are updated together, because a prepared cluster lives for days. */
const MOST_CHANGES = 100_000;

/** A class as questions use it. All questions share the object. */
export interface Tried extends PodClass {
  readonly original: PodClass;
  /** The number of changes that the class knows. */
  knows: number;
  /** The current question uses it. */
  isUsed: boolean;
}

export class Trying {
  readonly #classes: PodClasses;
  #rooms = new Rooms([]);
  #count = 0;
  readonly #tried = new Map<PodClass, Tried>();
  /** Classes that the current question uses. */
  readonly #used: Tried[] = [];
  /** Indices of changed nodes, oldest first. A class takes them in when it is used again. */
  readonly #changes: number[] = [];

  constructor(classes: PodClasses) {
    this.#classes = classes;
  }

  /**
   * Sets the nodes on which pods can be placed, by index. No class was tried on them. `former`: their earlier
   * indices, or -1; absent: there were none.
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

  /** Computes for all nodes what the known classes need. */
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

  /** Whether every other existing node refuses the class in every question. */
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

  /** Lists the node as changed: classes that it refused must ask it again. */
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

  /** Applies the listed changes to every class, and empties the list. */
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
