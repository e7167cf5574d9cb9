/**
 * Sixty questions of a platform engineer, as typed into the site's search, and the page that answers each. `npm
 * run site` searches its new index for them: the answer must be among the first three hits.
 */

/** Words that are typed into the search, and the page with the answer. */
export interface SiteQuestion {
  readonly typed: string;
  /** Pages below docs/ that answer the question, without `.md`. */
  readonly pages: readonly string[];
}

export const QUESTIONS: readonly SiteQuestion[] = [
  { typed: "install with helm", pages: ["guide/install"] },
  { typed: "migrate from karpenter", pages: ["guide/migrate"] },
  { typed: "migrate from cluster autoscaler", pages: ["guide/migrate"] },
  { typed: "rollback upgrade", pages: ["tasks/upgrades", "guide/migrate"] },
  { typed: "uninstall", pages: ["guide/uninstall"] },
  { typed: "spot interruption", pages: ["tasks/spot", "guide/aws"] },
  { typed: "gpu nodes", pages: ["tasks/gpus"] },
  { typed: "arm64 graviton", pages: ["tasks/arm64"] },
  { typed: "why is my pod pending", pages: ["start/faq", "runbooks/pods-and-pools"] },
  { typed: "why is a node not removed", pages: ["start/faq"] },
  { typed: "disruption budgets", pages: ["guide/disruption", "explanation/disruption"] },
  { typed: "do-not-disrupt", pages: ["start/faq", "guide/disruption"] },
  { typed: "iam permissions", pages: ["guide/aws"] },
  { typed: "private subnets without internet", pages: ["tasks/private-subnets"] },
  { typed: "supported kubernetes versions", pages: ["reference/versions"] },
  { typed: "save cost", pages: ["tasks/cost", "reference/presets"] },
  { typed: "prometheus alerts", pages: ["guide/monitoring", "runbooks/README"] },
  { typed: "doctor", pages: ["guide/doctor"] },
  { typed: "webhooks are not served", pages: ["guide/troubleshooting"] },
  { typed: "etcd restored from backup", pages: ["guide/uninstall"] },
  { typed: "how do I keep a node from being disrupted", pages: ["start/faq"] },
  { typed: "AccessDenied RunInstances", pages: ["guide/troubleshooting"] },
  { typed: "UnauthorizedOperation CreateFleet", pages: ["guide/troubleshooting"] },
  { typed: "InsufficientInstanceCapacity", pages: ["runbooks/nodes"] },
  { typed: "node stuck NotReady never joins", pages: ["guide/what-it-says"] },
  { typed: "NodeClaim stuck deleting finalizer", pages: ["guide/uninstall"] },
  { typed: "change instance types of a nodepool", pages: ["start/faq"] },
  { typed: "limit total cpu of a nodepool", pages: ["tasks/cost"] },
  { typed: "pin AMI version", pages: ["guide/aws", "tasks/upgrades"] },
  { typed: "node rotation expire after 30 days", pages: ["start/faq"] },
  { typed: "maintenance window no disruption at night", pages: ["start/faq"] },
  { typed: "dedicated nodes for a team with taints", pages: ["tasks/multi-tenant"] },
  { typed: "how much memory does the controller need", pages: ["start/faq"] },
  { typed: "EBS volume zone pod pending", pages: ["start/faq"] },
  { typed: "consolidation too aggressive", pages: ["guide/disruption", "start/faq"] },
  { typed: "check the signature of a release", pages: ["guide/release"] },
  { typed: "go back to upstream karpenter", pages: ["start/faq", "guide/migrate"] },
  { typed: "service quota vCPU limit exceeded", pages: ["guide/aws"] },
  { typed: "topology spread across zones", pages: ["start/faq"] },
  { typed: "support bundle", pages: ["guide/uninstall"] },
  { typed: "controller pod CrashLoopBackOff", pages: ["guide/troubleshooting"] },
  { typed: "ImagePullBackOff", pages: ["guide/troubleshooting"] },
  { typed: "cannot be imported into the current release", pages: ["guide/troubleshooting"] },
  { typed: "helm reuse-values", pages: ["guide/install", "guide/migrate"] },
  { typed: "observe only dry run", pages: ["guide/migrate"] },
  { typed: "network policy egress", pages: ["guide/install", "tasks/harden"] },
  { typed: "OOMKilled memory limit", pages: ["guide/troubleshooting", "guide/controller"] },
  { typed: "auto scaling group minimum size", pages: ["guide/migrate"] },
  { typed: "nobody holds the lease", pages: ["guide/doctor", "guide/troubleshooting"] },
  { typed: "subnet has no free addresses", pages: ["guide/doctor", "tasks/private-subnets"] },
  { typed: "clock skew", pages: ["guide/doctor", "explanation/safety"] },
  { typed: "eks pod identity", pages: ["guide/install", "guide/aws", "tasks/harden"] },
  { typed: "node 20 end of life", pages: ["reference/versions"] },
  { typed: "sbom provenance", pages: ["guide/release"] },
  { typed: "change log level to debug", pages: ["guide/install", "guide/controller"] },
  { typed: "run the arm64 image", pages: ["guide/release"] },
  { typed: "difference between presets", pages: ["reference/presets"] },
  {
    typed: "nodepool limits reached",
    pages: ["guide/doctor", "runbooks/pods-and-pools", "tasks/cost"],
  },
  { typed: "remove finalizer by hand", pages: ["guide/uninstall"] },
  { typed: "what can a stolen token do", pages: ["explanation/threat-model"] },
];
