/**
 * Repair policies of a cloud: which conditions of Nodes count as broken, after which time, and with which remedy.
 * Exactly one policy of a set has no regular expression. It is the fallback for every condition that another policy
 * names.
 * upstream: pkg/cloudprovider/types.go
 */

/** A regular expression that may match anywhere in the reason of a condition; it is not anchored. */
export interface ReasonRegex {
  readonly source: string;
  matches(reason: string): boolean;
}

/** The remedies of node repair. */
export type RepairAction = "ReplaceNode" | "RebootNode";

/**
 * A condition of a Node, and its remedy. A node that has the condition for longer than the toleration is replaced or
 * rebooted.
 */
export interface RepairPolicy {
  readonly conditionType: string;
  readonly conditionStatus: "True" | "False" | "Unknown";
  /** Must match the reason of the condition. Absent: the policy is the fallback. */
  readonly reasonRegex?: ReasonRegex;
  readonly tolerationMs: number;
  /** The longest time that the drain may take. 0: no drain. Absent: the claim decides. */
  readonly terminationGracePeriodMs?: number;
  /**
   * The priority, from 0 to 100. A higher one makes the repair more urgent, among conditions of a node and among nodes.
   */
  readonly priority: number;
  readonly action: RepairAction;
}

const MAX_PRIORITY = 100;

/** The error in a set of policies, with the remedy. Undefined: the set is valid. */
export function repairPoliciesProblem(policies: readonly RepairPolicy[]): string | undefined {
  if (policies.length === 0)
    return "the cloud provider has no repair policies; turn the feature gate NodeRepair off";
  for (const [index, policy] of policies.entries()) {
    const problem = policyProblem(policy);
    if (problem !== undefined)
      return `repair policy ${index} (${policy.conditionType}=${policy.conditionStatus}): ${problem}`;
  }
  const fallbacks = policies.filter(({ reasonRegex }) => reasonRegex === undefined);
  if (fallbacks.length !== 1)
    return `${fallbacks.length} repair policies have no reasonRegex; give all but one of them a reasonRegex`;
  return undefined;
}

function policyProblem(policy: RepairPolicy): string | undefined {
  const { conditionType, reasonRegex, tolerationMs, terminationGracePeriodMs, priority, action } =
    policy;
  if (conditionType === "") return 'conditionType is ""; name a condition of Nodes';
  if (!isDuration(tolerationMs)) return `tolerationDuration is ${tolerationMs} ms; give 0 or more`;
  if (terminationGracePeriodMs !== undefined && !isDuration(terminationGracePeriodMs))
    return `terminationGracePeriod is ${terminationGracePeriodMs} ms; give 0 or more, or leave it out`;
  if (!Number.isSafeInteger(priority) || priority < 0 || priority > MAX_PRIORITY)
    return `priority is ${priority}; give a whole number from 0 to ${MAX_PRIORITY}`;
  if (reasonRegex === undefined && action !== "ReplaceNode")
    return `action is ${action} without a reasonRegex; the fallback must be ReplaceNode`;
  return undefined;
}

function isDuration(ms: number): boolean {
  return Number.isFinite(ms) && ms >= 0;
}
