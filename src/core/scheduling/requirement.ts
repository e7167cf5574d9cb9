/**
 * A requirement on a label: a list of allowed values, or all values except a list, optionally within inclusive integer
 * bounds.
 * upstream: pkg/scheduling/requirement.go
 */
import type { RequirementSpec } from "../../apis/karpenter/nodepool.ts";

/** A requirement on a label. It never changes. */
export interface Requirement {
  readonly key: string;
  /** Whether all values except `values` are allowed. False: only `values` are allowed. */
  readonly complement: boolean;
  /** The listed values, sorted and without duplicates. */
  readonly values: readonly string[];
  /** Inclusive bounds. With a bound, only integers are allowed. Only set if `complement` is true. */
  readonly gte: number | undefined;
  readonly lte: number | undefined;
  /** How many different values must remain possible among instance types. */
  readonly minValues: number | undefined;
  /**
   * Whether the label must exist: a NotIn or DoesNotExist was combined with a requirement that needs a value. If no
   * value is left, no node fits. Upstream forgets this, and launches nodes on which kube-scheduler refuses the pod.
   */
  readonly mustExist?: true;
}

const INTEGER = /^[+-]?\d+$/;
const SHOWN_VALUES = 5;

/**
 * The requirement of an API object. A bound that is not an integer counts as 0, as in upstream; validation refuses it
 * earlier.
 */
export function toRequirement(spec: RequirementSpec): Requirement {
  const { key, operator, minValues } = spec;
  const values = [...new Set(spec.values ?? [])].sort();
  const bound = INTEGER.test(values[0] ?? "") ? Number(values[0]) : 0;
  const open = { key, complement: true, values: [], gte: undefined, lte: undefined, minValues };
  switch (operator) {
    case "In":
      return { ...open, complement: false, values };
    case "NotIn":
      return { ...open, values };
    case "Exists":
      return open;
    case "DoesNotExist":
      return { ...open, complement: false };
    case "Gt":
      return { ...open, gte: bound + 1 };
    case "Lt":
      return { ...open, lte: bound - 1 };
    case "Gte":
      return { ...open, gte: bound };
    case "Lte":
      return { ...open, lte: bound };
  }
}

/** A requirement that allows every value. The label must exist. */
export function exists(key: string): Requirement {
  return {
    key,
    complement: true,
    values: [],
    gte: undefined,
    lte: undefined,
    minValues: undefined,
  };
}

/** A requirement that allows these values. If there are none, the label must be absent. */
export function oneOf(key: string, values: readonly string[]): Requirement {
  if (values.length !== 1) return toRequirement({ key, operator: "In", values });
  return {
    key,
    complement: false,
    values,
    gte: undefined,
    lte: undefined,
    minValues: undefined,
  };
}

/** Whether a node with this value of the label satisfies the requirement. */
export function allows(requirement: Requirement, value: string): boolean {
  const listed = requirement.values.includes(value);
  if (!requirement.complement) return listed;
  return !listed && withinBounds(value, requirement.gte, requirement.lte);
}

/** Whether no value is allowed, so the label must be absent. */
export function forbidsAll(requirement: Requirement): boolean {
  return !requirement.complement && requirement.values.length === 0;
}

/** Whether nothing satisfies the requirement: neither a value nor absence. */
export function isImpossible(requirement: Requirement): boolean {
  return forbidsAll(requirement) && requirement.mustExist === true;
}

/** The requirement that allows what both allow. The larger minValues counts. */
export function intersect(a: Requirement, b: Requirement): Requirement {
  const common = commonValues(a, b);
  if (!allowsAbsence(common) || (allowsAbsence(a) && allowsAbsence(b))) return common;
  return { ...common, mustExist: true };
}

function commonValues(a: Requirement, b: Requirement): Requirement {
  const gte = larger(a.gte, b.gte);
  const lte = smaller(a.lte, b.lte);
  const minValues = larger(a.minValues, b.minValues);
  const concrete = { key: a.key, complement: false, gte: undefined, lte: undefined, minValues };
  if (a.complement && b.complement) {
    const values = [...new Set([...a.values, ...b.values])]
      .filter((value) => withinBounds(value, gte, lte))
      .sort();
    return normalise({ key: a.key, complement: true, values, gte, lte, minValues });
  }
  const [listed, other] = a.complement ? [b, a] : [a, b];
  const values = listed.values.filter(
    (value) => allows(other, value) && withinBounds(value, gte, lte),
  );
  return { ...concrete, values };
}

