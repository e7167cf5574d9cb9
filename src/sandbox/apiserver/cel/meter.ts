/**
 * What an expression costs while it runs, in cel-go's units, and the limits that Kubernetes sets to that. The
 * engine has no such account of its own: every step of an expression goes through one method of its evaluator,
 * which is wrapped here.
 * upstream: cel-go interpreter/runtimecost.go, apiserver pkg/apis/cel/config.go, pkg/cel/library/cost.go
 */
import type { Environment } from "@marcbachmann/cel-js";
import { isObject } from "../../../base/json.ts";

/** Units that one run of one expression may cost. Exported for tests. */
export const EXPRESSION_LIMIT = 1_000_000;
/** Units that all rules of one object, or all expressions of one policy for one request, may cost. */
export const OBJECT_BUDGET = 10_000_000;
/** Units that all match conditions of one webhook or policy may cost for one request. */
export const CONDITIONS_BUDGET = 2_500_000;

/** The message for a spent budget. */
export const OUT_OF_BUDGET =
  "validation failed due to running out of cost budget, no further validation rules will be run";

/** Units that are left for all that shares this budget. Below zero: nothing runs any more. */
export interface Budget {
  left: number;
}

/** An expression cost more than one may. cel-go's words. */
class TooCostlyError extends Error {
  override readonly name = "TooCostlyError";

  constructor() {
    super("operation cancelled: actual cost limit exceeded");
  }
}

/** A node of a parsed expression, as far as its cost goes. */
interface Node {
  /** What a turn of a loop costs beside this body of it. */
  turnCost?: number;
  readonly op: string;
  readonly args: unknown;
  readonly meta: { readonly alternate?: Node; readonly macro?: unknown };
  evaluate(evaluator: Evaluator, node: Node, context: unknown): unknown;
}

/** The part of the CEL library that is metered. */
export interface Evaluator {
  run(node: Node, context: unknown): unknown;
}

interface Comprehension {
  readonly init: Node;
  readonly step: Node;
}

/** A parsed expression of the engine. */
export type Parsed = ((bindings: Record<string, unknown>) => unknown) & { readonly ast: unknown };

const LIST_COST = 10;
const MAP_COST = 30;
/** Per character that is looked at. */
const CHARACTER_COST = 0.1;
const PATTERN_CHARACTER_COST = 0.25;

let spent = 0;
/** Values of the parts of the operation that is under way, where its cost depends on them. */
let parts: unknown[] | undefined;
const exceeded = new TooCostlyError();

/**
 * Wraps the evaluator of an environment. `reach` gives the evaluator away: an expression that calls a function
 * of ours, which the engine calls on its evaluator.
 */
export function meter(environment: Environment, reach: string): void {
  let found: Evaluator | undefined;
  reached = (evaluator) => {
    found = evaluator;
  };
  environment.evaluate(reach);
  reached = undefined;
  if (found === undefined)
    throw new Error(`the engine of CEL does not call ${reach} on its evaluator`);
  const evaluator = found;
  evaluator.run = (node, context) => {
    const outer = parts;
    const target = node.meta.alternate ?? node;
    const mine = isSized(target) ? [] : undefined;
    parts = mine;
    if (target.op === "comprehension") noteTurns(target.args as Comprehension);
    let value: unknown;
    try {
      value = node.evaluate(evaluator, node, context);
    } finally {
      parts = outer;
    }
    outer?.push(value);
    spend(target, value, mine);
    return value;
  };
}

let reached: ((evaluator: Evaluator) => void) | undefined;

/** For the function that `reach` calls. */
export function tellEvaluator(evaluator: Evaluator): void {
  reached?.(evaluator);
}

/** Runs an expression. Throws what the expression throws, or TooCostlyError; the budget pays in any case. */
export function runMetered(
  program: Parsed,
  bindings: Record<string, unknown>,
  budget: Budget,
): unknown {
  const root = program.ast as Node;
  const target = root.meta.alternate ?? root;
  // A policy's variable is evaluated inside the expression that uses it.
  const outer = { spent, parts };
  spent = 0;
  const mine = isSized(target) ? [] : undefined;
  parts = mine;
  if (target.op === "comprehension") noteTurns(target.args as Comprehension);
  try {
    const value = program(bindings);
    spend(target, value, mine);
    return value;
  } catch (error) {
    // `||` and `all` go on after an error of one side or item: what they make of this one does not count.
    throw spent > EXPRESSION_LIMIT ? exceeded : error;
  } finally {
    budget.left -= spent;
    ({ spent, parts } = outer);
  }
}

/** True for the error of an exceeded budget. */
export function isTooCostly(error: unknown): boolean {
  return error === exceeded;
}

function spend(node: Node, value: unknown, mine: readonly unknown[] | undefined): void {
  spent += costOf(node, value, mine) + (node.turnCost ?? 0);
  if (spent > EXPRESSION_LIMIT) throw exceeded;
}

