/**
 * Builds the NodeClaim (or, for a Provisioner, the Machine) that is created from a planned node.
 * upstream: pkg/controllers/provisioning/scheduling/nodeclaimtemplate.go
 */
import { claimHead, fromClaim, withClaimKubelet } from "../../apis/hub/claim.ts";
import { vocabulary } from "../../apis/hub/generation.ts";
import type { Pool } from "../../apis/hub/pool.ts";
import { poolKind } from "../../apis/hub/to-pool.ts";
import {
  CAPACITY_OVERLAY_APPLIED_ANNOTATION_KEY,
  CAPACITY_TYPE_LABEL_KEY,
  GENERATION_ANNOTATION_KEY,
  INSTANCE_TYPE_LABEL_KEY,
  isRestrictedNodeLabel,
  MAX_RUN_DURATION_KEY,
  NODECLAIM_MIN_VALUES_RELAXED_ANNOTATION_KEY,
  NODEPOOL_HASH_VERSION_ANNOTATION_KEY,
  nodeClassLabelKey,
  PRICE_OVERLAY_APPLIED_ANNOTATION_KEY,
  PROVIDER_COMPATIBILITY_ANNOTATION_KEY,
  REQUESTED_DRA_DRIVERS_ANNOTATION_KEY,
} from "../../apis/karpenter/labels.ts";
import type { NodeClaim } from "../../apis/karpenter/nodeclaim.ts";
import type { RequirementSpec } from "../../apis/karpenter/nodepool.ts";
import { NODEPOOL_HASH_VERSION } from "../../apis/karpenter/nodepool-hash.ts";
import { apiVersionOf, type KubeObject } from "../../apis/meta.ts";
import { formatResources } from "../../apis/resources.ts";
import { formatDuration } from "../../base/duration.ts";
import { usableOfferings } from "../cloudprovider/offerings.ts";
import { allowsAbsence, anyValue } from "../scheduling/requirement.ts";
import { Requirements } from "../scheduling/requirements.ts";
import { plannedPodsAnnotation } from "../state/planned-pods.ts";
import type { PlannedClaim } from "./result.ts";

/** The API server cuts a generated name to this many characters and appends five random letters. */
const MAX_NAME_STEM = 58;

/** The object to create, in the API version of its pool, named `<pool>-<nameSuffix>`, without a finalizer. */
export function claimManifest(planned: PlannedClaim, nameSuffix: string): KubeObject {
  const { pool } = planned;
  const kind = poolKind(pool);
  const generateName = `${pool.name}-`;
  const { expireAfter } = pool.disruption;
  const claim: NodeClaim = {
    ...claimHead(pool.generation),
    metadata: {
      name: `${generateName.slice(0, MAX_NAME_STEM)}${nameSuffix}`,
      generateName,
      labels: claimLabels(planned),
      annotations: claimAnnotations(planned),
      ownerReferences: [
        {
          apiVersion: apiVersionOf(kind),
          kind: kind.kind,
          name: pool.name,
          uid: pool.uid,
          blockOwnerDeletion: true,
        },
      ],
    },
    spec: {
      ...(pool.taints.length > 0 ? { taints: pool.taints } : {}),
      ...(pool.startupTaints.length > 0 ? { startupTaints: pool.startupTaints } : {}),
      requirements: claimRequirements(planned),
      resources: { requests: formatResources(planned.requests) },
      nodeClassRef: pool.classRef,
      expireAfter: expireAfter === "Never" ? expireAfter : shortDuration(expireAfter),
      ...(pool.terminationGracePeriodMs === undefined
        ? {}
        : { terminationGracePeriod: formatDuration(pool.terminationGracePeriodMs) }),
    },
  };
  return fromClaim(withClaimKubelet(claim, pool.kubelet));
}

