/**
 * Whether a claim is no longer what its pool asks for: by the hash of the template it was made from, by
 * the pool's requirements, or because its instance type is not offered any more. The cloud's own reasons
 * (`AMIDrift`, …) are asked for after these. upstream: pkg/controllers/nodeclaim/disruption/drift.go
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

/** A new claim's type may be missing from a list that was read before it was launched. */
const TYPE_CHECK_AGE_MS = 3_600_000;

const NOTHING_UNDEFINED: ReadonlySet<string> = new Set();

/** Drift that pool and claim alone show; the first reason found. */
export function poolDrift(claim: NodeClaim, pool: Pool): string | undefined {
  if (isStaticallyDrifted(claim, pool))
    return pool.generation === "alpha" ? "ProvisionerDrifted" : "NodePoolDrifted";
  const labels = Requirements.fromLabels(claim.metadata.labels ?? {});
  const wanted = Requirements.fromSpecs(pool.requirements);
  return labels.accepts(wanted, NOTHING_UNDEFINED) ? undefined : "RequirementsDrifted";
}

/** Hashes of different recipes say nothing about each other. Alpha has one recipe and no version. */
function isStaticallyDrifted(claim: NodeClaim, pool: Pool): boolean {
  const annotations = claim.metadata.annotations ?? {};
  const version = annotations[NODEPOOL_HASH_VERSION_ANNOTATION_KEY];
  if (pool.generation !== "alpha" && version !== NODEPOOL_HASH_VERSION) return false;
  const hash = annotations[vocabulary(claimGeneration(claim)).hashAnnotation];
  if (hash === undefined || hash === pool.hash) return false;
  return pool.generation !== "beta" || hash !== hashWithLifetimeOf(claim, pool);
}

/**
 * The pool's hash if its claims were to live as long as when this one's hash was made. In v1beta1 the lifetime is
 * no part of the template: nodes live by their pool's, whatever it was before, and none is replaced when
 * it changes. upstream: v0.37 pkg/apis/v1beta1/nodepool.go, Hash() is that of spec.template alone
 */
function hashWithLifetimeOf({ metadata, spec }: NodeClaim, pool: Pool): string {
  const expireAfter = metadata.annotations?.[HASHED_LIFETIME_ANNOTATION_KEY] ?? spec.expireAfter;
  const { labels, annotations, taints, startupTaints, classRef, terminationGracePeriodMs } = pool;
  const patience =
    terminationGracePeriodMs === undefined
      ? {}
      : { terminationGracePeriod: formatDuration(terminationGracePeriodMs) };
  const lifetime = expireAfter === undefined ? {} : { expireAfter };
  return templateHash({
    metadata: { labels, annotations },
    spec: { taints, startupTaints, nodeClassRef: classRef, ...patience, ...lifetime },
  });
}

/**
 * Whether a claim of a beta pool has the pool's hash, but does not tell by which lifetime: one that was taken over, whose
 * own lifetime conversion made up. Unless it is written down now, the next change of it would be drift.
 */
export function lacksHashedLifetime(claim: NodeClaim, pool: Pool): boolean {
  if (pool.generation !== "beta") return false;
  const hash = claim.metadata.annotations?.[vocabulary(pool.generation).hashAnnotation];
  return hash === pool.hash && hash !== hashWithLifetimeOf(claim, pool);
}

export function mayCheckType(claim: NodeClaim, nowMs: number): boolean {
  const createdMs = fromRfc3339(claim.metadata.creationTimestamp);
  return createdMs !== undefined && nowMs - createdMs >= TYPE_CHECK_AGE_MS;
}

/** Whether the pool's class offers the claim's type no more, in the claim's zone and capacity type. */
export function isTypeGone(claim: NodeClaim, types: readonly InstanceType[]): boolean {
  const labels = claim.metadata.labels ?? {};
  const type = types.find(({ name }) => name === labels[INSTANCE_TYPE_LABEL_KEY]);
  if (type === undefined) return true;
  // A reservation that ran out leaves its machine running as an ordinary one.
  const reserved = labels[CAPACITY_TYPE_LABEL_KEY] === "reserved";
  const required = Requirements.fromLabels(labels);
  const wanted = reserved ? required.without(new Set([CAPACITY_TYPE_LABEL_KEY])) : required;
  return !type.offerings.some(
    (one) =>
      isCompatible(reserved ? { ...one, labels: {} } : one, wanted) &&
      (!reserved || one.capacityType !== "spot"),
  );
}
