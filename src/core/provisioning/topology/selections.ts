/** Finds the topology groups (spread and affinity rules) that count a pod, by its namespace and labels. Cached. */
import { BoundedMap, within } from "../../../base/within.ts";
import { type Labels, selects, type TopologyGroup, textOf } from "./topology-group.ts";

/** The most label sets whose results are cached, because each pod of a Job has different labels. */
const MOST_KEPT = 50_000;
const NO_GROUPS: readonly TopologyGroup[] = [];

export class Selections {
  readonly #groups: readonly TopologyGroup[];
  readonly #byText = new BoundedMap<string, readonly TopologyGroup[]>(MOST_KEPT);
  /** The results by labels object. Pods of one template share this object. */
  readonly #byObject = new Map<string, WeakMap<Labels, readonly TopologyGroup[]>>();
  /** All lists that were returned, by content. So equal results are the same list. */
  readonly #lists = new Map<string, readonly TopologyGroup[]>();

  /** `groups`: all topology groups, in order. The caller may extend the list until it calls `of`. */
  constructor(groups: readonly TopologyGroup[]) {
    this.#groups = groups;
  }

  /** The groups whose selector matches a pod with these labels. Equal results are the same list. */
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
