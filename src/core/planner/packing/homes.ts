/** Pods that are to be packed, class by class: where each would go if it were alone. */
import type { PodClass, Variant } from "../../provisioning/batch/pod-class.ts";
import type { QueuedPod } from "../../provisioning/batch/queue.ts";
import type { Template } from "../../provisioning/pools/pool-template.ts";
import type { SetId } from "../../scheduling/requirement-space.ts";

/** Pods of one class that wait. */
export interface Waiting {
  readonly podClass: PodClass;
  /** Wishes given up already because no pool's node could ever meet them. */
  readonly step: number;
  readonly variant: Variant;
  readonly items: QueuedPod[];
  /** How much the engine has to ask before such a pod may go somewhere. */
  readonly hardness: number;
}

/** One value of a label that pods are spread by. */
export interface Domain {
  readonly key: string;
  readonly value: string;
}

/** Where a class would go if it were alone: the pool, and what the node must be. */
export interface Home {
  readonly template: Template;
  readonly set: SetId;
  /** Of what the pods are spread over: where these go. */
  readonly domain?: Domain;
  readonly waiting: Waiting;
}
