/** Why an existing node refuses a pod: the stage of the check, and the object that causes the refusal. */
import type { HostPort } from "../../../apis/core/host-ports.ts";
import type { Taint } from "../../../apis/core/node.ts";
import type { Requirement } from "../../scheduling/requirement.ts";
import type { Requirements } from "../../scheduling/requirements.ts";
import type { RejectionReason } from "../result.ts";
import type { TopologyRule } from "../topology/topology-group.ts";

/**
 * The result of a check. `notNow`: the node may take the pod later in the pass. `never`: the node refuses all pods of
 * this class (equal pods) with these preferences for the rest of the pass.
 */
export type FitVerdict = "yes" | "notNow" | "never";

/** The node has less of the resource left than the pod requests. */
export interface ShortResource {
  readonly stage: "resources";
  readonly resource: string;
  readonly requested: number;
  readonly left: number;
}

export type NodeRefusal =
  | ShortResource
  | { readonly stage: "taints"; readonly taint: Taint }
  | { readonly stage: "requirements"; readonly requirement: Requirement }
  /** The node is in none of the places where the pod's volumes can be reached. */
  | { readonly stage: "volumes"; readonly places: readonly Requirements[] }
  /** A pod on the node, or a DaemonSet pod that will run there, uses this host port of the pod. */
  | { readonly stage: "hostPorts"; readonly port: HostPort }
  /** The node cannot attach enough volumes of these CSI drivers. */
  | { readonly stage: "attachSlots"; readonly drivers: readonly string[] }
  /** The node does not have the devices that the pod claims. */
  | { readonly stage: "devices"; readonly why: string }
  | { readonly stage: "topology"; readonly rule: TopologyRule };

/** The reason of a refusal, by the name that plans report. */
export function reasonOf({ stage }: NodeRefusal): RejectionReason {
  return stage === "attachSlots" ? "volumes" : stage;
}
