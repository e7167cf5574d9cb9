/**
 * The text for every code in an answer. Codes are for programs (`-o json`), texts for people. The tables are
 * complete by type, so a new code needs a text.
 */
import type { HoldKind } from "../../core/answers/hold.ts";
import type { RuledOutBy } from "../../core/answers/launch-choice.ts";
import type { RejectionReason } from "../../core/provisioning/result.ts";

/** Why instance types cannot take a pod. A number stands before the text: `4 too small for its requests`. */
const REJECTIONS: Readonly<Record<RejectionReason, string>> = {
  taints: "with a taint that it does not tolerate",
  requirements: "outside its node selector or affinity",
  resources: "too small for its requests",
  offerings: "not sold in its zone and capacity type",
  limits: "over the NodePool's limits",
  hostPorts: "with its host port taken",
  devices: "without the devices that it claims",
  topology: "against its topology spread or pod affinity",
  volumes: "that cannot attach its volumes",
  minValues: "with too few values left for minValues",
  noInstanceTypes: "ruled out by the NodePool's own requirements",
};

/** Why cheaper instance types were not launched. A number stands before the text. */
const RULED_OUT: Readonly<Record<RuledOutBy, string>> = {
  nodePool: "outside the NodePool's requirements",
  requirements: "outside the NodeClaim's requirements",
  resources: "too small for the NodeClaim's requests",
  pods: "too small for the pods that run there now",
  offerings: "without capacity at the moment",
  other: "also requested, but the cloud launched another",
  later: "not requested at the launch",
};

/**
 * What blocks the disruption of nodes. A number stands before the text: `2 nodes: a PodDisruptionBudget allows no
 * eviction`.
 */
const HOLDS: Readonly<Record<HoldKind, string>> = {
  noNode: "the NodeClaim has no node yet",
  notInitialized: "not initialized yet",
  rebooting: "node repair reboots it",
  leaving: "it is being removed already",
  nominated: "a pending pod is planned on it",
  annotation: "karpenter.sh/do-not-disrupt on the node or its claim",
  noPool: "the NodePool is gone",
  paused: "disruption is paused",
  otherProvider: "another provider serves the NodePool",
  pod: "karpenter.sh/do-not-disrupt on a pod",
  pdb: "a PodDisruptionBudget allows no eviction",
  noPlace: "a pod would fit nowhere else",
  noGain: "no cheaper node would fit its pods",
  tooMany: "more than one node would have to replace it",
  backingOff: "the last replacement failed, and the NodePool waits",
  restraint: "it would save too little, or its pods moved within the last hour",
  balanced: "the savings do not outweigh the disruption",
  command: "a disruption command is under way",
  static: "the NodePool keeps a fixed number of nodes",
  policy: "the NodePool's policy",
  consolidateAfter: "a pod was added or removed within consolidateAfter",
  budget: "disruption budgets allow no disruption now",
};

/** All tables, for the test that checks them. */
export const CODE_WORDS = { rejections: REJECTIONS, ruledOut: RULED_OUT, holds: HOLDS } as const;

/** Counts with their texts: `4 too small for its requests, 8 with its host port taken`. */
export function rejectionText(rejected: Readonly<Record<string, number>>): string {
  return countsText(rejected, REJECTIONS);
}

/** Counts with their texts: `2 outside the NodePool's requirements`. */
export function ruledOutText(cheaper: Readonly<Partial<Record<RuledOutBy, number>>>): string {
  return countsText(cheaper, RULED_OUT);
}

/** The text for what blocks a node, after a number and a colon. */
export function holdWords(kind: HoldKind): string {
  return HOLDS[kind];
}

function countsText(
  counts: Readonly<Record<string, number>>,
  words: Readonly<Record<string, string>>,
): string {
  return Object.entries(counts)
    .map(([code, count]) => `${count} ${words[code]}`)
    .join(", ");
}
