/**
 * How devices narrow planned nodes: a device can be used only on nodes with certain labels. Requirement sets are
 * numbers in a RequirementSpace.
 */
import { within } from "../../base/within.ts";
import type { RequirementSpace, SetId } from "../scheduling/requirement-space.ts";
import type { PooledDevice } from "./inventory.ts";
import { allowsNames, type Reach, type ReachTerm } from "./reach.ts";
import type { Narrowable } from "./search.ts";

export class NewNodes {
  readonly #space: RequirementSpace;
  readonly #sets = new Map<ReachTerm, SetId>();

  constructor(space: RequirementSpace) {
    this.#space = space;
  }

  from(set: SetId): Narrowable<SetId> {
    return {
      from: set,
      ways: ({ reach }: Pick<PooledDevice, "reach">, at) => this.ways(reach, at),
    };
  }

  /** A node with set `at` can be narrowed to these sets to use a device with this reach: one set for each term. */
  ways(reach: Reach, at: SetId): readonly SetId[] {
    if (reach === "everywhere") return [at];
    if ("node" in reach) return [];
    const found: SetId[] = [];
    for (const term of reach.terms) {
      if (!allowsNames(term)) continue;
      const wanted = within(this.#sets, term, () => this.#space.intern(term.labels));
      const joined = this.#space.join(at, wanted);
      if (joined !== undefined && !found.includes(joined)) found.push(joined);
    }
    return found;
  }

  /** A node with set `at` can be narrowed to these sets to satisfy all reaches. At most {@link MOST_WAYS}. */
  waysOfAll(reaches: readonly Reach[], at: SetId): readonly SetId[] {
    let sets: readonly SetId[] = [at];
    for (const reach of reaches) {
      const next = sets.flatMap((set) => this.ways(reach, set));
      sets = [...new Set(next)].slice(0, MOST_WAYS);
    }
    return sets;
  }
}

/** The most combinations of node selector terms of allocated claims that are tried. */
const MOST_WAYS = 8;
