/**
 * Converts NodePools and Provisioners to their common form. Conversion never fails: an invalid value counts as absent,
 * and validation reports it elsewhere.
 */
import {
  MOST_DURATION_MS,
  type NillableMs,
  parseDuration,
  parseNillableDuration,
} from "../../base/duration.ts";
import { asText, isObject } from "../../base/json.ts";
import { condition } from "../karpenter/conditions.ts";
import type { KubeletConfiguration } from "../karpenter/kubelet.ts";
import {
  GENERATION_ANNOTATION_KEY,
  KUBELET_COMPATIBILITY_ANNOTATION_KEY,
} from "../karpenter/labels.ts";
import { NODE_POOL, type NodePool } from "../karpenter/nodepool.ts";
import { nodePoolHash, provisionerHash } from "../karpenter/nodepool-hash.ts";
import { PROVISIONER, type Provisioner } from "../karpenter/provisioner.ts";
import type { Kind, KubeObject } from "../meta.ts";
import { parseResources } from "../resources.ts";
import { classRefOf, parseKubelet } from "./claim.ts";
import type { Generation } from "./generation.ts";
import { identityOf } from "./identity.ts";
import type { Pool, PoolDisruption } from "./pool.ts";
import { returnsOf } from "./returns.ts";
import { POOL_SHAPE, PROVISIONER_SHAPE, sound } from "./shape.ts";

// biome-ignore lint/suspicious/noExplicitAny: the kinds differ in shape; toPool takes both
export const POOL_KINDS: readonly Kind<any>[] = [NODE_POOL, PROVISIONER];

/** The default lifetime in v1 and v1beta1. */
const DEFAULT_EXPIRE_AFTER_MS = 720 * 3_600_000;

/** The class reference of a pool without one. Such a pool must have bypassed its schema. */
const NO_CLASS = { group: "", kind: "", name: "" };

/** The kind of the pool's object, for patches, events and owner references. */
// biome-ignore lint/suspicious/noExplicitAny: see POOL_KINDS
export function poolKind(pool: Pool): Kind<any> {
  return pool.generation === "alpha" ? PROVISIONER : NODE_POOL;
}

/** The result of {@link toPool} for each object. Objects are immutable, and computing the hash is slow. */
const poolOf = new WeakMap<KubeObject, Pool>();

/** Converts a stored NodePool (in v1 form) or Provisioner to the common form. */
export function toPool(native: NodePool | Provisioner): Pool {
  const known = poolOf.get(native);
  if (known !== undefined) return known;
  const isProvisioner = native.kind === PROVISIONER.kind;
  const { value, problems } = sound(native, isProvisioner ? PROVISIONER_SHAPE : POOL_SHAPE);
  const read = isProvisioner
    ? fromProvisioner(value as Provisioner)
    : fromNodePool(value as NodePool);
  // A launch could ignore a requirement that is in an invalid field. So such a pool is not ready.
  const pool =
    problems.length === 0 ? read : { ...read, ready: false, unreadable: problems.join("; ") };
  poolOf.set(native, pool);
  return pool;
}

/**
 * The generation of a NodePool: `beta` if v1beta1 wrote the spec last. Both versions are stored as one object, so the
 * last writer is found in managedFields. If they do not name it, the annotation written by the conversion decides.
 */
export function nodePoolGeneration(pool: KubeObject): Generation {
  const writer = lastSpecWriter(pool);
  const version = writer ?? pool.metadata.annotations?.[GENERATION_ANNOTATION_KEY];
  return version?.endsWith("v1beta1") ? "beta" : "v1";
}

function fromNodePool(native: NodePool): Pool {
  const { spec } = native;
  const template = spec.template?.spec;
  const generation = nodePoolGeneration(native);
  return {
    ...identityOf(native, "nodepool"),
    generation,
    ready: condition(native, "Ready")?.status === "True",
    labels: spec.template?.metadata?.labels ?? {},
    annotations: spec.template?.metadata?.annotations ?? {},
    taints: template?.taints ?? [],
    startupTaints: template?.startupTaints ?? [],
    requirements: template?.requirements ?? [],
    classRef: template?.nodeClassRef?.kind === undefined ? NO_CLASS : template.nodeClassRef,
    kubelet: parseKubelet(native.metadata.annotations?.[KUBELET_COMPATIBILITY_ANNOTATION_KEY]),
    inlineProvider: undefined,
    limits: parseResources(spec.limits),
    weight: spec.weight ?? 0,
    replicas: spec.replicas,
    disruption: nodePoolDisruption(native, generation),
    terminationGracePeriodMs: parseOptional(template?.terminationGracePeriod),
    returns: returnsOf(native),
    hash: nodePoolHash(native),
  };
}

