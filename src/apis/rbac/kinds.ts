/** Roles, as those read them who judge by them and who put them together. Shapes: rbac.authorization.k8s.io/v1. */
import type { Kind, KubeObject, LabelSelector } from "../meta.ts";

/** Grants the verbs on the resources. Without `resourceNames` it covers all objects. */
export interface PolicyRule {
  readonly verbs: readonly string[];
  readonly apiGroups?: readonly string[];
  readonly resources?: readonly string[];
  readonly resourceNames?: readonly string[];
  readonly nonResourceURLs?: readonly string[];
}

/** A Role of a namespace looks the same, but for the last field. */
export interface ClusterRole extends KubeObject {
  /** Go writes null for none. */
  readonly rules?: readonly PolicyRule[] | null;
  /** The rules are copied from the roles that any of these selectors matches. */
  readonly aggregationRule?: { readonly clusterRoleSelectors?: readonly LabelSelector[] };
}

export const CLUSTER_ROLE: Kind<ClusterRole> = {
  group: "rbac.authorization.k8s.io",
  version: "v1",
  kind: "ClusterRole",
  plural: "clusterroles",
  namespaced: false,
};
