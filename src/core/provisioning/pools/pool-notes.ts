/**
 * Facts to report about pools, whatever the pods are: types that limits exclude, pools without usable types, and pools
 * with too few types for their minValues.
 */
import type { InstanceType } from "../../cloudprovider/instance-type.ts";
import { bitIndices } from "../../scheduling/bits.ts";
import type { Requirement } from "../../scheduling/requirement.ts";
import type { RequirementSpace } from "../../scheduling/requirement-space.ts";
import type { PlanningContext } from "../nodes/trial.ts";
import type { SchedulingResult } from "../result.ts";
import { hasNoType, type Template, withinLimits } from "./pool-template.ts";

export type PoolNotes = Pick<
  SchedulingResult,
  "excludedByLimits" | "withoutTypes" | "withTooFewTypes"
>;

/** The facts about these pools. Must be called before planned claims count against limits. */
export function poolNotes(
  templates: readonly Template[],
  { space, minValuesPolicy }: Pick<PlanningContext, "space" | "minValuesPolicy">,
): PoolNotes {
  const some = templates.filter((one) => !hasNoType(one));
  const withoutTypes = templates.filter(hasNoType).map(({ pool }) => pool.id);
  // With the policy BestEffort, the pool's minValues are lowered to the number of values that exist.
  const tooFew =
    minValuesPolicy === "Strict" ? some.filter((one) => shortOfValues(one, space).length > 0) : [];
  const withTooFewTypes = tooFew.map(({ pool }) => pool.id);
  return {
    excludedByLimits: excludedByLimits(templates),
    ...(withoutTypes.length === 0 ? {} : { withoutTypes }),
    ...(withTooFewTypes.length === 0 ? {} : { withTooFewTypes }),
  };
}

/** A requirement with minValues, and the number of its values that the usable types have together: too few. */
interface ShortOfValues {
  readonly requirement: Requirement;
  readonly count: number;
}

/** The pool's requirements for which all usable types together have fewer values than minValues demands. */
export function shortOfValues(
  { set, table, usable }: Pick<Template, "set" | "table" | "usable">,
  space: RequirementSpace,
): readonly ShortOfValues[] {
  return space
    .get(set)
    .withMinValues()
    .map((requirement) => ({ requirement, count: table.distinctValues(usable, requirement) }))
    .filter(({ requirement, count }) => count < (requirement.minValues as number));
}

/**
 * For each pool: how many types its limits exclude, of those that satisfy the pool's requirements (before v1, of all).
 */
function excludedByLimits(templates: readonly Template[]): SchedulingResult["excludedByLimits"] {
  return templates
    .map((template) => {
      const { pool, table, usable } = template;
      const types =
        pool.generation === "v1"
          ? bitIndices(usable).map((index) => table.types[index] as InstanceType)
          : table.types;
      const excluded = types.filter((type) => !withinLimits(template, type)).length;
      return { poolId: pool.id, excluded, total: types.length };
    })
    .filter(({ excluded }) => excluded > 0);
}
