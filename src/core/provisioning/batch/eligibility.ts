/**
 * Which pods of a batch are not planned, and the message for their owners. An invalid pod never delays the other pods.
 * upstream: pkg/controllers/provisioning/provisioner.go (Validate)
 */
import type { NodeSelectorRequirement, NodeSelectorTerm, Pod } from "../../../apis/core/pod.ts";
import { AWS_KEYS, AWS_LABEL_DOMAIN } from "../../../apis/crds/shared-schema.ts";
import {
  HOSTNAME_LABEL_KEY,
  isDomainOrBelow,
  isRestrictedLabel,
  labelDomain,
  normalizedLabel,
  PROVISIONER_NAME_LABEL_KEY,
  WELL_KNOWN_LABELS,
} from "../../../apis/karpenter/labels.ts";
import { boundProblem, valuesProblem } from "../../../apis/karpenter/requirement-validation.ts";
import { hasResourceClaims } from "../../../apis/resource/pod-claims.ts";
import { meantName } from "../../../base/slips.ts";
import {
  asksForSomething,
  requiredAlternatives,
  requiredTerms,
} from "../../scheduling/pod-requirements.ts";
import { allowsAbsence, forbidsAll, toRequirement } from "../../scheduling/requirement.ts";
import type { Requirements } from "../../scheduling/requirements.ts";
import type { VolumeIndex } from "../../scheduling/volumes.ts";
import type { SchedulingInput } from "../scheduling-input.ts";

/** Message for a pod that excludes Karpenter's nodes. That is no error, so the pod gets no event. */
export const NOT_FOR_US = "configured to not run on a Karpenter provisioned node";

/** Message for a pod with resource claims, while they are not planned: upstream's sentence, then what a user can do. */
const NO_DYNAMIC_RESOURCES =
  "pod has Dynamic Resource Allocation requirements that are not yet supported by Karpenter: to plan its claims, set " +
  "settings.enableDRA in the chart (--ignore-dra-requests=false, with AWS also the gates DRANVIDIAGPU and DRAEFA)";

const OPERATORS: readonly string[] = ["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"];

/** The facts against which a pod is checked. */
export interface EligibilityFacts {
  readonly volumes: VolumeIndex;
  readonly wellKnownLabels: readonly string[];
  /**
   * The label keys by which nodes name their pool: one for NodePools and one for Provisioners, if the cluster has such
   * pools. A pod that excludes all of them can get no new node.
   */
  readonly ownerLabels: readonly string[];
  /** Whether devices are planned for resource claims (Dynamic Resource Allocation). */
  readonly plansClaims: boolean;
}

/** Why this pod is not planned. Undefined: it is planned. */
export function refusal(
  pod: Pod,
  { volumes, wellKnownLabels, ownerLabels, plansClaims }: EligibilityFacts,
): string | undefined {
  if (!plansClaims && hasResourceClaims(pod)) return NO_DYNAMIC_RESOURCES;
  const { nodeSelector } = pod.spec;
  const terms = requiredTerms(pod.spec);
  const problems = ruleProblems(pod, wellKnownLabels);
  if (problems.size > 0) return [...problems].join("; ");
  if (terms.length > 0 && !terms.some(asksForSomething))
    return "node selector terms without matchExpressions match no node";
  if (nodeSelector === undefined && terms.length === 0) return volumes.refusal(pod);
  const required = requiredAlternatives(pod.spec)[0] as Requirements;
  const forbidden = (key: string) => required.has(key) && forbidsAll(required.get(key));
  if (ownerLabels.length > 0 && ownerLabels.every(forbidden)) return NOT_FOR_US;
  return volumes.refusal(pod);
}

