/**
 * The JSONPath subset of printer columns and scale paths: `.a.b`, `['a.b']`, `\.` for a dot in a key, `[0]`,
 * `[*]`, and filters such as `[?(@.type=="Ready")]`. A path is compiled once.
 * upstream: client-go util/jsonpath, as far as CRDs may use it
 */
import { isObject } from "../../../base/json.ts";

type Step =
  | { readonly kind: "field"; readonly name: string }
  | { readonly kind: "index"; readonly index: number }
  | { readonly kind: "all" }
  | {
      readonly kind: "filter";
      readonly path: readonly Step[];
      readonly operator: string;
      readonly value: unknown;
    };

/** A compiled path. It returns all matching values, in order. */
export type JsonPath = (root: unknown) => readonly unknown[];

const cache = new Map<string, JsonPath>();

/** Compiles `path`, with or without braces. An invalid path matches nothing. */
export function jsonPath(path: string): JsonPath {
  let compiled = cache.get(path);
  if (compiled === undefined) {
    const steps = parseSteps(path.replace(/^\{|\}$/g, ""));
    compiled = (root) => (steps === undefined ? [] : walk(steps, [root]));
    cache.set(path, compiled);
  }
  return compiled;
}

function walk(steps: readonly Step[], roots: readonly unknown[]): readonly unknown[] {
  let values = roots;
  for (const step of steps) values = values.flatMap((value) => take(step, value));
  return values;
}

function take(step: Step, value: unknown): readonly unknown[] {
  switch (step.kind) {
    case "field": {
      const found =
        isObject(value) && Object.hasOwn(value, step.name) ? value[step.name] : undefined;
      return found === undefined || found === null ? [] : [found];
    }
    case "index": {
      if (!Array.isArray(value)) return [];
      const found = value.at(step.index);
      return found === undefined ? [] : [found];
    }
    case "all":
      if (Array.isArray(value)) return value;
      return isObject(value) ? Object.values(value) : [];
    case "filter":
      if (!Array.isArray(value)) return [];
      return value.filter((item) => {
        const found = walk(step.path, [item])[0];
        if (step.operator === "") return found !== undefined;
        return compare(found, step.operator, step.value);
      });
  }
}

function compare(left: unknown, operator: string, right: unknown): boolean {
  switch (operator) {
    case "==":
      return left === right;
    case "!=":
      return left !== right;
    case "<":
      return (left as number) < (right as number);
    case "<=":
      return (left as number) <= (right as number);
    case ">":
      return (left as number) > (right as number);
    default:
      return (left as number) >= (right as number);
  }
}

/** Patterns of the steps of a path, tried in this order. */
const GRAMMAR: readonly (readonly [RegExp, (match: RegExpExecArray) => Step | undefined])[] = [
  [/\[\*\]|\.\*/y, () => ({ kind: "all" })],
  [
    /\[\?\(\s*@((?:\\.|[^=!<>)\s])*)\s*(?:(==|!=|<=|>=|<|>)\s*(.+?)\s*)?\)\]/y,
    ([, inner = "", operator = "", literal = ""]) => {
      const path = parseSteps(inner);
      if (path === undefined) return undefined;
      return { kind: "filter", path, operator, value: parseLiteral(literal) };
    },
  ],
  [/\[(['"])(.*?)\1\]/y, ([, , name = ""]) => ({ kind: "field", name })],
  [/\[(-?\d+)\]/y, ([, index]) => ({ kind: "index", index: Number(index) })],
  [
    /\.?((?:\\.|[^.[\]\\])+)/y,
    ([, name = ""]) => ({ kind: "field", name: name.replace(/\\(.)/g, "$1") }),
  ],
];

function parseSteps(path: string): readonly Step[] | undefined {
  const steps: Step[] = [];
  let at = path.startsWith("$") ? 1 : 0;
  while (at < path.length) {
    let step: Step | undefined;
    for (const [expression, make] of GRAMMAR) {
      expression.lastIndex = at;
      const match = expression.exec(path);
      if (match === null) continue;
      at = match.index + match[0].length;
      step = make(match);
      break;
    }
    if (step === undefined) return undefined;
    steps.push(step);
  }
  return steps;
}

function parseLiteral(text: string): unknown {
  const quoted = /^(['"])(.*)\1$/.exec(text);
  if (quoted !== null) return quoted[2];
  if (text === "true" || text === "false") return text === "true";
  return Number(text);
}
