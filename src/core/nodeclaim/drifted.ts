/**
 * Whether a claim has drifted from its pool. There are three reasons here: the hash of the pool's template changed, the
 * claim no longer satisfies the pool's requirements, or its instance type is no longer offered. The controller checks
 * drift that the cloud reports (`AMIDrift`, …) after these.
 * upstream: pkg/controllers/nodeclaim/disruption/drift.go
 */
import { claimGeneration } from "../../apis/hub/claim.ts";
import { vocabulary } from "../../apis/hub/generation.ts";
import type { Pool } from "../../apis/hub/pool.ts";
import {
  CAPACITY_TYPE_LABEL_KEY,
  HASHED_LIFETIME_ANNOTATION_KEY,
  INSTANCE_TYPE_LABEL_KEY,
  NODEPOOL_HASH_VERSION_ANNOTATION_KEY,
} from "../../apis/karpenter/labels.ts";
import type { NodeClaim } from "../../apis/karpenter/nodeclaim.ts";
import { NODEPOOL_HASH_VERSION, templateHash } from "../../apis/karpenter/nodepool-hash.ts";
import { fromRfc3339 } from "../../base/clock.ts";
import { formatDuration } from "../../base/duration.ts";
import type { InstanceType } from "../cloudprovider/instance-type.ts";
import { isCompatible } from "../cloudprovider/offerings.ts";
import { Requirements } from "../scheduling/requirements.ts";

/** A claim's instance type is first checked at this age. The list of types may be older than a new claim. */
const TYPE_CHECK_AGE_MS = 3_600_000;

const NOTHING_UNDEFINED: ReadonlySet<string> = new Set();

/** The first reason for drift that the pool and the claim alone show. Undefined: there is none. */
export function poolDrift(claim: NodeClaim, pool: Pool): string | undefined {
  if (isStaticallyDrifted(claim, pool))
    return pool.generation === "alpha" ? "ProvisionerDrifted" : "NodePoolDrifted";
  const labels = Requirements.fromLabels(claim.metadata.labels ?? {});
  const wanted = Requirements.fromSpecs(pool.requirements);
  return labels.accepts(wanted, NOTHING_UNDEFINED) ? undefined : "RequirementsDrifted";
}

/**
 * Whether the template of the pool has changed since the claim was created. Hashes of different versions cannot be
 * compared. v1alpha5 has only one version, and no annotation for it.
 */
function isStaticallyDrifted(claim: NodeClaim, pool: Pool): boolean {
  const annotations = claim.metadata.annotations ?? {};
  const version = annotations[NODEPOOL_HASH_VERSION_ANNOTATION_KEY];
  if (pool.generation !== "alpha" && version !== NODEPOOL_HASH_VERSION) return false;
  const hash = annotations[vocabulary(claimGeneration(claim)).hashAnnotation];
  if (hash === undefined || hash === pool.hash) return false;
  return pool.generation !== "beta" || hash !== hashWithLifetimeOf(claim, pool);
}

/**
 * The hash of the pool's template, computed with the lifetime that the claim records instead of the pool's current one.
 * In v1beta1 a changed lifetime is no drift, because nodes follow the current lifetime of their pool.
 * upstream: v0.37 pkg/apis/v1beta1/nodepool.go, Hash() covers spec.template only
 */
function hashWithLifetimeOf({ metadata, spec }: NodeClaim, pool: Pool): string {
  const expireAfter = metadata.annotations?.[HASHED_LIFETIME_ANNOTATION_KEY] ?? spec.expireAfter;
  const { labels, annotations, taints, startupTaints, classRef, terminationGracePeriodMs } = pool;
  const gracePeriod =
    terminationGracePeriodMs === undefined
      ? {}
      : { terminationGracePeriod: formatDuration(terminationGracePeriodMs) };
  const lifetime = expireAfter === undefined ? {} : { expireAfter };
  return templateHash({
    metadata: { labels, annotations },
    spec: { taints, startupTaints, nodeClassRef: classRef, ...gracePeriod, ...lifetime },
  });
}

/**
 * Whether a v1beta1 claim has the current hash of the pool, but records no lifetime or another one than the hash
 * contains. If so, the caller must record the current lifetime. Otherwise the next change of the pool's lifetime would
 * count as drift.
 */
export function lacksHashedLifetime(claim: NodeClaim, pool: Pool): boolean {
  if (pool.generation !== "beta") return false;
  const hash = claim.metadata.annotations?.[vocabulary(pool.generation).hashAnnotation];
  return hash === pool.hash && hash !== hashWithLifetimeOf(claim, pool);
}

/** Whether the claim is old enough for a check of its instance type. */
export function mayCheckType(claim: NodeClaim, nowMs: number): boolean {
  const createdMs = fromRfc3339(claim.metadata.creationTimestamp);
  return createdMs !== undefined && nowMs - createdMs >= TYPE_CHECK_AGE_MS;
}

/** Whether the pool's node class no longer offers the claim's type in the claim's zone and capacity type. */
export function isTypeGone(claim: NodeClaim, types: readonly InstanceType[]): boolean {
  const labels = claim.metadata.labels ?? {};
  const type = types.find(({ name }) => name === labels[INSTANCE_TYPE_LABEL_KEY]);
  if (type === undefined) return true;
  // When a reservation ends, its instance continues to run as on-demand. So the capacity type of a reserved claim is
  // not compared.
  const reserved = labels[CAPACITY_TYPE_LABEL_KEY] === "reserved";
  const required = Requirements.fromLabels(labels);
  const wanted = reserved ? required.without(new Set([CAPACITY_TYPE_LABEL_KEY])) : required;
  return !type.offerings.some(
    (one) =>
      isCompatible(reserved ? { ...one, labels: {} } : one, wanted) &&
      (!reserved || one.capacityType !== "spot"),
  );
}
