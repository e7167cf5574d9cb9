/** KWOKNodeClass, karpenter.kwok.sh/v1alpha1: the class of fake nodes. upstream: kwok/apis/v1alpha1 */
import type { Condition, Kind, KubeObject } from "../meta.ts";

/** karpenter.kwok.sh/v1alpha1: the node class of nodes that exist only in the API. upstream: kwok/apis/v1alpha1. */
export interface KWOKNodeClass extends KubeObject {
  readonly spec?: {
    /** A Go duration: how long the Node waits before it shows up. */
    readonly nodeRegistrationDelay?: string;
  };
  readonly status?: { readonly conditions?: readonly Condition[] };
}

export const KWOK_NODE_CLASS: Kind<KWOKNodeClass> = {
  group: "karpenter.kwok.sh",
  version: "v1alpha1",
  kind: "KWOKNodeClass",
  plural: "kwoknodeclasses",
  namespaced: false,
};

/** Such as `4x`. */
export const KWOK_INSTANCE_SIZE_LABEL_KEY = "karpenter.kwok.sh/instance-size";
/** `c`, `s` or `m`: by the ratio of memory to CPU. */
export const KWOK_INSTANCE_FAMILY_LABEL_KEY = "karpenter.kwok.sh/instance-family";
/** Memory of the type. */
export const KWOK_INSTANCE_MEMORY_LABEL_KEY = "karpenter.kwok.sh/instance-memory";
/** Number of CPUs. */
export const KWOK_INSTANCE_CPU_LABEL_KEY = "karpenter.kwok.sh/instance-cpu";
