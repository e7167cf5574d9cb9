/**
 * Checks at run time whether a requirement is valid. It is used for pools, because their schema does not know the
 * provider's labels, and for the selectors of pods.
 * upstream: pkg/apis/v1/nodeclaim_validation.go
 */
import { labelValueProblem, qualifiedNameProblem } from "./label-syntax.ts";
import {
  CAPACITY_TYPE_LABEL_KEY,
  CAPACITY_TYPE_ON_DEMAND,
  CAPACITY_TYPE_RESERVED,
  CAPACITY_TYPE_SPOT,
  isRestrictedLabel,
  normalizedLabel,
} from "./labels.ts";

const OPERATORS = ["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt", "Gte", "Lte"];
const BOUNDS: readonly string[] = ["Gt", "Lt", "Gte", "Lte"];
const CAPACITY_TYPES = [
  CAPACITY_TYPE_ON_DEMAND,
  CAPACITY_TYPE_SPOT,
  CAPACITY_TYPE_RESERVED,
] as readonly string[];

interface RequirementLike {
  readonly key: string;
  readonly operator: string;
  readonly values?: readonly string[];
  readonly minValues?: number;
}

/** Why the requirement is invalid. Undefined: it is valid. `alsoKnown`: the provider's well-known labels. */
export function requirementProblem(
  requirement: RequirementLike,
  alsoKnown: readonly string[] = [],
): string | undefined {
  const { operator, values = [], minValues } = requirement;
  const key = normalizedLabel(requirement.key);
  if (!OPERATORS.includes(operator))
    return `key ${key} has an unsupported operator ${operator}, expected one of ${OPERATORS.join(", ")}`;
  if (isRestrictedLabel(key, alsoKnown))
    return `label ${key} is restricted; specify a well known label or a custom label outside of its domain`;
  const syntax = qualifiedNameProblem(key);
  if (syntax !== undefined) return `key ${key} is not a qualified name: ${syntax}`;
  const unusable = valuesProblem(key, values);
  if (unusable !== undefined) return unusable;
  if (operator === "In" && values.length === 0)
    return `key ${key} with operator In must have a value defined`;
  if (operator === "In" && minValues !== undefined && values.length < minValues)
    return `key ${key} with operator In must have at least minimum number of values defined in 'values' field`;
  if (key === CAPACITY_TYPE_LABEL_KEY && operator === "In") {
    const valid = values.filter((value) => CAPACITY_TYPES.includes(value)).length;
    if (valid < Math.max(1, minValues ?? 1))
      return `invalid values ${values.join(", ")} for key ${key}, expected of ${CAPACITY_TYPES.join(", ")}`;
  }
  return boundProblem(key, operator, values);
}

/** Why one of the values cannot be the value of a label. Undefined: all can. */
export function valuesProblem(key: string, values: readonly string[]): string | undefined {
  for (const value of values) {
    const why = labelValueProblem(value);
    if (why !== undefined) return `invalid value ${value} for key ${key}: ${why}`;
  }
  return undefined;
}

/**
 * Why the value of `Gt`, `Lt`, `Gte` or `Lte` is invalid. Undefined: it is valid, or the operator is another one.
 * Values that a JavaScript number cannot represent are invalid. Upstream allows 64 bits, which no label needs.
 */
export function boundProblem(
  key: string,
  operator: string,
  values: readonly string[],
): string | undefined {
  if (!BOUNDS.includes(operator)) return undefined;
  const [bound = ""] = values;
  if (values.length !== 1 || !/^\d+$/.test(bound))
    return `key ${key} with operator ${operator} must have a single positive integer value`;
  if (Number(bound) > Number.MAX_SAFE_INTEGER)
    return `key ${key} with operator ${operator} must have a value of at most ${Number.MAX_SAFE_INTEGER}, not ${bound}`;
  return undefined;
}