/** Whether there is a value that both allow. */
export function intersects(a: Requirement, b: Requirement): boolean {
  if (!a.complement && !b.complement) return a.values.some((value) => b.values.includes(value));
  if (a.complement && b.complement && !hasBound(a) && !hasBound(b)) return true;
  return !forbidsAll(intersect(a, b));
}

/** The operator of the API that comes closest. A requirement with bounds counts as Exists. */
function operatorOf(requirement: Requirement): "In" | "NotIn" | "Exists" | "DoesNotExist" {
  const some = requirement.values.length > 0;
  if (requirement.complement) return some ? "NotIn" : "Exists";
  return some ? "In" : "DoesNotExist";
}

/** Whether an object without the label satisfies the requirement. True for NotIn and DoesNotExist. */
export function allowsAbsence(requirement: Requirement): boolean {
  if (requirement.mustExist) return false;
  const operator = operatorOf(requirement);
  return (operator === "NotIn" && !hasBound(requirement)) || operator === "DoesNotExist";
}

/** The requirement in the form of the API. Some requirements need more than one entry. */
export function toSpecs(requirement: Requirement): RequirementSpec[] {
  const { key, values, gte, lte } = requirement;
  const rest = requirement.minValues === undefined ? {} : { minValues: requirement.minValues };
  const specs: RequirementSpec[] = [];
  if (gte !== undefined) specs.push({ key, operator: "Gte", values: [String(gte)], ...rest });
  if (lte !== undefined) specs.push({ key, operator: "Lte", values: [String(lte)], ...rest });
  const operator = operatorOf(requirement);
  if (operator === "In" || operator === "NotIn") specs.push({ key, operator, values, ...rest });
  else if (specs.length === 0) specs.push({ key, operator, ...rest });
  if (requirement.mustExist) specs.push({ key, operator: "Exists", ...rest });
  return specs;
}

/** One allowed value, for a label that needs a value: the lowest that is not a negative number. Undefined: none. */
export function anyValue(requirement: Requirement): string | undefined {
  if (!requirement.complement) return requirement.values[0];
  const from = Math.max(0, requirement.gte ?? 0);
  for (let tried = 0; tried <= requirement.values.length; tried++) {
    const value = String(from + tried);
    if (allows(requirement, value)) return value;
  }
  return undefined;
}

/** The requirement as text, such as `key In [a b c]`, as in upstream's messages. */
export function formatRequirement(requirement: Requirement): string {
  const { values, gte, lte, minValues } = requirement;
  let text = `${requirement.key} ${operatorOf(requirement)}`;
  if (values.length > SHOWN_VALUES) {
    const shown = values.slice(0, SHOWN_VALUES).join(" ");
    text += ` [${shown} and ${values.length - SHOWN_VALUES} others]`;
  } else if (values.length > 0) text += ` [${values.join(" ")}]`;
  if (gte !== undefined) text += ` >=${gte}`;
  if (lte !== undefined) text += ` <=${lte}`;
  if (minValues !== undefined) text += ` minValues ${minValues}`;
  return text;
}

/** If all integers between the bounds are excluded, the result allows no value. Upstream does not notice this. */
function normalise(requirement: Requirement): Requirement {
  const { gte, lte, values } = requirement;
  if (gte === undefined || lte === undefined || lte - gte + 1 > values.length) return requirement;
  for (let value = gte; value <= lte; value++) {
    if (!values.includes(String(value))) return requirement;
  }
  return { ...requirement, complement: false, values: [], gte: undefined, lte: undefined };
}

function hasBound(requirement: Requirement): boolean {
  return requirement.gte !== undefined || requirement.lte !== undefined;
}

function withinBounds(value: string, gte: number | undefined, lte: number | undefined): boolean {
  if (gte === undefined && lte === undefined) return true;
  if (!INTEGER.test(value)) return false;
  const number = Number(value);
  return (gte === undefined || number >= gte) && (lte === undefined || number <= lte);
}

function larger(a: number | undefined, b: number | undefined): number | undefined {
  if (a === undefined) return b;
  return b === undefined ? a : Math.max(a, b);
}

function smaller(a: number | undefined, b: number | undefined): number | undefined {
  if (a === undefined) return b;
  return b === undefined ? a : Math.min(a, b);
}
