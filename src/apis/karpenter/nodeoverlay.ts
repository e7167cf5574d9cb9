/**
 * The NodeOverlay kind (v1alpha1): prices and extended resources that replace or extend those of matching
 * instance types.
 */
import type { Kind, KubeObject, ResourceAmounts } from "../meta.ts";
import type { RequirementSpec } from "./nodepool.ts";

/**
 * karpenter.sh/v1alpha1: other prices and extra capacity for instance types. upstream:
 * pkg/apis/v1alpha1/nodeoverlay.go.
 */
export interface NodeOverlay extends KubeObject {
  readonly spec: {
    /** Requirements without minValues. */
    readonly requirements: readonly RequirementSpec[];
    /** Such as `+0.5` or `-0.5` (dollars an hour), `+10%` or `-10%` (share of the price). */
    readonly priceAdjustment?: string;
    /** Dollars an hour. Must not be set together with priceAdjustment. */
    readonly price?: string;
    /** Extended resources only. */
    readonly capacity?: ResourceAmounts;
    /** The highest weight wins. Absent means 0. */
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