function nodePoolDisruption(native: NodePool, generation: Generation): PoolDisruption {
  const disruption = native.spec.disruption;
  return {
    policy: disruption?.consolidationPolicy ?? "WhenEmptyOrUnderutilized",
    consolidateAfter: span(disruption?.consolidateAfter, 0),
    expireAfter: span(native.spec.template?.spec.expireAfter, DEFAULT_EXPIRE_AFTER_MS),
    expireMode: generation === "beta" ? "voluntary" : "forceful",
    budgets: disruption?.budgets ?? [{ nodes: "10%" }],
  };
}

function fromProvisioner(native: Provisioner): Pool {
  const spec: Provisioner["spec"] = native.spec ?? {};
  const kubelet: KubeletConfiguration | undefined = spec.kubeletConfiguration;
  return {
    ...identityOf(native, "provisioner"),
    generation: "alpha",
    ready: true,
    labels: spec.labels ?? {},
    annotations: spec.annotations ?? {},
    taints: spec.taints ?? [],
    startupTaints: spec.startupTaints ?? [],
    requirements: spec.requirements ?? [],
    classRef: classRefOf(spec.providerRef),
    kubelet,
    inlineProvider: spec.providerRef === undefined ? spec.provider : undefined,
    limits: parseResources(spec.limits?.resources),
    weight: spec.weight ?? 0,
    replicas: undefined,
    disruption: provisionerDisruption(spec),
    terminationGracePeriodMs: undefined,
    returns: returnsOf(native),
    hash: provisionerHash(native),
  };
}

/**
 * The disruption settings of a Provisioner. v1alpha5 has no budgets, so the number of disrupted nodes is not limited.
 * Without consolidation and ttlSecondsAfterEmpty nothing is consolidated.
 */
function provisionerDisruption(spec: Provisioner["spec"]): PoolDisruption {
  const shared = {
    expireAfter: seconds(spec.ttlSecondsUntilExpired),
    expireMode: "voluntary",
    budgets: [],
  } as const;
  if (spec.consolidation?.enabled === true)
    return { ...shared, policy: "WhenEmptyOrUnderutilized", consolidateAfter: 0 };
  if (spec.ttlSecondsAfterEmpty === undefined)
    return { ...shared, policy: "none", consolidateAfter: "Never" };
  const consolidateAfter = seconds(spec.ttlSecondsAfterEmpty);
  return { ...shared, policy: "WhenEmpty", consolidateAfter };
}

/** Converts seconds to milliseconds. Absent and -1 mean never. */
function seconds(value: number | undefined): NillableMs {
  return value === undefined || value < 0 ? "Never" : Math.min(value * 1_000, MOST_DURATION_MS);
}

function span(text: string | undefined, otherwise: NillableMs): NillableMs {
  return (text === undefined ? undefined : parseNillableDuration(text)) ?? otherwise;
}

function parseOptional(text: string | undefined): number | undefined {
  return text === undefined ? undefined : parseDuration(text);
}

/**
 * The apiVersion of the newest managedFields entry with a field of spec. Among entries with equal times the last one
 * counts.
 */
function lastSpecWriter(object: KubeObject): string | undefined {
  let latest: { readonly time: string; readonly apiVersion: string } | undefined;
  for (const entry of object.metadata.managedFields ?? []) {
    if (!isObject(entry) || entry["subresource"] || !isObject(entry["fieldsV1"])) continue;
    if (entry["fieldsV1"]["f:spec"] === undefined || typeof entry["apiVersion"] !== "string")
      continue;
    const time = asText(entry["time"] ?? "");
    if (latest === undefined || time >= latest.time)
      latest = { time, apiVersion: entry["apiVersion"] };
  }
  return latest?.apiVersion;
}
