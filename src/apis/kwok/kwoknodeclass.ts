/** The kind KWOKNodeClass of karpenter.kwok.sh/v1alpha1: the class of fake nodes. upstream: kwok/apis/v1alpha1 */
import type { Condition, Kind, KubeObject } from "../meta.ts";

/** A KWOKNodeClass: the node class of nodes that exist only in the API. upstream: kwok/apis/v1alpha1. */
export interface KWOKNodeClass extends KubeObject {
  readonly spec?: {
    /** How long it takes until the Node appears, as a Go duration. */
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

/** The label with the size of the instance type, such as `4x`. */
export const KWOK_INSTANCE_SIZE_LABEL_KEY = "karpenter.kwok.sh/instance-size";
/** The label with the family of the instance type: `c`, `s` or `m`, by the ratio of memory to CPU. */
export const KWOK_INSTANCE_FAMILY_LABEL_KEY = "karpenter.kwok.sh/instance-family";
/** The label with the memory of the instance type. */
export const KWOK_INSTANCE_MEMORY_LABEL_KEY = "karpenter.kwok.sh/instance-memory";
/** The label with the number of CPUs of the instance type. */
export const KWOK_INSTANCE_CPU_LABEL_KEY = "karpenter.kwok.sh/instance-cpu";
