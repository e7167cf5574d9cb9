/**
 * The setting DISRUPTION_BUDGETS: budgets for the whole cluster, as YAML or JSON in the form of a NodePool's budgets.
 */
import type { Budget } from "../../apis/karpenter/nodepool.ts";
import { isObject } from "../../base/json.ts";
import { brokenBudgets } from "../../core/disruption/budgets.ts";
import { LIMITS } from "../../readers/limits.ts";
import { ReadError } from "../../readers/read-error.ts";
import { readYamlValue } from "../../readers/yaml.ts";

const REASONS = ["Underutilized", "Empty", "Drifted", "Unhealthy"];
const FIELDS = ["nodes", "reasons", "schedule", "timeZone", "duration"];

/** What is wrong with the text, and in which field. Undefined: it is valid. */
export function disruptionBudgetsProblem(text: string): string | undefined {
  let given: unknown;
  try {
    given = read(text);
  } catch (error) {
    if (error instanceof ReadError) return error.problem;
    throw error;
  }
  if (!Array.isArray(given)) return "must be a list of budgets, such as [{nodes: 10%}]";
  const problems = given.flatMap((one, index) => problemOf(one, index) ?? []);
  return problems.length > 0 ? problems.join("; ") : brokenBudgets(given as Budget[], "budgets");
}

/** The budgets in a valid text. */
export function disruptionBudgets(text: string): readonly Budget[] {
  return read(text) as Budget[];
}

function read(text: string): unknown {
  if (text.trim() === "") return [];
  const given = readYamlValue(text, {
    source: "DISRUPTION_BUDGETS",
    limits: LIMITS.setting,
    repeatedKeys: "refused",
  });
  // A number of nodes may also be written as a JSON number.
  if (!Array.isArray(given)) return given;
  return given.map((one: unknown) =>
    isObject(one) && typeof one["nodes"] === "number"
      ? { ...one, nodes: String(one["nodes"]) }
      : one,
  );
}

function problemOf(budget: unknown, index: number): string | undefined {
  const field = `budgets[${index}]`;
  if (!isObject(budget)) return `${field}: must be an object with nodes`;
  const { nodes, reasons, schedule, timeZone, duration } = budget;
  const unknown = Object.keys(budget).find((key) => !FIELDS.includes(key));
  if (unknown !== undefined) return `${field}.${unknown}: there is no such field`;
  if (typeof nodes !== "string") return `${field}.nodes: must be a count or a percentage`;
  if ((schedule === undefined) !== (duration === undefined))
    return `${field}: schedule and duration come together`;
  if (timeZone !== undefined && schedule === undefined) return `${field}: timeZone needs schedule`;
  for (const [name, value] of Object.entries({ schedule, timeZone, duration }))
    if (value !== undefined && typeof value !== "string")
      return `${field}.${name}: ${JSON.stringify(value)} must be a text`;
  if (reasons === undefined) return undefined;
  const isKnown = Array.isArray(reasons) && reasons.every((one) => REASONS.includes(one));
  return isKnown ? undefined : `${field}.reasons: must be of ${REASONS.join(", ")}`;
}
