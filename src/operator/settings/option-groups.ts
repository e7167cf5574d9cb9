/** The group of each setting in `controller --help`, by the prefix of its flag. Settings without effect are last. */
import type { OptionDefinition } from "./option-definition.ts";

/** Groups and the flags in them. The first matching pattern decides. */
const BY_FLAG: readonly (readonly [group: string, flags: RegExp])[] = [
  [
    "Cluster and AWS account",
    /^(cluster-|isolated-vpc|eks-|interruption-queue|default-instance-profile|aws-tags|enable-quota)/,
  ],
  [
    "Nodes and instance types",
    /^(vm-memory|reserved-enis|eni-|pod-eni|disable-dry-run|enable-zonal|ami-|subnet-|security-group-)/,
  ],
  [
    "Scheduling",
    /^(preset$|read-vpa|batch-|preference-|min-values-|scheduler-config|planner-|ignore-dra)/,
  ],
  [
    "Disruption",
    /^(consolidation-|disruption-|involuntary-|pause-|expiration-|initialization-|surge-|act-on-|alpha-drift|legacy-node-repair)/,
  ],
  ["Feature gates", /feature-gates$/],
  ["Webhooks", /^(webhook-|disable-webhook|karpenter-service)/],
  [
    "Process, leader election and logs",
    /^(observe-only|metrics-|health-|console-|kube-client|enable-prof|disable-|leader-|memory-|cpu-|log-|config-logging-|facts-)/,
  ],
];

/** The last group. Exported for tests. */
export const NOT_ACTED_ON_GROUP = "Accepted, but not acted on";
/** The group of flags that match no pattern; a test checks that there are none. Exported for tests. */
export const OTHER_GROUP = "Other";

/** The groups in the order in which help shows them. */
export const OPTION_GROUPS: readonly string[] = [
  ...BY_FLAG.map(([group]) => group),
  OTHER_GROUP,
  NOT_ACTED_ON_GROUP,
];

/** The group of the setting. A setting of which only a part has an effect is in the group of its topic. */
export function optionGroup({ flag, notActedOn }: OptionDefinition): string {
  if (notActedOn !== undefined && !flag.endsWith("feature-gates")) return NOT_ACTED_ON_GROUP;
  return BY_FLAG.find(([, flags]) => flags.test(flag))?.[0] ?? OTHER_GROUP;
}
