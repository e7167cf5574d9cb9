/**
 * Conditions of admission webhooks: expressions over the object, what it was before, and the request.
 * upstream: apiserver pkg/admission/plugin/webhook/matchconditions
 */

import { Environment } from "@marcbachmann/cel-js";
import { firstLineOf } from "../../../base/error-text.ts";
import { Memo } from "../../../base/memo.ts";
import { type Outcome, type Program, run, toCel } from "./engine.ts";
import { registerKubernetesLibrary } from "./library.ts";
import type { Budget } from "./meter.ts";

let environment: Environment | undefined;
const programs = new Memo(compiled);

/** Variables are JSON values; an object that is not there is null. */
export function evaluateCondition(
  expression: string,
  variables: Readonly<Record<"object" | "oldObject" | "request", unknown>>,
  budget: Budget,
): Outcome {
  const program = compileCondition(expression);
  if (typeof program === "string") return { problem: program, isTooCostly: false };
  const { object, oldObject, request } = variables;
  const bindings = {
    object: toCel({}, object ?? null),
    oldObject: toCel({}, oldObject ?? null),
    request: toCel({}, request),
  };
  return run(program, bindings, budget);
}

/** A compiled condition, or what is wrong with it. */
export function compileCondition(expression: string): Program | string {
  return programs.get(expression);
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
