/**
 * The hub form of a pool: what the deciding code knows of a NodePool or a Provisioner. A superset of
 * v1, flat and parsed, so that no decision asks which generation it serves. Made by `toPool`.
 */
import type { NillableMs } from "../../base/duration.ts";
import type { Taint } from "../core/node.ts";
import type { Budget, NodeClassReference, RequirementSpec } from "../karpenter/nodepool.ts";
import type { Kind } from "../meta.ts";
import type { Resources } from "../resources.ts";
import type { Generation } from "./generation.ts";
import type { PoolReturns } from "./returns.ts";

/** The disruption settings of a pool. Durations are texts as in the API, `Never` included. */
export interface PoolDisruption {
  /** `none`: an alpha pool with neither consolidation nor ttlSecondsAfterEmpty. */
  readonly policy: "none" | "WhenEmpty" | "WhenEmptyOrUnderutilized" | "Balanced";
  readonly consolidateAfter: NillableMs;
  /** Lifetime of the pool's claims. `voluntary` respects budgets and replaces first. */
  readonly expireAfter: NillableMs;
  readonly expireMode: "voluntary" | "forceful";
  readonly budgets: readonly Budget[];
}

/** A NodePool or Provisioner in one flat shape: what decisions read. */
export interface Pool {
  readonly generation: Generation;
  /** Unique over generations: `nodepool/default`, `provisioner/default`. */
  readonly id: string;
  readonly name: string;
  readonly uid: string;
  /** metadata.generation of the source object. */
  readonly observedGeneration: number;
  readonly deleting: boolean;
  /** Ready=True (or a generation without that condition). Other pools launch nothing. */
  readonly ready: boolean;
  /** Fields of the stored object with a wrong type. Such a pool is never ready. */
  readonly unreadable?: string;
  /** Template labels and annotations for claims and nodes, without Karpenter's own. */
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  readonly taints: readonly Taint[];
  readonly startupTaints: readonly Taint[];
  readonly requirements: readonly RequirementSpec[];
  readonly classRef: NodeClassReference;
  /** Kubelet settings of alpha and beta pools, as written; v1 has them on the class. */
  readonly kubelet: Readonly<Record<string, unknown>> | undefined;
  /** An alpha pool's inline `spec.provider`, as written. */
  readonly inlineProvider: Readonly<Record<string, unknown>> | undefined;
  /** Absent names are unlimited. `nodes` counts nodes. */
  readonly limits: Resources;
  readonly weight: number;
  readonly replicas: number | undefined;
  readonly disruption: PoolDisruption;
  readonly terminationGracePeriodMs: number | undefined;
  /** Which nodes go back to what is preferred; absent: none. */
  readonly returns?: PoolReturns | undefined;
  /** Static hash of the template: a claim stamped with another one has drifted. */
  readonly hash: string;
}

/** Whether the pool's node class is of one of these kinds; others are another provider's, and left alone. */
export function isOfClassKinds(
  { classRef: { group, kind } }: Pick<Pool, "classRef">,
  kinds: readonly Pick<Kind, "group" | "kind">[],
): boolean {
  return kinds.some((one) => one.group === group && one.kind === kind);
}
