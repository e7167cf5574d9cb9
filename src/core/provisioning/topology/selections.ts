/** Which topology groups count a pod, by its namespace and labels. Asked for every pod, so the answers are kept. */
import { BoundedMap, within } from "../../../base/within.ts";
import { type Labels, selects, type TopologyGroup, textOf } from "./topology-group.ts";

/** Label sets whose answers are kept. Pods of Jobs have labels of their own, and one state serves for days. */
const MOST_KEPT = 50_000;
const NO_GROUPS: readonly TopologyGroup[] = [];

export class Selections {
  readonly #groups: readonly TopologyGroup[];
  readonly #byText = new BoundedMap<string, readonly TopologyGroup[]>(MOST_KEPT);
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
    const known = within(
      this.#byObject,
      namespace,
      () => new WeakMap<Labels, readonly TopologyGroup[]>(),
    );
    return known.get(labels) ?? within(known, labels, () => this.#asWritten(namespace, labels));
  }

  #asWritten(namespace: string, labels: Labels): readonly TopologyGroup[] {
    const text = `${namespace}\n${textOf(labels)}`;
    return within(this.#byText, text, () => {
      const found = this.#groups.filter((group) => selects(group, namespace, labels));
      return within(this.#lists, found.map(({ index }) => index).join(), () => found);
    });
  }
}
