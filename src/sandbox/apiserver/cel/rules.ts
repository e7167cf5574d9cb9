/**
 * Turns the `x-kubernetes-validations` of a CRD version into one check. A rule is compiled when it first runs. An
 * object is converted to CEL values once and walked together with its schema. Transition rules (which name `oldSelf`)
 * run only where an old value exists, or if they have `optionalOldSelf`. Other rules do not run over parts that an
 * update did not change.
 * upstream: apiextensions-apiserver pkg/apiserver/schema/cel/validation.go
 */
import type { KubeObject } from "../../../apis/meta.ts";
import { canonicalJson, deepEqual, isObject } from "../../../base/json.ts";
import { duplicate, forbidden, invalid, required } from "../schema/field-error.ts";
import type { FieldError, Schema, ValidationRule } from "../schema/schema.ts";
import { compile, escapeField, type Program, run, toCel, toOptional } from "./engine.ts";
import { type Budget, OBJECT_BUDGET, OUT_OF_BUDGET } from "./meter.ts";

/** Returns the errors of `next`. Transition rules compare it with `current`. */
export type RuleCheck = (next: KubeObject, current: KubeObject | undefined) => FieldError[];

interface Rule {
  readonly source: ValidationRule;
  /**
   * Undefined: the rule did not run yet, so it is not compiled. A command that reads one NodePool needs few of the rules
   * of all kinds. A text is the compile error. It is reported whenever the rule would run.
   */
  program: Program | string | undefined;
  readonly isTransition: boolean;
}

/** A schema node with rules on it or below it; nodes without any are left out. */
interface Node {
  readonly schema: Schema;
  readonly rules: readonly Rule[];
  readonly properties: ReadonlyMap<string, Node>;
  readonly each: Node | undefined;
}

interface Place {
  readonly path: string;
  readonly value: unknown;
  readonly self: unknown;
  readonly old: unknown;
  readonly oldSelf: unknown;
}

/** The errors of one object so far, and whether checking must stop. */
interface Judgement {
  readonly errors: FieldError[];
  readonly budget: Budget;
  /** Whether the budget is spent. Then no further rule runs. */
  isOver: boolean;
}

/** The check of a schema without any rule: it never fails. */
export const NO_RULES: RuleCheck = () => [];

/** The check of the rules of `schema` and of all schemas below it. Each rule is compiled when it first runs. */
export function compileRules(schema: Schema): RuleCheck {
  const root = nodeOf(schema, new Set());
  if (root === undefined) return NO_RULES;
  return (next, current) => {
    const judgement: Judgement = {
      errors: [],
      budget: { left: OBJECT_BUDGET },
      isOver: false,
    };
    const place = {
      path: "",
      value: next,
      self: toCel(schema, next),
      old: current,
      oldSelf: current === undefined ? undefined : toCel(schema, current),
    };
    check(root, place, judgement);
    return judgement.errors;
  };
}

/** Why a CRD with this rule is refused; undefined if the rule is valid. */
export function ruleProblem(rule: Partial<ValidationRule>, field: string): FieldError | undefined {
  if (rule.rule === undefined || rule.rule.trim() === "")
    return required(field, "rule is not specified");
  const program = compile(rule.rule);
  if (typeof program !== "string") {
    const { type } = program.check();
    if (type === undefined || ["bool", "dyn"].includes(type)) return undefined;
  }
  const problem =
    typeof program === "string"
      ? `compilation failed: ERROR: ${program}`
      : "cel expression must evaluate to a bool";
  // The error shows Go's struct of the rule, with these field names.
  const shown = JSON.stringify({
    Rule: rule.rule,
    Message: rule.message ?? "",
    MessageExpression: rule.messageExpression ?? "",
    Reason: rule.reason ?? null,
    FieldPath: rule.fieldPath ?? "",
    OptionalOldSelf: rule.optionalOldSelf ?? null,
  });
  return { field, reason: "FieldValueInvalid", message: `Invalid value: ${shown}: ${problem}` };
}

/**
 * The rules of a schema and of the schemas inside it. `above`: the schemas around it. A schema that contains itself
 * ends there, instead of recursing forever.
 */
function nodeOf(schema: Schema, above: ReadonlySet<Schema>): Node | undefined {
  if (above.has(schema)) return undefined;
  const within = new Set(above).add(schema);
  const properties = new Map<string, Node>();
  for (const [name, child] of Object.entries(schema.properties ?? {})) {
    const node = nodeOf(child, within);
    if (node !== undefined) properties.set(name, node);
  }
  const inner =
    schema.items ??
    (typeof schema.additionalProperties === "object" ? schema.additionalProperties : undefined);
  const each = inner === undefined ? undefined : nodeOf(inner, within);
  const rules = (schema["x-kubernetes-validations"] ?? []).map(compileRule);
  if (rules.length === 0 && properties.size === 0 && each === undefined) return undefined;
  return { schema, rules, properties, each };
}

function compileRule(source: ValidationRule): Rule {
  return { source, program: undefined, isTransition: /\boldSelf\b/.test(source.rule) };
}

