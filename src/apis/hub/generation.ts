/**
 * The three groups of API versions ("generations"), and their different names for the same things. Decisions use one
 * form, that of v1 (the "hub" form). Writes use the names of the object's own version.
 */

/**
 * A generation of the API. `alpha`: Provisioner and Machine (v1alpha5). `beta` and `v1`: NodePool and NodeClaim, by the
 * version that last wrote the spec.
 */
export type Generation = "alpha" | "beta" | "v1";

/** The names that one generation uses, taken from upstream's release of that generation. */
export interface Vocabulary {
  readonly generation: Generation;
  /** The label on claims and nodes with the name of their pool. */
  readonly ownerLabel: "karpenter.sh/provisioner-name" | "karpenter.sh/nodepool";
  /** The annotation with the hash of the pool's fields that cause static drift. */
  readonly hashAnnotation: "karpenter.sh/provisioner-hash" | "karpenter.sh/nodepool-hash";
  /** How a node is cordoned before it is drained. */
  readonly cordon:
    | { readonly by: "unschedulable" }
    | { readonly by: "taint"; readonly key: string; readonly value?: string };
  /** Nouns in log lines and events: `machine` or `nodeclaim`, `provisioner` or `nodepool`. */
  readonly claimNoun: "machine" | "nodeclaim";
  readonly poolNoun: "provisioner" | "nodepool";
  /** Kinds in events, and names of fields in v1's log. */
  readonly claimKind: "Machine" | "NodeClaim";
  readonly poolKind: "Provisioner" | "NodePool";
  /** First word of disruption event reasons, as in `DeprovisioningBlocked` and `DisruptionBlocked`. */
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

/** The names that this generation uses for kinds, labels, taints and fields. */
export function vocabulary(generation: Generation): Vocabulary {
  if (generation === "alpha") return ALPHA;
  return generation === "beta" ? BETA : V1;
}
