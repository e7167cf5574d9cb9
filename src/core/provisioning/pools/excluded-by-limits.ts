/** How many types each pool's limits leave out, which an event tells. */
import type { InstanceType } from "../../cloudprovider/instance-type.ts";
import { bitIndices } from "../../scheduling/bits.ts";
import type { SchedulingResult } from "../result.ts";
import { type Template, withinLimits } from "./pool-template.ts";

/** v1 counts among the types that meet the pool's requirements; older generations among all it was given. */
export function excludedByLimits(
  templates: readonly Template[],
): SchedulingResult["excludedByLimits"] {
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