/** Every problem of the node selector and the required node affinity, so that users can correct all of them at once. */
function ruleProblems(pod: Pod, wellKnownLabels: readonly string[]): ReadonlySet<string> {
  const { nodeSelector } = pod.spec;
  const problems = new Set<string>();
  const add = (problem: string | undefined): void => {
    if (problem !== undefined) problems.add(problem);
  };
  for (const key in nodeSelector)
    add(keyRefusal(key, wellKnownLabels) ?? valuesProblem(key, [nodeSelector[key] as string]));
  for (const { matchFields = [], matchExpressions = [] } of requiredTerms(pod.spec)) {
    if (matchFields.length > 0) add("node selector term with matchFields is not supported");
    for (const one of matchExpressions) add(expressionRefusal(one, wellKnownLabels));
  }
  return problems;
}

/**
 * The DaemonSet pods that count as overhead. If resource claims are ignored, DaemonSet pods with claims do not count.
 * upstream: IGNORE_DRA_REQUESTS
 */
export function plannedDaemons({
  daemonPods,
  devices,
}: Pick<SchedulingInput, "daemonPods" | "devices">): readonly Pod[] {
  return devices === undefined ? daemonPods.filter((pod) => !hasResourceClaims(pod)) : daemonPods;
}

/**
 * Whether a preferred term is valid. If an invalid term were copied to a claim, the API server would refuse the claim,
 * and all pods on it would stay pending.
 */
export function isUsablePreference(
  { matchExpressions = [] }: NodeSelectorTerm,
  wellKnownLabels: readonly string[],
): boolean {
  return matchExpressions.every(
    (one) =>
      termRefusal(one) === undefined &&
      // No new node has a restricted label, so a term that requires one is never copied. An existing node may have it.
      (keyRefusal(one.key, wellKnownLabels) === undefined ||
        normalizedLabel(one.key) === HOSTNAME_LABEL_KEY ||
        !allowsAbsence(toRequirement(one))),
  );
}

function expressionRefusal(
  expression: NodeSelectorRequirement,
  wellKnownLabels: readonly string[],
): string | undefined {
  return termRefusal(expression) ?? keyRefusal(expression.key, wellKnownLabels);
}

/** The problem of a term's operator or values. The key is not checked. */
function termRefusal({ key, operator, values = [] }: NodeSelectorRequirement): string | undefined {
  if (!OPERATORS.includes(operator)) {
    return `key ${key} has an unsupported operator ${operator} not in [${OPERATORS.join(" ")}]`;
  }
  if (operator === "In" && values.length === 0)
    return `key ${key} with operator ${operator} must have a value defined`;
  const problem = boundProblem(key, operator, values) ?? valuesProblem(key, values);
  if (problem !== undefined) return problem;
  // `Lt 0` would be written to the claim as `at most -1`, which the API server refuses.
  return operator === "Lt" && Number(values[0]) === 0
    ? `key ${key} with operator Lt 0 is met by no label; ask for Lt 1 or more`
    : undefined;
}

function keyRefusal(key: string, wellKnownLabels: readonly string[]): string | undefined {
  const known = [...wellKnownLabels, PROVISIONER_NAME_LABEL_KEY];
  const isUnknown = isUnknownToAws(key) && !wellKnownLabels.includes(key);
  if (!isRestrictedLabel(normalizedLabel(key), known) && !isUnknown) return undefined;
  const all = [...WELL_KNOWN_LABELS, ...wellKnownLabels, ...AWS_KEYS];
  const others = all.filter((one) => one !== normalizedLabel(key));
  const meant = meantName(key, others);
  const instead =
    meant === undefined ? "use a well-known label or" : `did you mean ${meant}? Or use`;
  return `label ${key} is restricted; ${instead} a label of your own domain`;
}

/**
 * Whether the key is in AWS's label domain, but no label of the AWS provider. The CRD of claims refuses such keys.
 * upstream: the AWS provider restricts its domain, pkg/apis/v1/labels.go
 */
function isUnknownToAws(key: string): boolean {
  return isDomainOrBelow(labelDomain(key), AWS_LABEL_DOMAIN) && !AWS_KEYS.includes(key);
}
