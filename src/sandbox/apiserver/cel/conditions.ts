/**
 * Conditions of admission webhooks: expressions over the object, what it was before, and the request.
 * upstream: apiserver pkg/admission/plugin/webhook/matchconditions
 */

import { Environment } from "@marcbachmann/cel-js";
import { firstLineOf } from "../../../base/error-text.ts";
import { type Outcome, type Program, run, toCel } from "./engine.ts";
import { registerKubernetesLibrary } from "./library.ts";

let environment: Environment | undefined;
const programs = new Map<string, Program | string>();

/** Variables are JSON values; an object that is not there is null. */
export function evaluateCondition(
  expression: string,
  variables: Readonly<Record<"object" | "oldObject" | "request", unknown>>,
): Outcome {
  const program = compileCondition(expression);
  if (typeof program === "string") return { problem: program };
  const { object, oldObject, request } = variables;
  return run(program, {
    object: toCel({}, object ?? null),
    oldObject: toCel({}, oldObject ?? null),
    request: toCel({}, request),
  });
}

/** A compiled condition, or what is wrong with it. */
export function compileCondition(expression: string): Program | string {
  const known = programs.get(expression);
  if (known !== undefined) return known;
  const made = compiled(expression);
  programs.set(expression, made);
  return made;
}

function compiled(expression: string): Program | string {
  try {
    return shared().parse(expression);
  } catch (error) {
    return firstLineOf(error);
  }
}

function shared(): Environment {
  if (environment !== undefined) return environment;
  environment = new Environment({ unlistedVariablesAreDyn: false, enableOptionalTypes: true })
    .registerVariable("object", "dyn")
    .registerVariable("oldObject", "dyn")
    .registerVariable("request", "dyn");
  registerKubernetesLibrary(environment);
  return environment;
}
