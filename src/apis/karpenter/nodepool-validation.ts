/**
 * Checks of a NodePool that its schema cannot express. The controller `nodepool.validation` writes the result to the
 * condition ValidationSucceeded.
 * upstream: pkg/apis/v1/nodepool_validation.go
 */
import { parseDuration, parseNillableDuration } from "../../base/duration.ts";
import { parseNano } from "../../base/quantity.ts";
import type { Taint } from "../core/node.ts";
import { labelValueProblem, qualifiedNameProblem } from "./label-syntax.ts";
import { isRestrictedLabel, NODEPOOL_LABEL_KEY } from "./labels.ts";
import type { NodePool } from "./nodepool.ts";
import { requirementProblem } from "./requirement-validation.ts";

/** The reason of ValidationSucceeded if it is False. */
export const NODE_POOL_VALIDATION_FAILED = "NodePoolValidationFailed";

const EFFECTS: readonly string[] = ["NoSchedule", "PreferNoSchedule", "NoExecute", ""];

/** All problems of the pool, each as `path: reason`. Empty: it is valid. */
export function nodePoolProblems(
  pool: NodePool,
  alsoKnown: readonly string[] = [],
): readonly string[] {
  const spec = pool.spec?.template?.spec;
  if (spec === undefined) return ["spec.template.spec: is missing"];
  const path = "spec.template.spec.requirements";
  return [
    ...labelProblems(pool.spec.template.metadata?.labels ?? {}, alsoKnown),
    ...taintProblems(spec.taints ?? [], spec.startupTaints ?? []),
    ...(spec.requirements ?? []).flatMap((one, index) => {
      const why =
        one.key === NODEPOOL_LABEL_KEY
          ? `label ${one.key} is restricted`
          : requirementProblem(one, alsoKnown);
      return why === undefined ? [] : [`${path}[${index}]: ${why}`];
    }),
    ...amountProblems(pool),
  ];
}

function labelProblems(
  labels: Readonly<Record<string, string>>,
  alsoKnown: readonly string[],
): readonly string[] {
  return Object.keys(labels).flatMap((key) => {
    const value = labels[key] as string;
    const restricted = key === NODEPOOL_LABEL_KEY || isRestrictedLabel(key, alsoKnown);
    const why =
      qualifiedNameProblem(key) ??
      (restricted ? "this label is restricted" : undefined) ??
      labelValueProblem(value);
    return why === undefined ? [] : [`spec.template.metadata.labels[${key}]: ${why}`];
  });
}

function taintProblems(
  taints: readonly Taint[],
  startupTaints: readonly Taint[],
): readonly string[] {
  const seen = new Set<string>();
  const check = (field: string) => (one: Taint, index: number) => {
    const pair = `${one.key}=${one.effect}`;
    const duplicate = seen.has(pair) ? `duplicate taint Key/Effect pair ${pair}` : undefined;
    seen.add(pair);
    const why =
      duplicate ??
      qualifiedNameProblem(one.key) ??
      labelValueProblem(one.value ?? "") ??
      (EFFECTS.includes(one.effect) ? undefined : `unknown effect ${one.effect}`);
    return why === undefined ? [] : [`spec.template.spec.${field}[${index}]: ${why}`];
  };
  return [...taints.flatMap(check("taints")), ...startupTaints.flatMap(check("startupTaints"))];
}

/**
 * Problems of texts that are parsed as amounts and durations. Without this check a typing error would count as zero.
 */
function amountProblems({ spec }: NodePool): readonly string[] {
  const problems: string[] = [];
  for (const [name, amount] of Object.entries(spec.limits ?? {})) {
    if (parseNano(amount) === undefined)
      problems.push(`spec.limits.${name}: "${amount}" is no quantity`);
  }
  const spans = {
    "spec.template.spec.expireAfter": spec.template.spec.expireAfter,
    "spec.disruption.consolidateAfter": spec.disruption?.consolidateAfter,
  };
  for (const [path, text] of Object.entries(spans)) {
    if (text !== undefined && parseNillableDuration(text) === undefined)
      problems.push(`${path}: "${text}" is neither a duration nor Never`);
  }
  const grace = spec.template.spec.terminationGracePeriod;
  if (grace !== undefined && parseDuration(grace) === undefined)
    problems.push(`spec.template.spec.terminationGracePeriod: "${grace}" is no duration`);
  return problems;
}
