/** Small faults that are put into a source file, one at a time, to see whether a test notices. */
import { parseAst } from "vite";
import type { Random } from "../../src/base/random.ts";

export interface SourceMutation {
  readonly file: string;
  readonly line: number;
  /** What is changed: `<= to <`. */
  readonly kind: string;
  readonly start: number;
  readonly end: number;
  /** The text that replaces the one between start and end. */
  readonly text: string;
  /** Why the mutant can change no answer; absent if it may change one. */
  readonly harmless?: Harmless;
}

/**
 * Faults that change no answer, recognised by their form:
 * - `sign`: 1 or -1 becomes 2 or -2 in `a < b ? -1 : 1`, of which a sort reads only the sign.
 * - `pause`: it only decides when a search pauses, in `if (…) yield;`.
 * - `speed`: a shortcut below a comment `// Speed only: why` is never taken. The code after it gives the same
 *   answer.
 */
export type Harmless = "sign" | "pause" | "speed";

/** A node of the syntax tree, with the fields that are read here. */
interface Syntax {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly [field: string]: unknown;
}

const OPERATORS: Readonly<Record<string, string>> = {
  "<": "<=",
  "<=": "<",
  ">": ">=",
  ">=": ">",
  "===": "!==",
  "!==": "===",
  "&&": "||",
  "||": "&&",
  "+": "-",
  "-": "+",
  "*": "/",
  "/": "*",
};
const METHODS: Readonly<Record<string, string>> = {
  some: "every",
  every: "some",
  min: "max",
  max: "min",
  floor: "ceil",
  ceil: "floor",
};
/** Constants that only decide how long a step is. No plan depends on them. */
const STEP_SIZE = /PER_STEP$/;
const SPEED_ONLY = /^\s*\/\/ Speed only: \S/;
const EFFECTS = ["CallExpression", "UpdateExpression", "AssignmentExpression"];

/** All mutants of a file. Types, imports and assertions stay as they are. */
export function mutationsOf(file: string, source: string): readonly SourceMutation[] {
  const found: SourceMutation[] = [];
  const lines = source.split("\n");
  let harmless: Harmless | undefined;
  const textOf = ({ start, end }: Syntax) => source.slice(start, end);
  const add = (kind: string, { start, end }: Pick<Syntax, "start" | "end">, text: string) => {
    const line = source.slice(0, start).split("\n").length;
    const isShortcut = kind === "never" && SPEED_ONLY.test(lines[line - 2] ?? "");
    const why = harmless ?? (isShortcut ? "speed" : undefined);
    found.push({ file, line, kind, start, end, text, ...(why && { harmless: why }) });
  };
  const negate = (condition: Syntax) =>
    add("condition negated", condition, `!(${textOf(condition)})`);
  const mutate = (node: Syntax): void => {
    switch (node.type) {
      case "BinaryExpression":
      case "LogicalExpression": {
        const [left, right] = [node["left"] as Syntax, node["right"] as Syntax];
        const operator = node["operator"] as string;
        const other = OPERATORS[operator];
        const at = left.end + source.slice(left.end, right.start).indexOf(operator);
        if (other !== undefined && ![left, right].some(isText))
          add(`${operator} to ${other}`, { start: at, end: at + operator.length }, other);
        if (operator === "??") add("left of ??", node, textOf(left));
        return;
      }
      case "UnaryExpression":
        if (node["operator"] === "!") add("without !", node, textOf(node["argument"] as Syntax));
        return;
      case "IfStatement":
        negate(node["test"] as Syntax);
        add("never", node["test"] as Syntax, "(false as boolean)");
        return;
      case "WhileStatement":
      case "ConditionalExpression":
        negate(node["test"] as Syntax);
        return;
      case "Literal":
        if (typeof node["value"] === "boolean")
          add(`${node["value"]} to ${!node["value"]}`, node, String(!node["value"]));
        if (typeof node["value"] === "number") add("number + 1", node, `(${textOf(node)} + 1)`);
        return;
      case "CallExpression": {
        const callee = node["callee"] as Syntax;
        if (callee.type !== "MemberExpression" || callee["computed"] === true) return;
        const property = callee["property"] as Syntax;
        const name = textOf(property);
        const other = METHODS[name];
        if (other !== undefined) add(`${name} to ${other}`, property, other);
        return;
      }
      case "ExpressionStatement":
        if (EFFECTS.includes((node["expression"] as Syntax).type)) add("left out", node, ";");
    }
  };
  const walk = (node: Syntax): void => {
    if (staysAsItIs(node, textOf)) return;
    const before = harmless;
    if (isPause(node)) harmless = "pause";
    mutate(node);
    for (const child of childrenOf(node)) {
      if (isSigns(node) && child !== node["test"]) harmless = "sign";
      walk(child);
      if (harmless === "sign") harmless = before;
    }
    harmless = before;
  };
  walk(parseAst(source, { lang: "ts" }) as unknown as Syntax);
  return found;
}

/** Draws `count` different mutants. The same seed draws the same ones. */
export function drawn(
  all: readonly SourceMutation[],
  count: number,
  random: Random,
): readonly SourceMutation[] {
  const left = [...all];
  const some: SourceMutation[] = [];
  while (some.length < count && left.length > 0) {
    const at = random.int(left.length);
    some.push(left[at] as SourceMutation);
    left[at] = left.at(-1) as SourceMutation;
    left.pop();
  }
  return some;
}

function staysAsItIs({ type, ...node }: Syntax, textOf: (node: Syntax) => string): boolean {
  if (type.startsWith("TS") && !["TSAsExpression", "TSNonNullExpression"].includes(type))
    return true;
  if (type === "ImportDeclaration") return true;
  if (type === "VariableDeclarator") return STEP_SIZE.test(textOf(node["id"] as Syntax));
  return type === "CallExpression" && textOf(node["callee"] as Syntax) === "assert";
}

/** Whether the node has the form `if (…) yield;`. */
function isPause({ type, ...node }: Syntax): boolean {
  const then = node["consequent"] as Syntax | undefined;
  if (type !== "IfStatement" || then?.type !== "ExpressionStatement") return false;
  const { type: what, argument } = then["expression"] as Syntax;
  return what === "YieldExpression" && (argument ?? undefined) === undefined && !node["alternate"];
}

/** Whether the syntax node has the form `… ? -1 : 1`, or `… ? 1 : -1`. */
function isSigns({ type, ...node }: Syntax): boolean {
  if (type !== "ConditionalExpression") return false;
  const signs = [node["consequent"], node["alternate"]].map((one) => signOf(one as Syntax));
  return signs[0] !== undefined && signs[0] === -(signs[1] ?? 0);
}

function signOf({ type, value, operator, argument }: Syntax): number | undefined {
  if (type === "Literal" && value === 1) return 1;
  const isNegated = type === "UnaryExpression" && operator === "-";
  return isNegated && signOf(argument as Syntax) === 1 ? -1 : undefined;
}

function childrenOf(node: Syntax): Syntax[] {
  return Object.values(node).flat().filter(isSyntax);
}

function isSyntax(value: unknown): value is Syntax {
  return typeof value === "object" && value !== null && "type" in value && "start" in value;
}

function isText({ type, value }: Syntax): boolean {
  return type === "TemplateLiteral" || (type === "Literal" && typeof value === "string");
}
