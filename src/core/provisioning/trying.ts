/**
 * The classes of a batch as questions use them, one after the other: what one question tried, the next has
 * forgotten. Only what holds in every question is kept: nodes as they are that refuse a class.
 */
import type { Pod } from "../../apis/core/pod.ts";
import { forgetTries, type PodClass, type PodClasses, untried, type Variant } from "./pod-class.ts";

export class Trying {
  readonly #classes: PodClasses;
  readonly #classOf: (pod: Pod) => PodClass;
  readonly #copies = new Map<PodClass, PodClass>();
  readonly #originals = new Map<PodClass, PodClass>();
  /** Copies that this question is about. */
  readonly #used = new Set<PodClass>();

  constructor(classes: PodClasses, classOf: (pod: Pod) => PodClass) {
    this.#classes = classes;
    this.#classOf = classOf;
  }

  of(pod: Pod): PodClass {
    const original = this.#classOf(pod);
    let copy = this.#copies.get(original);
    if (copy === undefined) {
      copy = { ...original, variants: [], failedAt: -1 };
      this.#copies.set(original, copy);
      this.#originals.set(copy, original);
    }
    this.#used.add(copy);
    return copy;
  }

  variant(podClass: PodClass, step: number): Variant | undefined {
    const known = podClass.variants[step];
    if (known !== undefined) return known;
    const original = this.#originals.get(podClass) as PodClass;
    const variant = this.#classes.variant(original, step);
    if (variant === undefined) return undefined;
    const fresh = untried(variant);
    podClass.variants.push(fresh);
    return fresh;
  }

  /** The node is not as it was when it refused. */
  roomAgain(index: number): void {
    for (const { variants } of this.#originals.keys()) {
      for (const { ruledOut, metNodes } of variants) {
        ruledOut?.delete(index);
        metNodes.delete(index);
      }
    }
  }

  forget(): void {
    for (const podClass of this.#used) forgetTries(podClass);
    this.#used.clear();
  }
}
