/** Roles of rbac.authorization.k8s.io/v1. */
import type { Kind, KubeObject, LabelSelector } from "../meta.ts";

/** A rule that grants the verbs on the resources. Without `resourceNames` it applies to all objects. */
export interface PolicyRule {
  readonly verbs: readonly string[];
  readonly apiGroups?: readonly string[];
  readonly resources?: readonly string[];
  readonly resourceNames?: readonly string[];
  readonly nonResourceURLs?: readonly string[];
}

/** A ClusterRole. Also used for a Role, which has no aggregationRule. */
export interface ClusterRole extends KubeObject {
  /** Rules. Programs written in Go write null for an empty list. */
  readonly rules?: readonly PolicyRule[] | null;
  /** If set, the rules are copied from the roles that any of these selectors matches. */
  readonly aggregationRule?: { readonly clusterRoleSelectors?: readonly LabelSelector[] };
}

export const CLUSTER_ROLE: Kind<ClusterRole> = {
  group: "rbac.authorization.k8s.io",
  version: "v1",
  kind: "ClusterRole",
  plural: "clusterroles",
  namespaced: false,
};
