/**
 * Gives each set of requirements a number. A planning pass uses few different sets very often. So each set is stored
 * once, and two sets are combined only once.
 */
import { oneOf } from "./requirement.ts";
import { type Conflict, Requirements } from "./requirements.ts";

/** The number of a set. 0: no requirements. */
export type SetId = number;

const NO_REQUIREMENTS: SetId = 0;

const CONFLICT = -1;

/** Gives equal requirement sets the same number. Combinations of two sets are cached. */
export class RequirementSpace {
  readonly #sets: Requirements[] = [];
  readonly #idByText = new Map<string, SetId>();
  /** Cached results of {@link narrow}, by label key, then by values. */
  readonly #narrowings = new Map<string, Map<string, SetId>>();
  /** Cached results of {@link join}: for each node's set, a map from the wanted set to the combined set. */
  readonly #joined: Map<SetId, SetId>[] = [];
  readonly #mayBeUndefined: ReadonlySet<string>;

  /** `mayBeUndefined`: label keys that a pod may require although a planned node does not define them. */
  constructor(mayBeUndefined: ReadonlySet<string>) {
    this.#mayBeUndefined = mayBeUndefined;
    this.intern(Requirements.NONE);
  }

  /**
   * Whether instance types or offerings define the label. For any other label, a new node gets the lowest allowed value
   * of its NodePool.
   */
  isOfTypes(key: string): boolean {
    return this.#mayBeUndefined.has(key);
  }

  intern(requirements: Requirements): SetId {
    const text = requirements.id;
    const known = this.#idByText.get(text);
    if (known !== undefined) return known;
    const id = this.#sets.length;
    this.#sets.push(requirements);
    this.#idByText.set(text, id);
    return id;
  }

  get(id: SetId): Requirements {
    return this.#sets[id] as Requirements;
  }

  /** The requirements of a planned node that has the set `node` and also satisfies `wanted`. Undefined: no node can. */
  join(node: SetId, wanted: SetId): SetId | undefined {
    if (wanted === NO_REQUIREMENTS) return node;
    let joined = this.#joined[node];
    if (joined === undefined) {
      joined = new Map();
      this.#joined[node] = joined;
    }
    let id = joined.get(wanted);
    if (id === undefined) {
      const [own, incoming] = [this.get(node), this.get(wanted)];
      const accepted = own.accepts(incoming, this.#mayBeUndefined);
      id = accepted ? this.intern(own.and(incoming)) : CONFLICT;
      joined.set(wanted, id);
    }
    return id === CONFLICT ? undefined : id;
  }

  /** Why {@link join} returns undefined. */
  conflicts(node: SetId, wanted: Requirements): readonly Conflict[] {
    return this.get(node).conflicts(wanted, this.#mayBeUndefined);
  }

  /** The node's set, with only these values for the key. Undefined: the set allows none of them. */
  narrow(node: SetId, key: string, values: readonly string[]): SetId | undefined {
    let ofKey = this.#narrowings.get(key);
    if (ofKey === undefined) {
      ofKey = new Map();
      this.#narrowings.set(key, ofKey);
    }
    const text = values.length === 1 ? (values[0] as string) : values.join();
    let wanted = ofKey.get(text);
    if (wanted === undefined) {
      wanted = this.intern(Requirements.of([oneOf(key, values)]));
      ofKey.set(text, wanted);
    }
    return this.join(node, wanted);
  }
}
