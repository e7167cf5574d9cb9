/**
 * The NodeOverlay kind (v1alpha1): prices and extended resources that replace or extend those of matching instance
 * types.
 */
import type { Kind, KubeObject, ResourceAmounts } from "../meta.ts";
import type { RequirementSpec } from "./nodepool.ts";

/**
 * A NodeOverlay of karpenter.sh/v1alpha1: other prices and additional capacity for instance types.
 * upstream: pkg/apis/v1alpha1/nodeoverlay.go.
 */
export interface NodeOverlay extends KubeObject {
  readonly spec: {
    /** Which instance types the overlay applies to. minValues are not used here. */
    readonly requirements: readonly RequirementSpec[];
    /** A change of the price, such as `+0.5` or `-0.5` (dollars per hour), `+10%` or `-10%` (share of the price). */
    readonly priceAdjustment?: string;
    /** The new price in dollars per hour. Must not be set together with priceAdjustment. */
    readonly price?: string;
    /** Additional capacity; extended resources only. */
    readonly capacity?: ResourceAmounts;
    /** The weight. If several overlays match, the one with the highest weight applies. Absent: 0. */
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
