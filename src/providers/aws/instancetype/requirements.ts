/** An instance type's labels as requirements. They are made once for each type, because launches need them often. */
import type { InstanceType } from "../../../core/cloudprovider/instance-type.ts";
import { oneOf } from "../../../core/scheduling/requirement.ts";
import { Requirements } from "../../../core/scheduling/requirements.ts";

const known = new WeakMap<InstanceType["labels"], Requirements>();

/** The labels of a type as requirements, made once for equal labels. */
export function typeRequirements(type: InstanceType): Requirements {
  let requirements = known.get(type.labels);
  if (requirements === undefined) {
    requirements = Requirements.of(
      Object.keys(type.labels).map((key) => oneOf(key, type.labels[key] ?? [])),
    );
    known.set(type.labels, requirements);
  }
  return requirements;
}