function check(node: Node, place: Place, judgement: Judgement): void {
  const { path, value, old } = place;
  if (value === undefined || value === null || judgement.isOver) return;
  const isUnchanged = old !== undefined && deepEqual(old, value);
  for (const rule of node.rules) {
    if (isUnchanged && !rule.isTransition) continue;
    const error = judge(node.schema, rule, place, judgement);
    if (error !== undefined) judgement.errors.push(error);
    if (judgement.isOver) return;
  }
  if (Array.isArray(value)) checkItems(node, place, value, judgement);
  else if (isObject(value)) {
    const self = place.self as Record<string, unknown>;
    const oldSelf = place.oldSelf as Record<string, unknown> | undefined;
    const before = isObject(old) ? old : undefined;
    for (const key of Object.keys(value)) {
      const own = node.properties.get(key);
      const child = own ?? node.each;
      if (child === undefined) continue;
      const celKey = own === undefined ? key : escapeField(key);
      const inner = {
        path: path === "" ? key : `${path}.${key}`,
        value: value[key],
        self: self[celKey],
        old: before?.[key],
        oldSelf: oldSelf?.[celKey],
      };
      check(child, inner, judgement);
    }
  }
}

/**
 * Checks the items of a list. An item has an old value only in lists of type map: the old item with the same
 * keys.
 */
function checkItems(
  node: Node,
  place: Place,
  value: readonly unknown[],
  judgement: Judgement,
): void {
  const { each, schema } = node;
  if (each === undefined) return;
  const self = place.self as readonly unknown[];
  const isMap = schema["x-kubernetes-list-type"] === "map";
  const keys = schema["x-kubernetes-list-map-keys"] ?? [];
  const keyOf = (item: unknown): string | undefined =>
    isMap && isObject(item) ? canonicalJson(keys.map((key) => item[key] ?? null)) : undefined;
  const before = Array.isArray(place.old) ? place.old : [];
  const positions = new Map(before.map((item, index) => [keyOf(item), index] as const));
  value.forEach((item, index) => {
    const key = keyOf(item);
    const match = key === undefined ? -1 : (positions.get(key) ?? -1);
    const inner = {
      path: `${place.path}[${index}]`,
      value: item,
      self: self[index],
      old: match < 0 ? undefined : before[match],
      oldSelf: match < 0 ? undefined : (place.oldSelf as readonly unknown[])[match],
    };
    check(each, inner, judgement);
  });
}

function judge(
  schema: Schema,
  rule: Rule,
  place: Place,
  judgement: Judgement,
): FieldError | undefined {
  const { source } = rule;
  if (rule.isTransition && place.oldSelf === undefined && source.optionalOldSelf !== true) {
    return undefined;
  }
  const type = schema.type ?? "";
  const text = (source.message ?? source.rule).trim();
  rule.program ??= compile(source.rule);
  const { program } = rule;
  if (typeof program === "string") {
    return invalid(place.path, type, `rule compile error: compilation failed: ERROR: ${program}`);
  }
  const bindings = bindingsOf(source, place);
  const { budget } = judgement;
  const outcome = run(program, bindings, budget);
  if (outcome.problem !== undefined && outcome.isTooCostly) {
    judgement.isOver = true;
    const why = `no further validation rules will be run due to call cost exceeds limit for rule: ${source.rule}`;
    return invalid(place.path, type, `'${outcome.problem}': ${why}`);
  }
  if (budget.left < 0) return outOfBudget(place.path, type, judgement);
  if (outcome.problem !== undefined) {
    return invalid(place.path, type, `${outcome.problem} evaluating rule: ${text}`);
  }
  if (outcome.value === true) return undefined;
  const message = messageOf(rule, bindings, budget);
  if (budget.left < 0) return outOfBudget(place.path, type, judgement);
  return complaint(rule, place, type, message);
}

function outOfBudget(path: string, type: string, judgement: Judgement): FieldError {
  judgement.isOver = true;
  return invalid(path, type, OUT_OF_BUDGET);
}

function bindingsOf(source: ValidationRule, place: Place): Readonly<Record<string, unknown>> {
  const { self, oldSelf } = place;
  if (source.optionalOldSelf === true) return { self, oldSelf: toOptional(oldSelf) };
  return oldSelf === undefined ? { self } : { self, oldSelf };
}

function messageOf(
  rule: Rule,
  bindings: Readonly<Record<string, unknown>>,
  budget: Budget,
): string {
  const { messageExpression } = rule.source;
  const message = messageExpression === undefined ? "" : compile(messageExpression);
  if (typeof message !== "string") {
    const { value } = run(message, bindings, budget) as { value?: unknown };
    if (typeof value === "string" && value.trim() !== "" && isMessage(value)) {
      return value.trim();
    }
  }
  return rule.source.message?.trim() ?? `failed rule: ${rule.source.rule.trim()}`;
}

/** Longest message of a messageExpression, in bytes. A longer one is replaced by `message`. */
const LONGEST_MESSAGE = 5 * 1_024;

function isMessage(text: string): boolean {
  return !text.includes("\n") && Buffer.byteLength(text) <= LONGEST_MESSAGE;
}

function complaint(rule: Rule, place: Place, type: string, detail: string): FieldError {
  const { fieldPath, reason } = rule.source;
  const field = fieldPath === undefined ? place.path : joinFieldPath(place.path, fieldPath);
  switch (reason) {
    case "FieldValueForbidden":
      return forbidden(field, detail);
    case "FieldValueRequired":
      return required(field, detail);
    case "FieldValueDuplicate":
      return duplicate(field, type);
    default:
      return invalid(field, type, detail);
  }
}

/** Appends `fieldPath`, such as `.spec.x` or `['a.b'].c`, to `path`. */
function joinFieldPath(path: string, fieldPath: string): string {
  const tail = fieldPath.replace(/\[['"](.*?)['"]\]/g, "[$1]");
  return path === "" ? tail.replace(/^\./, "") : `${path}${tail}`;
}
