/** Pods to be packed, by class. All pods of a class have the same requests, requirements and rules. */
import type { PodClass, Variant } from "../../provisioning/batch/pod-class.ts";
import type { QueuedPod } from "../../provisioning/batch/queue.ts";
import type { Template } from "../../provisioning/pools/pool-template.ts";
import type { SetId } from "../../scheduling/requirement-space.ts";

/** Pods of one class. If the class is divided over zones, only its pods for one zone. */
export interface ClassPods {
  readonly podClass: PodClass;
  /** The number of preferences that these pods give up, because no NodePool has nodes that meet them. */
  readonly step: number;
  /** The class without these preferences. */
  readonly variant: Variant;
  /** The pods that are not placed yet. A pod is removed when it is placed. */
  readonly items: QueuedPod[];
  /** How much the rules between pods restrict where these pods may go: a weighted number of rules. */
  readonly hardness: number;
}

/** One value of a topology label, such as one zone. */
export interface Domain {
  readonly key: string;
  readonly value: string;
}

/** Pods of one class, and the nodes that they are packed for. */
export interface ClassDemand {
  /** The NodePool. */
  readonly template: Template;
  /** The requirements of the NodePool and of the pods together. */
  readonly set: SetId;
  /** The domain of these pods, if topology spread divides the class over domains. */
  readonly domain?: Domain;
  readonly pods: ClassPods;
}
