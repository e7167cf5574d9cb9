/**
 * A set of requirements, at most one for each label: what a pod requires of its node, what a pool allows for its nodes,
 * or what labels a node has. A set never changes.
 * upstream: pkg/scheduling/requirements.go
 */

import {
  isRestrictedLabel,
  NORMALIZED_LABELS,
  TOPOLOGY_ZONE_LABEL_KEY,
} from "../../apis/karpenter/labels.ts";
import type { RequirementSpec } from "../../apis/karpenter/nodepool.ts";
import { meantName } from "../../base/slips.ts";
import {
  allowsAbsence,
  exists,
  formatRequirement,
  intersect,
  intersects,
  isImpossible,
  oneOf,
  type Requirement,
  toRequirement,
  toSpecs,
} from "./requirement.ts";

/** Deprecated or provider-specific label keys, each with the key that planning uses instead. */
const NORMALIZED_KEYS: ReadonlyMap<string, string> = new Map([
  ...NORMALIZED_LABELS,
  ["topology.ebs.csi.aws.com/zone", TOPOLOGY_ZONE_LABEL_KEY],
]);

/** A requirement that an object does not satisfy. */
export interface Conflict {
  readonly wanted: Requirement;
  /** The object's own requirement for the key. Absent: the object does not define the key. */
  readonly own?: Requirement;
  /** The known key that was probably meant, if the required key is unknown. */
  readonly meant?: string;
  /** Upstream's message. */
  readonly text: string;
}

/** The label key that planning uses for this key. */
export function normalizedKey(key: string): string {
  return NORMALIZED_KEYS.get(key) ?? key;
}

/** A set of requirements, one for each label key. All of them must hold. */
export class Requirements {
  /** The requirements by label key, ascending. */
  readonly #byKey: ReadonlyMap<string, Requirement>;
  #id: string | undefined;
  #withMinValues: readonly Requirement[] | undefined;
  /** Cached results of {@link get} for keys without a requirement. Callers use these objects as keys of caches. */
  #unmentioned: Map<string, Requirement> | undefined;

  private constructor(byKey: ReadonlyMap<string, Requirement>) {
    this.#byKey = byKey;
  }

  static readonly NONE: Requirements = new Requirements(new Map());

  static of(requirements: Iterable<Requirement>): Requirements {
    const byKey = new Map<string, Requirement>();
    for (const requirement of requirements) {
      const key = normalizedKey(requirement.key);
      const named = key === requirement.key ? requirement : { ...requirement, key };
      const known = byKey.get(key);
      byKey.set(key, known === undefined ? named : intersect(known, named));
    }
    if (byKey.size === 0) return Requirements.NONE;
    const sorted = [...byKey].sort(([a], [b]) => (a < b ? -1 : 1));
    return new Requirements(new Map(sorted));
  }

  static fromSpecs(specs: Iterable<RequirementSpec>): Requirements {
    return Requirements.of([...specs].map(toRequirement));
  }

  /** Requirements under which each label must have exactly this value. */
  static fromLabels(labels: Readonly<Record<string, string>>): Requirements {
    return Requirements.of(Object.keys(labels).map((key) => oneOf(key, [labels[key] as string])));
  }

  get size(): number {
    return this.#byKey.size;
  }

  has(key: string): boolean {
    return this.#byKey.has(key);
  }

  /** The requirement for the key. If there is none, one that allows any value. Returns the same object each time. */
  get(key: string): Requirement {
    const own = this.#byKey.get(key);
    if (own !== undefined) return own;
    this.#unmentioned ??= new Map();
    let any = this.#unmentioned.get(key);
    if (any === undefined) {
      any = exists(key);
      this.#unmentioned.set(key, any);
    }
    return any;
  }

  withMinValues(): readonly Requirement[] {
    this.#withMinValues ??= [...this.all()].filter((one) => one.minValues !== undefined);
    return this.#withMinValues;
  }

  keys(): Iterable<string> {
    return this.#byKey.keys();
  }

  /** All requirements, sorted by key. */
  all(): Iterable<Requirement> {
    return this.#byKey.values();
  }

