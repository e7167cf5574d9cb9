/**
 * Counts what an expression costs while it runs, in cel-go's units, against Kubernetes' limits. The
 * JavaScript engine does not count cost. But its evaluator runs each step through one method, which is
 * wrapped here.
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

/** The message for a spent budget, as upstream. */
export const OUT_OF_BUDGET =
  "validation failed due to running out of cost budget, no further validation rules will be run";

/** Cost units left for everything that shares this budget. Below zero, nothing more is evaluated. */
export interface Budget {
  left: number;
}

/** One expression cost more than EXPRESSION_LIMIT. The text is cel-go's. */
class TooCostlyError extends Error {
  override readonly name = "TooCostlyError";

  constructor() {
    super("operation cancelled: actual cost limit exceeded");
  }
}

/** A node of a parsed expression, with the fields that its cost depends on. */
interface Node {
  /** Set on the body of a loop: extra cost of each iteration. */
  turnCost?: number;
  /** The answer of {@link isSized}, kept because the body of a loop may run 100,000 times. */
  sized?: boolean;
  readonly op: string;
  readonly args: unknown;
  readonly meta: { readonly alternate?: Node; readonly macro?: unknown };
  evaluate(evaluator: Evaluator, node: Node, context: unknown): unknown;
}

/** The part of the CEL engine's evaluator that is wrapped. */
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
/** Cost of each character that an operation reads. */
const CHARACTER_COST = 0.1;
const PATTERN_CHARACTER_COST = 0.25;

let spent = 0;
/** Values of the operands of the running operation, collected if its cost depends on them. */
let parts: unknown[] | undefined;
const exceeded = new TooCostlyError();

/**
 * Wraps the evaluator of an environment. The engine does not export its evaluator. So `reach` is an expression that
 * calls a function defined here, and the engine passes the evaluator to that function ({@link tellEvaluator}).
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

/** Receives the engine's evaluator. The function that the expression `reach` of {@link meter} calls must call this. */
export function tellEvaluator(evaluator: Evaluator): void {
  reached?.(evaluator);
}

/**
 * Runs an expression. Throws what the expression throws, or TooCostlyError. Its cost is taken from the budget
 * even if it throws.
 */
export function runMetered(
  program: Parsed,
  bindings: Record<string, unknown>,
  budget: Budget,
): unknown {
  const root = program.ast as Node;
  const target = root.meta.alternate ?? root;
  // Saved because runs nest: a variable of a policy is evaluated inside the expression that reads it.
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
    // `||` and `all` continue after an error of one operand, so TooCostlyError may be replaced by another
    // error.
    throw spent > EXPRESSION_LIMIT ? exceeded : error;
  } finally {
    budget.left -= spent;
    ({ spent, parts } = outer);
  }
}

/** True if the error says that one expression cost more than EXPRESSION_LIMIT. */
export function isTooCostly(error: unknown): boolean {
  return error === exceeded;
}

function spend(node: Node, value: unknown, mine: readonly unknown[] | undefined): void {
  spent += costOf(node, value, mine) + (node.turnCost ?? 0);
  if (spent > EXPRESSION_LIMIT) throw exceeded;
}

/** Whether the cost of the operation depends on its operands. */
function isSized(node: Node): boolean {
  node.sized ??= SIZED.has(node.op) && node.meta.macro === undefined;
  return node.sized;
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
      // A list of constants is itself a constant.
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
      // cel-go joins lists without copying. Here two lists are copied, so it costs their length.
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

/** The cost of a loop without the cost of its iterations. `exists_one` also counts and compares at the end. */
function costOfLoop({ init }: Comprehension): number {
  return typeof init.args === "number" ? 2 : 1;
}

/**
 * Sets the extra cost of a loop's iterations. Before each one, `all` and `exists` check whether to go on. After it,
 * they join the result with earlier ones.
 */
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

/** The longest named format is a pattern of about 40 characters, at 0.25 a character. */
const FORMAT_PATTERN_COST = 10;
/** With this cost one expression can ask about rights twice before it reaches EXPRESSION_LIMIT. */
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

/** Number of characters, items or fields; 1 for every other value. */
function sizeOf(value: unknown): number {
  if (typeof value === "string" || Array.isArray(value)) return value.length;
  return isObject(value) ? Object.keys(value).length : 1;
}

/** Cost of reading a value with everything in nested lists. */
function weightOf(value: unknown): number {
  if (!Array.isArray(value)) return typeof value === "string" ? traversal(value.length) : 1;
  return value.reduce<number>((sum, item) => sum + weightOf(item), 0);
}
