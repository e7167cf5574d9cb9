/**
 * Which nodes of a pool go back to what is preferred once that can be had again: an annotation on the pool, for
 * karpenter-ts only.
 */
import { RETURN_TO_PREFERRED_ANNOTATION_KEY } from "../karpenter/labels.ts";
import type { KubeObject } from "../meta.ts";

/** What a pool asks for. */
export interface PoolReturns {
  /** To a pool of higher weight. */
  readonly nodePool: boolean;
  /** From on-demand to spot, and from either into a reservation, where the pool allows both. */
  readonly capacityType: boolean;
  /** Also where that costs more. */
  readonly dearer: boolean;
}

/** Words by comma: `nodepool`, `capacity-type`, `dearer`. Undefined: nothing is asked for. */
export function returnsOf({ metadata }: KubeObject): PoolReturns | undefined {
  const text = metadata.annotations?.[RETURN_TO_PREFERRED_ANNOTATION_KEY] ?? "";
  const words = new Set(text.split(",").map((word) => word.trim().toLowerCase()));
  const returns = {
    nodePool: words.has("nodepool"),
    capacityType: words.has("capacity-type"),
    dearer: words.has("dearer"),
  };
  return returns.nodePool || returns.capacityType ? returns : undefined;
}
