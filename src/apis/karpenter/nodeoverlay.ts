/**
 * The NodeOverlay kind (v1alpha1): prices and extended resources that the cloud does not tell, laid over
 * the instance types that match.
 */
import type { Kind, KubeObject, ResourceAmounts } from "../meta.ts";
import type { RequirementSpec } from "./nodepool.ts";

/**
 * karpenter.sh/v1alpha1: other prices and extra capacity for instance types. upstream:
 * pkg/apis/v1alpha1/nodeoverlay.go.
 */
export interface NodeOverlay extends KubeObject {
  readonly spec: {
    /** Without minValues. */
    readonly requirements: readonly RequirementSpec[];
    /** `+0.5`, `-0.5`, `+10%`, `-10%`: dollars an hour, or a share of the price. */
    readonly priceAdjustment?: string;
    /** Dollars an hour. Not with priceAdjustment. */
    readonly price?: string;
    /** Extended resources only. */
    readonly capacity?: ResourceAmounts;
    /** The heaviest wins; absent = 0. */
    readonly weight?: number;
  };
}

export const NODE_OVERLAY: Kind<NodeOverlay> = {
  group: "karpenter.sh",
  version: "v1alpha1",
  kind: "NodeOverlay",
  plural: "nodeoverlays",
  namespaced: false,
};
