/**
 * Compiles and runs CEL expressions, and converts JSON values for them. Expressions see Kubernetes' types:
 * integers are int by schema, date-times are timestamps. Field names that are not CEL identifiers are escaped
 * (`__namespace__`).
 */

import { Environment, Optional, type ParseResult } from "@marcbachmann/cel-js";
import { firstLineOf } from "../../../base/error-text.ts";
import { isObject, setField } from "../../../base/json.ts";
import { Memo } from "../../../base/memo.ts";
import { propertySchema, type Schema } from "../schema/schema.ts";
import { registerKubernetesLibrary } from "./library.ts";
import { type Budget, isTooCostly, runMetered } from "./meter.ts";

/** A compiled expression. */
export type Program = ParseResult;

/** The value of an expression. `problem` says in one line why there is none. */
export type Outcome =
  | { readonly value: unknown; readonly problem?: undefined }
  | { readonly problem: string; readonly isTooCostly: boolean };

const RESERVED = new Set(
  (
    "true false null in as break const continue else for function if import let loop package " +
    "namespace return var void while"
  ).split(" "),
);

let environment: Environment | undefined;
const programs = new Memo(compiled);

/** An expression over `self` and `oldSelf`, compiled once. A text is the compile error. */
export function compile(source: string): Program | string {
  return programs.get(source);
}

function compiled(source: string): Program | string {
  try {
    const program = shared().parse(withGoPatterns(source));
    const check = program.check();
    return check.valid ? program : firstLineOf(check.error);
  } catch (error) {
    return firstLineOf(error);
  }
}

/**
 * Evaluates with values made by {@link toCel}. Stops after EXPRESSION_LIMIT cost units. The cost is
 * subtracted from `budget`, which may be below zero afterwards.
 */
export function run(
  program: Program,
  bindings: Readonly<Record<string, unknown>>,
  budget: Budget,
): Outcome {
  try {
    return { value: runMetered(program, { ...bindings }, budget) };
  } catch (error) {
    // cel-go's text of this error begins with a small letter.
    const problem = firstLineOf(error).replace(/^No such key/, "no such key");
    return { problem, isTooCostly: isTooCostly(error) };
  }
}

/** A JSON value as expressions see it. */
export function toCel(schema: Schema, value: unknown): unknown {
  if (Array.isArray(value)) {
    const items = schema.items ?? {};
    return value.map((item) => toCel(items, item));
  }
  if (isObject(value)) {
    const { additionalProperties } = schema;
    const each = typeof additionalProperties === "object" ? additionalProperties : {};
    const result: Record<string, unknown> = {};
    for (const key in value) {
      const own = propertySchema(schema, key);
      if (own === undefined) setField(result, key, toCel(each, value[key]));
      else result[escapeField(key)] = toCel(own, value[key]);
    }
    return result;
  }
  if (typeof value === "number") {
    return schema.type !== "number" && Number.isInteger(value) ? BigInt(value) : value;
  }
  if (typeof value === "string" && (schema.format === "date-time" || schema.format === "date")) {
    return new Date(value);
  }
  return value;
}

/** Wraps a value as an optional, for `oldSelf` in rules with `optionalOldSelf`. */
export function toOptional(value: unknown): unknown {
  return value === undefined ? Optional.none() : Optional.of(value);
}

/** Whether a field name can stand in an expression without escaping: no keyword, no dashes or dots. */
export function isWord(name: string): boolean {
  return !RESERVED.has(name) && /^[A-Za-z_][A-Za-z0-9_]*$/.test(name);
}

/** How a declared field is written in expressions. upstream: apiserver pkg/cel/escaping.go */
export function escapeField(name: string): string {
  if (RESERVED.has(name)) return `__${name}__`;
  if (/^[A-Za-z_][A-Za-z0-9_]*$/.test(name) && !name.includes("__")) return name;
  return name
    .replaceAll("__", "__underscores__")
    .replaceAll(".", "__dot__")
    .replaceAll("-", "__dash__")
    .replaceAll("/", "__slash__");
}

function shared(): Environment {
  if (environment !== undefined) return environment;
  environment = new Environment({
    unlistedVariablesAreDyn: false,
    homogeneousAggregateLiterals: false,
    enableOptionalTypes: true,
    limits: { maxListElements: 10_000, maxAstNodes: 100_000 },
  })
    .registerVariable("self", "dyn")
    .registerVariable("oldSelf", "dyn");
  registerKubernetesLibrary(environment);
  return environment;
}

/**
 * Replaces `matches` by a function with Go's regular expressions: the engine's own uses JavaScript's. Text
 * inside quotes stays as it is.
 */
export function withGoPatterns(source: string): string {
  return source.replace(
    /("(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*')|\.((?:\s|\/\/[^\n]*\n)*)matches((?:\s|\/\/[^\n]*\n)*\()/g,
    (whole, quoted: string | undefined, gap: string, open: string) =>
      quoted === undefined ? `.${gap}matchesRe2${open}` : whole,
  );
}
