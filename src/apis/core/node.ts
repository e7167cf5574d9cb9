/** The Node kind. */
import type { Condition, Kind, KubeObject, ResourceAmounts } from "../meta.ts";
import type { TaintEffect } from "./pod.ts";

/**
 * A taint. Pods without a matching toleration are not bound to the node (NoSchedule), or are also evicted (NoExecute).
 */
export interface Taint {
  readonly key: string;
  readonly value?: string;
  readonly effect: TaintEffect;
  readonly timeAdded?: string;
}

/**
 * A Node. `providerID` is the id of its instance, such as `aws:///us-west-2a/i-0123`. Pods can use
 * `status.allocatable`, which is less than `status.capacity`.
 */
export interface Node extends KubeObject {
  readonly spec?: {
    readonly providerID?: string;
    readonly taints?: readonly Taint[];
    readonly unschedulable?: boolean;
    readonly podCIDR?: string;
  };
  readonly status?: {
    readonly capacity?: ResourceAmounts;
    readonly allocatable?: ResourceAmounts;
    readonly conditions?: readonly Condition[];
    readonly addresses?: readonly { readonly type: string; readonly address: string }[];
    readonly nodeInfo?: Readonly<Record<string, string>>;
    readonly [field: string]: unknown;
  };
}

export const NODE: Kind<Node> = {
  group: "",
  version: "v1",
  kind: "Node",
  plural: "nodes",
  namespaced: false,
};

/** Whether the Node's condition Ready is True: its kubelet reports, and pods can start. */
export function isReadyNode({ status }: Node): boolean {
  return status?.conditions?.some((one) => one.type === "Ready" && one.status === "True") === true;
}
