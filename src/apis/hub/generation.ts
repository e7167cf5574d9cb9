/**
 * The three API generations, and their different names for the same things. Decisions use one form, the v1
 * form ("hub"). Writes use the names of the object's own generation.
 */

/**
 * `alpha` is Provisioner/Machine (v1alpha5). `beta` and `v1` are NodePool/NodeClaim, by the version that
 * wrote the spec last.
 */
export type Generation = "alpha" | "beta" | "v1";

/** The names of one generation, as upstream's release of that generation has them. */
export interface Vocabulary {
  readonly generation: Generation;
  /** The label on claims and nodes with the name of the owner pool. */
  readonly ownerLabel: "karpenter.sh/provisioner-name" | "karpenter.sh/nodepool";
  /** The annotation with the pool's static hash. */
  readonly hashAnnotation: "karpenter.sh/provisioner-hash" | "karpenter.sh/nodepool-hash";
  /** How a node is cordoned before it is drained. */
  readonly cordon:
    | { readonly by: "unschedulable" }
    | { readonly by: "taint"; readonly key: string; readonly value?: string };
  /** Nouns in log lines and events: `machine` or `nodeclaim`, `provisioner` or `nodepool`. */
  readonly claimNoun: "machine" | "nodeclaim";
  readonly poolNoun: "provisioner" | "nodepool";
  /** Kinds in events, and field names in v1 logs. */
  readonly claimKind: "Machine" | "NodeClaim";
  readonly poolKind: "Provisioner" | "NodePool";
  /** First word of disruption event reasons: `DeprovisioningBlocked`, `DisruptionBlocked`. */
  readonly disruptionPrefix: "Deprovisioning" | "Disruption";
}

const ALPHA: Vocabulary = {
  generation: "alpha",
  ownerLabel: "karpenter.sh/provisioner-name",
  hashAnnotation: "karpenter.sh/provisioner-hash",
  cordon: { by: "unschedulable" },
  claimNoun: "machine",
  poolNoun: "provisioner",
  claimKind: "Machine",
  poolKind: "Provisioner",
  disruptionPrefix: "Deprovisioning",
};

const BETA: Vocabulary = {
  generation: "beta",
  ownerLabel: "karpenter.sh/nodepool",
  hashAnnotation: "karpenter.sh/nodepool-hash",
  cordon: { by: "taint", key: "karpenter.sh/disruption", value: "disrupting" },
  claimNoun: "nodeclaim",
  poolNoun: "nodepool",
  claimKind: "NodeClaim",
  poolKind: "NodePool",
  disruptionPrefix: "Disruption",
};

const V1: Vocabulary = {
  ...BETA,
  generation: "v1",
  cordon: { by: "taint", key: "karpenter.sh/disrupted" },
};

/** Names of kinds, labels, taints and fields in this generation. */
export function vocabulary(generation: Generation): Vocabulary {
  if (generation === "alpha") return ALPHA;
  return generation === "beta" ? BETA : V1;
}
