/**
 * The labels of a node that is there, as requirements meet them: each has its one value, and what it does
 * not have, it does not have. Nothing is copied: there may be a hundred thousand nodes.
 */
import { HOSTNAME_LABEL_KEY } from "../../apis/karpenter/labels.ts";
import { allows, allowsAbsence, isImpossible, oneOf, type Requirement } from "./requirement.ts";
import { normalizedKey, Requirements } from "./requirements.ts";

export class NodeLabels {
  readonly #labels: Readonly<Record<string, string>>;
  readonly #hostname: string;
  /** Those in an old spelling only, by the new one; undefined: there are none. */
  readonly #renamed: ReadonlyMap<string, string> | undefined;
  /** Both spellings, with different values: as requirements, which know what to make of that. */
  readonly #torn: Requirements | undefined;

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
        this.#torn = Requirements.fromLabels({ ...labels, [HOSTNAME_LABEL_KEY]: hostname });
    }
    this.#renamed = renamed;
  }

  /** By the key that planning uses: the one value of a label; undefined when the node does not have it. */
  value(key: string): string | undefined {
    if (this.#torn !== undefined)
      return this.#torn.has(key) ? this.#torn.get(key).values[0] : undefined;
    if (key === HOSTNAME_LABEL_KEY) return this.#hostname;
    return this.#labels[key] ?? this.#renamed?.get(key);
  }

  /** What the label is, as a requirement; undefined when the node does not have it. */
  requirement(key: string): Requirement | undefined {
    if (this.#torn !== undefined) return this.#torn.has(key) ? this.#torn.get(key) : undefined;
    const value = this.value(key);
    return value === undefined ? undefined : oneOf(key, [value]);
  }

  /** As {@link Requirements.accepts}, nothing being undefined. */
  accept(requirements: Requirements): boolean {
    if (this.#torn !== undefined) return this.#torn.accepts(requirements, NOTHING_UNDEFINED);
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