/** The duration in the form that the CRD accepts, without trailing zero units: `720h`, not `720h0m0s`. */
function shortDuration(ms: number): string {
  return formatDuration(ms)
    .replace(/(?<=[hm])0s$/, "")
    .replace(/(?<=h)0m$/, "");
}

/** Labels that every node of the pool has, whatever instance is launched. They are also requirements of the pool. */
export function poolLabels(pool: Pool): Record<string, string> {
  const { generation, classRef } = pool;
  const named = generation !== "alpha" && classRef.name !== "";
  return {
    ...pool.labels,
    [vocabulary(generation).ownerLabel]: pool.name,
    ...(named ? { [nodeClassLabelKey(classRef)]: classRef.name } : {}),
  };
}

/**
 * Labels for keys that users defined and the pool or its pods require, each with the lowest allowed value. The launched
 * instance sets well-known labels. A requirement that only excludes values needs no label.
 */
function claimLabels(planned: PlannedClaim): Record<string, string> {
  const labels: Record<string, string> = {};
  const catalogue = new Set(planned.instanceTypes.flatMap((type) => Object.keys(type.labels)));
  for (const requirement of Requirements.fromSpecs(planned.requirements).all()) {
    if (catalogue.has(requirement.key) || isRestrictedNodeLabel(requirement.key)) continue;
    const value = allowsAbsence(requirement) ? undefined : anyValue(requirement);
    if (value !== undefined) labels[requirement.key] = value;
  }
  const { maxRunMs } = planned;
  const ends = maxRunMs === undefined ? {} : { [MAX_RUN_DURATION_KEY]: shortDuration(maxRunMs) };
  return { ...labels, ...poolLabels(planned.pool), ...ends };
}

function claimAnnotations(planned: PlannedClaim): Record<string, string> {
  const { pool } = planned;
  const annotations: Record<string, string> = {
    ...pool.annotations,
    ...plannedPodsAnnotation(planned.pods),
    [vocabulary(pool.generation).hashAnnotation]: pool.hash,
  };
  if (pool.generation === "alpha") {
    if (pool.inlineProvider !== undefined) {
      annotations[PROVIDER_COMPATIBILITY_ANNOTATION_KEY] = JSON.stringify(pool.inlineProvider);
    }
    return annotations;
  }
  annotations[NODEPOOL_HASH_VERSION_ANNOTATION_KEY] = NODEPOOL_HASH_VERSION;
  annotations[NODECLAIM_MIN_VALUES_RELAXED_ANNOTATION_KEY] = String(planned.minValuesRelaxed);
  const types = planned.instanceTypes;
  if (types.some(({ offerings }) => offerings.some((one) => one.isPriceOverlaid === true)))
    annotations[PRICE_OVERLAY_APPLIED_ANNOTATION_KEY] = "true";
  if (types.some((type) => type.isCapacityOverlaid === true))
    annotations[CAPACITY_OVERLAY_APPLIED_ANNOTATION_KEY] = "true";
  const { deviceDrivers } = planned;
  if (deviceDrivers !== undefined)
    annotations[REQUESTED_DRA_DRIVERS_ANNOTATION_KEY] = deviceDrivers.join();
  if (pool.generation === "beta") annotations[GENERATION_ANNOTATION_KEY] = "v1beta1";
  return annotations;
}

/** The requirements of the claim, including its instance types and their capacity types. */
function claimRequirements(planned: PlannedClaim): RequirementSpec[] {
  const narrowed = Requirements.fromSpecs(planned.requirements);
  const types = planned.instanceTypes;
  const capacityTypes = types.flatMap((type) =>
    usableOfferings(type, narrowed).map((offering) => offering.capacityType),
  );
  const candidates = Requirements.fromSpecs([
    { key: INSTANCE_TYPE_LABEL_KEY, operator: "In", values: types.map((type) => type.name) },
    { key: CAPACITY_TYPE_LABEL_KEY, operator: "In", values: capacityTypes },
  ]);
  return narrowed.and(candidates).specs();
}
