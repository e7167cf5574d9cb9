/**
 * The three API generations that live side by side, and the words each uses for the same thing.
 * v1 is the hub: decisions see one form, and what is written back goes out in the words of the
 * object's own generation.
 */

/** `alpha` = Provisioner/Machine (v1alpha5), `beta` and `v1` = NodePool/NodeClaim by last spec writer. */
export type Generation = "alpha" | "beta" | "v1";

/** The words of one generation. Wire strings equal upstream's at the release that spoke it. */
export interface Vocabulary {
  readonly generation: Generation;
  /** The label on claims and nodes that names the owner pool. */
  readonly ownerLabel: "karpenter.sh/provisioner-name" | "karpenter.sh/nodepool";
  /** The annotation that carries the pool's static hash. */
  readonly hashAnnotation: "karpenter.sh/provisioner-hash" | "karpenter.sh/nodepool-hash";
  /** How a node leaving service is closed to new pods. */
  readonly cordon:
    | { readonly by: "unschedulable" }
    | { readonly by: "taint"; readonly key: string; readonly value?: string };
  /** `machine` or `nodeclaim`; `provisioner` or `nodepool`: nouns of log lines and events. */
  readonly claimNoun: "machine" | "nodeclaim";
  readonly poolNoun: "provisioner" | "nodepool";
  /** `Machine`/`Provisioner` or `NodeClaim`/`NodePool`: field names of v1 logs, kinds of events. */
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
