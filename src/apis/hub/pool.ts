/**
 * The common form of a NodePool or Provisioner: flat and parsed, so that no decision depends on the API version. It has
 * all settings of v1 and some of v1alpha5. `toPool` creates it.
 */
import type { NillableMs } from "../../base/duration.ts";
import type { Taint } from "../core/node.ts";
import type { Budget, NodeClassReference, RequirementSpec } from "../karpenter/nodepool.ts";
import type { Kind } from "../meta.ts";
import type { Resources } from "../resources.ts";
import type { Generation } from "./generation.ts";
import type { PoolReturns } from "./returns.ts";

/** The disruption settings of a pool. Durations are text as in the API, including `Never`. */
export interface PoolDisruption {
  /**
   * Which nodes consolidation may remove. `none`: a v1alpha5 pool with neither consolidation nor ttlSecondsAfterEmpty.
   */
  readonly policy: "none" | "WhenEmpty" | "WhenEmptyOrUnderutilized" | "Balanced";
  readonly consolidateAfter: NillableMs;
  /**
   * Lifetime of the pool's claims. If `expireMode` is `voluntary`, expiration respects budgets and launches
   * replacements first.
   */
  readonly expireAfter: NillableMs;
  readonly expireMode: "voluntary" | "forceful";
  readonly budgets: readonly Budget[];
}

/** A NodePool or Provisioner in the flat form that decisions read. */
export interface Pool {
  readonly generation: Generation;
  /** An id that is unique among the pools of all API versions: `nodepool/default`, `provisioner/default`. */
  readonly id: string;
  readonly name: string;
  readonly uid: string;
  /** `metadata.generation` of the stored object. */
  readonly observedGeneration: number;
  readonly deleting: boolean;
  /**
   * Whether the condition Ready is True, or the API version has no such condition. A pool that is not ready launches
   * nothing.
   */
  readonly ready: boolean;
  /** Fields of the stored object with a wrong type. Absent: there are none. A pool with such fields is never ready. */
  readonly unreadable?: string;
  /** Labels and annotations of the template, without Karpenter's own. */
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  readonly taints: readonly Taint[];
  readonly startupTaints: readonly Taint[];
  readonly requirements: readonly RequirementSpec[];
  readonly classRef: NodeClassReference;
  /** Kubelet settings of v1alpha5 and v1beta1 pools, as written. In v1 they are in the class. */
  readonly kubelet: Readonly<Record<string, unknown>> | undefined;
  /** A v1alpha5 pool's inline `spec.provider`, as written. */
  readonly inlineProvider: Readonly<Record<string, unknown>> | undefined;
  /** Limits by resource. A resource without an entry is unlimited; `nodes` limits the number of nodes. */
  readonly limits: Resources;
  readonly weight: number;
  readonly replicas: number | undefined;
  readonly disruption: PoolDisruption;
  readonly terminationGracePeriodMs: number | undefined;
  /** Which nodes are replaced when preferred capacity is available again. Absent: none. */
  readonly returns?: PoolReturns | undefined;
  /** Hash of the template's fields that cause static drift. A claim with another hash has drifted. */
  readonly hash: string;
}

/**
 * Whether the pool's node class is one of these kinds. Pools with other kinds belong to other providers and are
 * ignored.
 */
export function isOfClassKinds(
  { classRef: { group, kind } }: Pick<Pool, "classRef">,
  kinds: readonly Pick<Kind, "group" | "kind">[],
): boolean {
  return kinds.some((one) => one.group === group && one.kind === kind);
}
