/** What each reason by which instance types fall means, in words: the raw keys are for programs. */
import type { RejectionReason } from "../../core/provisioning/result.ts";

/** Words to put behind a number of instance types: `4 too small for its requests`. */
const REJECTION_WORDS: Readonly<Record<RejectionReason, string>> = {
  taints: "with a taint that it does not tolerate",
  requirements: "outside its node selector or affinity",
  resources: "too small for its requests",
  offerings: "not sold in its zone and capacity type",
  limits: "over the NodePool's limits",
  hostPorts: "with its host port taken",
  topology: "against its topology spread or pod affinity",
  volumes: "that cannot attach its volumes",
  minValues: "with too few values left for minValues",
  noInstanceTypes: "ruled out by the NodePool's own requirements",
};

/** `4 too small for its requests, 8 with its host port taken`. */
export function rejectionText(rejected: Readonly<Record<string, number>>): string {
  return Object.entries(rejected)
    .map(([reason, types]) => `${types} ${REJECTION_WORDS[reason as RejectionReason]}`)
    .join(", ");
}
