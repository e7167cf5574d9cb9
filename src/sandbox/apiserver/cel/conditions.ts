/**
 * Expressions of admission: the match conditions of webhooks and all expressions of admission policies. They
 * see the object, its old version and the request. Expressions of policies also see the namespace, the
 * parameters and the variables.
 * upstream: apiserver pkg/admission/plugin/cel, pkg/admission/plugin/webhook/matchconditions
 */

import { Environment } from "@marcbachmann/cel-js";
import { firstLineOf } from "../../../base/error-text.ts";
import { Memo } from "../../../base/memo.ts";
import { registerAuthorizer } from "./authorizer.ts";
import { type Outcome, type Program, run, toCel, withGoPatterns } from "./engine.ts";
import { registerKubernetesLibrary } from "./library.ts";
import type { Budget } from "./meter.ts";

/** Where the expression is used, which decides the names that it may use. A webhook's condition may use the fewest. */
export type Scope = keyof typeof NAMES;

const NAMES = {
  webhook: ["object", "oldObject", "request", "authorizer"],
  policy: ["object", "oldObject", "request", "namespaceObject", "variables", "authorizer"],
  policyWithParams: [
    "object",
    "oldObject",
    "request",
    "namespaceObject",
    "variables",
    "params",
    "authorizer",
  ],
  message: ["object", "oldObject", "request", "namespaceObject", "variables"],
  messageWithParams: ["object", "oldObject", "request", "namespaceObject", "variables", "params"],
} as const;

/** The values of all names in a scope, made by {@link bindingsOf}. */
export type Bindings = Readonly<Record<string, unknown>>;

const environments = new Map<Scope, Environment>();
const programs = new Map<Scope, Memo<Program | string>>();

/** Converts JSON values to values for expressions. Missing values become null. */
export function bindingsOf(values: Readonly<Record<string, unknown>>): Bindings {
  return Object.fromEntries(
    Object.entries(values).map(([name, value]) => [name, toCel({}, value ?? null)]),
  );
}

/** Evaluates a CEL expression. Errors and too high costs are outcomes, not exceptions. */
export function evaluateIn(
  scope: Scope,
  expression: string,
  bindings: Bindings,
  budget: Budget,
): Outcome {
  const program = compileIn(scope, expression);
  if (typeof program === "string") return { problem: program, isTooCostly: false };
  const known: readonly string[] = NAMES[scope];
  return run(program, Object.fromEntries(known.map((name) => [name, bindings[name]])), budget);
}

/** A compiled expression, or the text of its problem. */
export function compileIn(scope: Scope, expression: string): Program | string {
  let known = programs.get(scope);
  if (known === undefined) {
    known = new Memo((text) => compiled(scope, text));
    programs.set(scope, known);
  }
  return known.get(expression);
}

function compiled(scope: Scope, expression: string): Program | string {
  try {
    const program = environmentOf(scope).parse(withGoPatterns(expression));
    const check = program.check();
    return check.valid ? program : firstLineOf(check.error);
  } catch (error) {
    return firstLineOf(error);
  }
}

function environmentOf(scope: Scope): Environment {
  const known = environments.get(scope);
  if (known !== undefined) return known;
  const environment = new Environment({
    unlistedVariablesAreDyn: false,
    homogeneousAggregateLiterals: false,
    enableOptionalTypes: true,
    limits: { maxListElements: 10_000, maxAstNodes: 100_000 },
  });
  for (const name of NAMES[scope])
    if (name === "authorizer") registerAuthorizer(environment);
    else environment.registerVariable(name, "dyn");
  registerKubernetesLibrary(environment);
  environments.set(scope, environment);
  return environment;
}

/** A named expression of a policy that other expressions can read as `variables.NAME`. */
export interface Variable {
  readonly name: string;
  readonly expression: string;
}

/**
 * The bindings with `variables`. Each variable is evaluated when an expression first reads it, at the cost of
 * the same budget. If a variable fails, every expression that reads it fails.
 */
export function withVariables(
  scope: Scope,
  variables: readonly Variable[],
  bindings: Bindings,
  budget: Budget,
): Bindings {
  const values: Record<string, unknown> = {};
  for (const { name, expression } of variables) {
    let outcome: Outcome | undefined;
    Object.defineProperty(values, name, {
      enumerable: true,
      get: () => {
        outcome ??= evaluateIn(scope, expression, { ...bindings, variables: values }, budget);
        if (outcome.problem === undefined) return outcome.value;
        throw new Error(`composited variable "${name}" fails to evaluate: ${outcome.problem}`);
      },
    });
  }
  return { ...bindings, variables: values };
}
