/**
 * Which pods planning refuses to look at, and what their owner should read. One bad pod never holds
 * the others up. upstream: pkg/controllers/provisioning/provisioner.go (Validate)
 */
import type { NodeSelectorRequirement, Pod } from "../../../apis/core/pod.ts";
import {
  isRestrictedLabel,
  normalizedLabel,
  PROVISIONER_NAME_LABEL_KEY,
} from "../../../apis/karpenter/labels.ts";
import { asksForSomething, firstAlternative } from "../../scheduling/pod-requirements.ts";
import { forbidsAll } from "../../scheduling/requirement.ts";
import type { VolumeIndex } from "../../scheduling/volumes.ts";

/** A pod that wants no node of ours: nothing is wrong, so nobody needs an event. */
export const NOT_FOR_US = "configured to not run on a Karpenter provisioned node";

const NO_DYNAMIC_RESOURCES =
  "pod has Dynamic Resource Allocation requirements that are not yet supported by Karpenter";

const OPERATORS: readonly string[] = ["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"];

/**
 * Why this pod is left out of the pass; undefined when it can be planned for. `ownerLabels`: those of
 * the pools in the pass. A pod that wants no node of one generation may still get one of another.
 */
export function refusal(
  pod: Pod,
  volumes: VolumeIndex,
  wellKnownLabels: readonly string[],
  ownerLabels: readonly string[],
): string | undefined {
  if (hasDynamicResources(pod)) return NO_DYNAMIC_RESOURCES;
  const { nodeSelector, affinity } = pod.spec;
  for (const key in nodeSelector) {
    const reason = keyRefusal(key, wellKnownLabels);
    if (reason !== undefined) return reason;
  }
  const terms =
    affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms ?? [];
  for (const term of terms) {
    if ((term.matchFields?.length ?? 0) > 0)
      return "node selector term with matchFields is not supported";
    for (const expression of term.matchExpressions ?? []) {
      const reason = expressionRefusal(expression, wellKnownLabels);
      if (reason !== undefined) return reason;
    }
  }
  if (terms.length > 0 && !terms.some(asksForSomething))
    return "node selector terms without matchExpressions match no node";
  if (nodeSelector === undefined && terms.length === 0) return volumes.refusal(pod);
  const required = firstAlternative(pod.spec);
  const forbidden = (key: string) => required.has(key) && forbidsAll(required.get(key));
  if (ownerLabels.length > 0 && ownerLabels.every(forbidden)) return NOT_FOR_US;
  return volumes.refusal(pod);
}

/**
 * Devices by resource claim: their daemons are no overhead either. upstream: IGNORE_DRA_REQUESTS
 */
export function hasDynamicResources(pod: Pod): boolean {
  const claims = pod.spec["resourceClaims"];
  return Array.isArray(claims) && claims.length > 0;
}

function expressionRefusal(
  expression: NodeSelectorRequirement,
  wellKnownLabels: readonly string[],
): string | undefined {
  const { key, operator, values = [] } = expression;
  if (!OPERATORS.includes(operator)) {
    return `key ${key} has an unsupported operator ${operator} not in [${OPERATORS.join(" ")}]`;
  }
  if (operator === "In" && values.length === 0)
    return `key ${key} with operator ${operator} must have a value defined`;
  const bound = operator === "Gt" || operator === "Lt";
  if (bound && (values.length !== 1 || !/^\d+$/.test(values[0] as string)))
    return `key ${key} with operator ${operator} must have a single positive integer value`;
  return keyRefusal(key, wellKnownLabels);
}

function keyRefusal(key: string, wellKnownLabels: readonly string[]): string | undefined {
  const known = [...wellKnownLabels, PROVISIONER_NAME_LABEL_KEY];
  if (!isRestrictedLabel(normalizedLabel(key), known)) return undefined;
  return `label ${key} is restricted; use a well-known label or a label of your own domain`;
}
