/**
 * The labels of an existing node, to be compared with requirements. Each label has one value or does not exist, and it
 * never changes in this object. Nothing is copied, because there may be 100,000 nodes.
 */
import { HOSTNAME_LABEL_KEY } from "../../apis/karpenter/labels.ts";
import { allows, allowsAbsence, isImpossible, oneOf, type Requirement } from "./requirement.ts";
import { normalizedKey, Requirements } from "./requirements.ts";

/** The labels of a node. Deprecated keys are translated to the current ones. */
export class NodeLabels {
  readonly #labels: Readonly<Record<string, string>>;
  readonly #hostname: string;
  /** Labels that exist only under a deprecated key, by the current key. Undefined: there are none. */
  readonly #renamed: ReadonlyMap<string, string> | undefined;
  /**
   * All labels as requirements, if a label has different values under its current key and its deprecated key.
   * Undefined: there is no such label.
   */
  readonly #conflicting: Requirements | undefined;

  constructor(labels: Readonly<Record<string, string>>, hostname: string) {
    this.#labels = labels;
    this.#hostname = hostname;
    let renamed: Map<string, string> | undefined;
    for (const key in labels) {
      const normal = normalizedKey(key);
      if (normal === key) continue;
      const value = labels[key] as string;
      const known = labels[normal] ?? renamed?.get(normal);
      if (known === undefined) renamed = (renamed ?? new Map()).set(normal, value);
      else if (known !== value)
        this.#conflicting = Requirements.fromLabels({ ...labels, [HOSTNAME_LABEL_KEY]: hostname });
    }
    this.#renamed = renamed;
  }

  /** The value of a label by its current key. Undefined: the node does not have it. */
  value(key: string): string | undefined {
    if (this.#conflicting !== undefined)
      return this.#conflicting.has(key) ? this.#conflicting.get(key).values[0] : undefined;
    if (key === HOSTNAME_LABEL_KEY) return this.#hostname;
    return this.#labels[key] ?? this.#renamed?.get(key);
  }

  /** The label as a requirement. Undefined: the node does not have it. */
  requirement(key: string): Requirement | undefined {
    if (this.#conflicting !== undefined)
      return this.#conflicting.has(key) ? this.#conflicting.get(key) : undefined;
    const value = this.value(key);
    return value === undefined ? undefined : oneOf(key, [value]);
  }

  /**
   * Whether the node satisfies the requirements. A label that the node lacks satisfies only requirements that allow its
   * absence.
   */
  accept(requirements: Requirements): boolean {
    if (this.#conflicting !== undefined)
      return this.#conflicting.accepts(requirements, NOTHING_UNDEFINED);
    for (const wanted of requirements.all()) {
      const value = this.value(wanted.key);
      const isMet =
        value === undefined
          ? allowsAbsence(wanted) && !isImpossible(wanted)
          : allows(wanted, value);
      if (!isMet) return false;
    }
    return true;
  }
}

const NOTHING_UNDEFINED: ReadonlySet<string> = new Set();
