/** Which topology groups count a pod, by its namespace and labels. Asked for every pod, so the answers are kept. */
import { type Labels, selects, type TopologyGroup, textOf } from "./topology-group.ts";

/** Label sets whose answers are kept. Pods of Jobs have labels of their own, and one state serves for days. */
const MOST_KEPT = 50_000;
const NO_GROUPS: readonly TopologyGroup[] = [];

export class Selections {
  readonly #groups: readonly TopologyGroup[];
  readonly #byText = new Map<string, readonly TopologyGroup[]>();
  /** The same by the labels object, which pods of one template share. */
  readonly #byObject = new Map<string, WeakMap<Labels, readonly TopologyGroup[]>>();
  /** Lists that were given out, so that equal answers are one list. */
  readonly #lists = new Map<string, readonly TopologyGroup[]>();

  /** `groups`: all of them, in order; the list may grow until the first answer. */
  constructor(groups: readonly TopologyGroup[]) {
    this.#groups = groups;
  }

  /** The groups whose selector picks a pod with these labels. Equal answers are the same list. */
  of(namespace: string, labels: Labels): readonly TopologyGroup[] {
    if (this.#groups.length === 0) return NO_GROUPS;
    if (!Object.isFrozen(labels)) return this.#asWritten(namespace, labels);
    let known = this.#byObject.get(namespace);
    if (known === undefined) {
      known = new WeakMap();
      this.#byObject.set(namespace, known);
    }
    let groups = known.get(labels);
    if (groups === undefined) {
      groups = this.#asWritten(namespace, labels);
      known.set(labels, groups);
    }
    return groups;
  }

  #asWritten(namespace: string, labels: Labels): readonly TopologyGroup[] {
    const text = `${namespace}\n${textOf(labels)}`;
    let groups = this.#byText.get(text);
    if (groups === undefined) {
      const found = this.#groups.filter((group) => selects(group, namespace, labels));
      const list = found.map(({ index }) => index).join();
      groups = this.#lists.get(list) ?? found;
      this.#lists.set(list, groups);
      if (this.#byText.size >= MOST_KEPT) this.#byText.clear();
      this.#byText.set(text, groups);
    }
    return groups;
  }
}