/** Operations whose cost depends on what they are given. */
function isSized({ op, meta }: Node): boolean {
  if (meta.macro !== undefined) return false;
  return SIZED.has(op);
}

const SIZED: ReadonlySet<string> = new Set("call rcall == != < <= > >= + in".split(" "));

function costOf(node: Node, value: unknown, mine: readonly unknown[] = []): number {
  switch (node.op) {
    case "value":
    case "&&":
    case "||":
    case "?:":
      return 0;
    case "list":
      // A list of constants is one itself.
      return isConstant(node.args as readonly Node[]) ? 0 : LIST_COST;
    case "map":
      return MAP_COST;
    case "comprehension":
      return costOfLoop(node.args as Comprehension);
    case "accuInc":
      return 2;
    case "accuPush":
      return LIST_COST + 2;
    case "==":
    case "!=":
    case "<":
    case "<=":
    case ">":
    case ">=":
      return traversal(Math.min(sizeOf(mine[0]), sizeOf(mine[1])));
    case "+":
      // Unlike cel-go's, two lists are copied into a third.
      return Math.max(1, traversal(sizeOf(value)));
    case "in":
      return Array.isArray(mine[1]) ? mine[1].length : 1;
    case "call":
    case "rcall":
      return node.meta.macro === undefined ? costOfCall(node, value, mine.toReversed()) : 0;
    default:
      return 1;
  }
}

function isConstant(items: readonly Node[]): boolean {
  return items.every(({ op }) => op === "value");
}

/** What a loop costs beside its turns. `exists_one` counts and compares at the end; the others only answer. */
function costOfLoop({ init }: Comprehension): number {
  return typeof init.args === "number" ? 2 : 1;
}

/** `all` and `exists` ask before each turn whether they go on, and join its answer with the earlier ones. */
function noteTurns({ init, step }: Comprehension): void {
  if (init.args === true) step.turnCost = 3;
  if (init.args === false) step.turnCost = 4;
}

type Cost = (args: readonly unknown[], result: unknown) => number;

const ofText: Cost = ([text]) => traversal(sizeOf(text));
const ofTextTwice: Cost = ([text]) => traversal(2 * sizeOf(text));
const ofMatch: Cost = ([text, pattern]) =>
  traversal(1 + sizeOf(text)) * Math.ceil(sizeOf(pattern) * PATTERN_CHARACTER_COST);
const ofSets: Cost = ([, left, right]) => 1 + sizeOf(left) * sizeOf(right);

/** Functions that cost more than one unit, by name. */
const FUNCTIONS: ReadonlyMap<string, Cost> = new Map<string, Cost>([
  ...["startsWith", "endsWith", "lowerAscii", "upperAscii", "substring", "trim"].map(
    (name) => [name, ofText] as const,
  ),
  ...["url", "isURL", "ip", "isIP", "cidr", "isCIDR", "quantity", "isQuantity", "bytes"].map(
    (name) => [name, ofText] as const,
  ),
  ...["replace", "split"].map((name) => [name, ofTextTwice] as const),
  ...["matches", "matchesRe2", "find", "findAll"].map((name) => [name, ofMatch] as const),
  ...["isSorted", "sum", "max", "min", "indexOf", "lastIndexOf"].map(
    (name) => [name, ([list]: readonly unknown[]) => weightOf(list)] as const,
  ),
  ["contains", (args) => (args.length === 3 ? ofSets(args, undefined) : ofContains(args))],
  ["equivalent", ofSets],
  ["intersects", ofSets],
  ["join", (_args, result) => traversal(2 * sizeOf(result))],
  ["validate", ([, text]) => traversal(1 + sizeOf(text)) * FORMAT_PATTERN_COST],
  ["check", () => AUTHORIZATION_COST],
]);

/** As of a pattern of forty characters: the longest of named formats. */
const FORMAT_PATTERN_COST = 10;
/** Two questions about rights are what one expression may ask. */
const AUTHORIZATION_COST = 350_000;

function ofContains([text, part]: readonly unknown[]): number {
  return traversal(sizeOf(text)) * traversal(sizeOf(part));
}

function costOfCall({ args }: Node, value: unknown, given: readonly unknown[]): number {
  const [name] = args as readonly [string];
  return FUNCTIONS.get(name)?.(given, value) ?? 1;
}

function traversal(size: number): number {
  return Math.ceil(size * CHARACTER_COST);
}

/** Characters, items or fields; one for everything else. */
function sizeOf(value: unknown): number {
  if (typeof value === "string" || Array.isArray(value)) return value.length;
  return isObject(value) ? Object.keys(value).length : 1;
}

/** With all that is in a list. */
function weightOf(value: unknown): number {
  if (!Array.isArray(value)) return typeof value === "string" ? traversal(value.length) : 1;
  return value.reduce<number>((sum, item) => sum + weightOf(item), 0);
}