  /** Both sets combined. A key in both allows only what both allow. */
  and(other: Requirements): Requirements {
    if (other.size === 0) return this;
    if (this.size === 0) return other;
    return Requirements.of([...this.all(), ...other.all()]);
  }

  without(keys: ReadonlySet<string>): Requirements {
    let touched = false;
    for (const key of keys) touched ||= this.#byKey.has(key);
    if (!touched) return this;
    return Requirements.of([...this.all()].filter((requirement) => !keys.has(requirement.key)));
  }

  /** A copy in which the requirements of `other` replace those of the same keys. */
  replacing(other: Requirements): Requirements {
    return Requirements.of([...this.without(new Set(other.keys())).all(), ...other.all()]);
  }

  /**
   * Why an object with the requirements `this` cannot satisfy `incoming`. Empty: it can. A key that `this` does not
   * define is accepted only if it is in `mayBeUndefined`, or if the requirement allows the label to be absent.
   */
  conflicts(incoming: Requirements, mayBeUndefined: ReadonlySet<string>): Conflict[] {
    const found: Conflict[] = [];
    for (const wanted of incoming.all()) {
      const own = this.#byKey.get(wanted.key);
      if (own !== undefined) {
        if (meets(own, wanted)) continue;
        const [has, asks] = [formatRequirement(own), formatRequirement(wanted)];
        found.push({ wanted, own, text: `key ${wanted.key}, ${asks} not in ${has}` });
      } else if (isImpossible(wanted)) {
        found.push({
          wanted,
          text: `key ${wanted.key}, no value satisfies all of its requirements`,
        });
      } else if (!mayBeUndefined.has(wanted.key) && !allowsAbsence(wanted)) {
        const meant = meantKey(wanted.key, [...this.keys(), ...mayBeUndefined]);
        const hint = meant === undefined ? "" : ` (typo of "${meant}"?)`;
        found.push({
          wanted,
          ...(meant === undefined ? {} : { meant }),
          text: `label "${wanted.key}" does not have known values${hint}`,
        });
      }
    }
    return found;
  }

  /** Whether {@link conflicts} would be empty. Makes no texts. */
  accepts(incoming: Requirements, mayBeUndefined: ReadonlySet<string>): boolean {
    for (const wanted of incoming.all()) {
      const own = this.#byKey.get(wanted.key);
      if (
        own === undefined
          ? isImpossible(wanted) || (!mayBeUndefined.has(wanted.key) && !allowsAbsence(wanted))
          : !meets(own, wanted)
      )
        return false;
    }
    return true;
  }

  /** The requirements in the form of the API, sorted by key. */
  specs(): RequirementSpec[] {
    return [...this.all()].flatMap(toSpecs);
  }

  /** The text for messages. Labels that users may not set are left out. */
  toString(): string {
    const shown = [...this.all()].filter((requirement) => !isRestrictedLabel(requirement.key));
    return shown.map(formatRequirement).join(", ");
  }

  /** The requirements as one text. Equal requirements have equal texts. */
  get id(): string {
    this.#id ??= JSON.stringify(
      [...this.all()].map((r) => [
        r.key,
        r.complement,
        r.values,
        r.gte,
        r.lte,
        r.minValues,
        ...(r.mustExist ? [true] : []),
      ]),
    );
    return this.#id;
  }
}

/** Whether a label can satisfy both: there is a value that both allow, or both allow the label to be absent. */
function meets(own: Requirement, wanted: Requirement): boolean {
  return intersects(own, wanted) || (allowsAbsence(own) && allowsAbsence(wanted));
}

/**
 * A known key that was probably meant: `topology.kubernetes.io/zone` for `zone`, or for a key with a few wrong letters.
 * upstream: labelHint in pkg/scheduling/requirements.go
 */
function meantKey(key: string, known: readonly string[]): string | undefined {
  const suffix = key.slice(key.lastIndexOf("/") + 1);
  return (
    known
      .filter((candidate) => candidate.includes(key) || candidate.endsWith(`/${suffix}`))
      .sort()[0] ?? meantName(key, known)
  );
}
