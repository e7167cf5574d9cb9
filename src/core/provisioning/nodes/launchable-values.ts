/** The values of a label, such as zones, with which a planned node can be launched, cached for many topology rules. */
import { within } from "../../../base/within.ts";
import { haveCommonBits } from "../../scheduling/bits.ts";
import type { RequirementSpace } from "../../scheduling/requirement-space.ts";
import type { TypeTable } from "../pools/instance-types.ts";
import type { Fit } from "./trial.ts";

type State = Pick<Fit, "set" | "types">;

export class LaunchableValues {
  readonly #space: RequirementSpace;
  readonly #table: TypeTable;
  #known: (State & { readonly key: string; readonly values: Map<string, boolean> }) | undefined;

  constructor(space: RequirementSpace, table: TypeTable) {
    this.#space = space;
    this.#table = table;
  }

  /** Those of `values` with which one of the node's instance types can be launched. */
  among(values: readonly string[], key: string, state: State): readonly string[] {
    const answers = this.#answers(key, state);
    return values.filter((value) => {
      return answers.get(value) ?? within(answers, value, () => this.#canLaunch(state, key, value));
    });
  }

  #answers(key: string, { set, types }: State): Map<string, boolean> {
    let known = this.#known;
    if (known === undefined || known.key !== key || known.set !== set || known.types !== types) {
      known = { key, set, types, values: new Map() };
      this.#known = known;
    }
    return known.values;
  }

  #canLaunch({ set, types }: State, key: string, value: string): boolean {
    const narrowed = this.#space.narrow(set, key, [value]);
    return narrowed !== undefined && haveCommonBits(types, this.#table.compatible(narrowed));
  }
}
