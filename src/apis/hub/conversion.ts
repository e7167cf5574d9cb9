/**
 * Conversion of NodePool, NodeClaim and EC2NodeClass between v1beta1 and v1, and the conversion webhook. Nothing is
 * lost: values that one version does not have are kept in annotations. Upstream's annotations are used where they
 * exist, and `…/v1-only` where upstream drops the value.
 */
import { deepEqual, isObject, textOf } from "../../base/json.ts";
import { mapInSteps, type Steps } from "../../base/steps.ts";
import { typeProblem } from "../crds/type-problem.ts";
import {
  GENERATION_ANNOTATION_KEY,
  KUBELET_COMPATIBILITY_ANNOTATION_KEY,
  NODECLASS_REFERENCE_ANNOTATION_KEY,
  STORED_VERSION_MIGRATED_ANNOTATION_KEY,
  V1_ONLY_ANNOTATION_KEY,
} from "../karpenter/labels.ts";
import type { NodeClaim } from "../karpenter/nodeclaim.ts";
import type { NodeClaimV1Beta1 } from "../karpenter/nodeclaim-v1beta1.ts";
import type { Budget, NodeClassReference, NodePool } from "../karpenter/nodepool.ts";
import type { NodeClassReferenceV1Beta1, NodePoolV1Beta1 } from "../karpenter/nodepool-v1beta1.ts";
import type { KubeObject } from "../meta.ts";
import { annotated, parseObject } from "./annotations.ts";
import { parseKubelet } from "./claim.ts";
import { nodeClassToV1, nodeClassToV1Beta1 } from "./conversion-aws.ts";
import { cut } from "./validation.ts";

/** Thrown if two versions cannot be converted. */
export class ConversionError extends Error {
  override readonly name = "ConversionError";
}

const TO_V1: Readonly<Record<string, (object: KubeObject) => KubeObject>> = {
  NodePool: (object) => poolToV1(object as NodePoolV1Beta1),
  NodeClaim: (object) => claimToV1(object as NodeClaimV1Beta1),
  EC2NodeClass: nodeClassToV1,
};

const TO_V1BETA1: Readonly<Record<string, (object: KubeObject) => KubeObject>> = {
  NodePool: (object) => poolToV1Beta1(object as NodePool),
  NodeClaim: (object) => claimToV1Beta1(object as NodeClaim),
  EC2NodeClass: nodeClassToV1Beta1,
};

/** Converts an object to `karpenter.sh/v1`, `karpenter.k8s.aws/v1beta1` and so on. Throws ConversionError. */
export function convertObject(object: KubeObject, toApiVersion: string): KubeObject {
  if (object.apiVersion === toApiVersion) return object;
  const [group, version] = toApiVersion.split("/");
  const [sourceGroup, sourceVersion] = textOf(object.apiVersion).split("/");
  const table = version === "v1" ? TO_V1 : version === "v1beta1" ? TO_V1BETA1 : {};
  const kind = textOf(object.kind);
  const convert = Object.hasOwn(table, kind) ? table[kind] : undefined;
  const isOurs = group === (kind === "EC2NodeClass" ? "karpenter.k8s.aws" : "karpenter.sh");
  const known = isOurs && (sourceVersion === "v1" || sourceVersion === "v1beta1");
  if (convert === undefined || group !== sourceGroup || !known) {
    throw new ConversionError(
      `converting ${nameOf(object)}: no way from ${textOf(object.apiVersion)} to ${toApiVersion}`,
    );
  }
  if (!isObject((object as { spec?: unknown }).spec)) {
    return { ...object, apiVersion: toApiVersion };
  }
  const problem = typeProblem(object);
  if (problem !== undefined) throw new ConversionError(`converting ${nameOf(object)}: ${problem}`);
  return { ...convert(object), apiVersion: toApiVersion };
}

function nameOf({ kind, metadata }: KubeObject): string {
  return `${textOf(kind)} ${textOf(metadata?.name)}`;
}

/**
 * Answers a ConversionReview, in steps: it has all objects of a list. If one object fails, the whole review fails, as
 * Kubernetes requires.
 */
export function* conversionReview(review: unknown): Steps<KubeReview> {
  const request = isObject(review) && isObject(review["request"]) ? review["request"] : {};
  const desired = textOf(request["desiredAPIVersion"]);
  const given: readonly unknown[] = Array.isArray(request["objects"]) ? request["objects"] : [];
  const head = { apiVersion: "apiextensions.k8s.io/v1", kind: "ConversionReview" };
  const uid = textOf(request["uid"]);
  try {
    const convertedObjects = yield* mapInSteps(given, (object) => {
      if (!isObject(object)) throw new ConversionError("converting: an item is no object");
      return convertObject(object as unknown as KubeObject, desired);
    });
    return { ...head, response: { uid, result: { status: "Success" }, convertedObjects } };
  } catch (error) {
    if (!(error instanceof ConversionError)) throw error;
    const result = { status: "Failed", message: cut(error.message) };
    return { ...head, response: { uid, result, convertedObjects: [] } };
  }
}

/** A review with its response. */
export interface KubeReview {
  readonly apiVersion: string;
  readonly kind: string;
  readonly response: Readonly<Record<string, unknown>>;
}

/** The v1 fields of a pool that v1beta1 does not have, as kept in the annotation. */
interface PoolV1Only {
  readonly consolidateAfter?: string;
  readonly consolidationPolicy?: string;
  readonly budgets?: readonly Budget[];
  readonly terminationGracePeriod?: string;
  readonly replicas?: number;
}

function poolToV1(beta: NodePoolV1Beta1): KubeObject {
  const { template, disruption, ...rest } = beta.spec;
  const { kubelet, nodeClassRef, resources: _, ...claim } = template.spec;
  const kept = parseObject(beta, V1_ONLY_ANNOTATION_KEY) as PoolV1Only;
  const { expireAfter, consolidationPolicy, consolidateAfter, budgets, ...other } =
    disruption ?? {};
  const underutilized = consolidationPolicy === "WhenUnderutilized";
  const keptBudgets = sameWithoutReasons(kept.budgets, budgets) ? kept.budgets : budgets;
  const spec = {
    ...rest,
    ...defined({ replicas: kept.replicas }),
    template: {
      ...template,
      spec: {
        ...claim,
        nodeClassRef: referenceToV1(nodeClassRef),
        ...defined({ expireAfter, terminationGracePeriod: kept.terminationGracePeriod }),
      },
    },
    disruption: {
      ...other,
      ...defined({
        consolidationPolicy: underutilized
          ? (kept.consolidationPolicy ?? "WhenEmptyOrUnderutilized")
          : consolidationPolicy,
        consolidateAfter: consolidateAfter ?? kept.consolidateAfter ?? "0s",
        budgets: keptBudgets,
      }),
    },
  };
  return annotated({ ...beta, spec } as KubeObject, {
    [GENERATION_ANNOTATION_KEY]: "v1beta1",
    [KUBELET_COMPATIBILITY_ANNOTATION_KEY]: json(kubelet),
    [NODECLASS_REFERENCE_ANNOTATION_KEY]: json(nodeClassRef),
    [V1_ONLY_ANNOTATION_KEY]: undefined,
  });
}

function poolToV1Beta1(pool: NodePool): KubeObject {
  const { template, disruption, replicas, ...rest } = pool.spec;
  const { nodeClassRef, expireAfter, terminationGracePeriod, ...claim } = template.spec;
  const { consolidationPolicy, consolidateAfter, budgets, ...other } = disruption ?? {};
  const empty = consolidationPolicy === "WhenEmpty";
  const hasReasons = budgets?.some((budget) => budget.reasons !== undefined) ?? false;
  const only: PoolV1Only = defined({
    consolidateAfter: empty || consolidateAfter === "0s" ? undefined : consolidateAfter,
    consolidationPolicy: consolidationPolicy === "Balanced" ? consolidationPolicy : undefined,
    budgets: hasReasons ? budgets : undefined,
    terminationGracePeriod,
    replicas,
  });
  const annotations = pool.metadata.annotations;
  const spec = {
    ...rest,
    template: {
      ...template,
      spec: {
        ...claim,
        nodeClassRef: referenceToBeta(pool, nodeClassRef),
        ...defined({ kubelet: parseKubelet(annotations?.[KUBELET_COMPATIBILITY_ANNOTATION_KEY]) }),
      },
    },
    disruption: {
      ...other,
      consolidationPolicy: empty ? "WhenEmpty" : "WhenUnderutilized",
      ...defined({
        consolidateAfter: empty ? consolidateAfter : undefined,
        expireAfter,
        budgets: budgets?.map(({ reasons: _, ...budget }) => budget),
      }),
    },
  };
  return annotated({ ...pool, spec } as KubeObject, {
    ...BETA_HAS_NO,
    [V1_ONLY_ANNOTATION_KEY]: jsonUnlessEmpty(only),
  });
}

/** v1 annotations that are removed in v1beta1, because it has fields for them. */
const BETA_HAS_NO = {
  [GENERATION_ANNOTATION_KEY]: undefined,
  [KUBELET_COMPATIBILITY_ANNOTATION_KEY]: undefined,
  [NODECLASS_REFERENCE_ANNOTATION_KEY]: undefined,
  [STORED_VERSION_MIGRATED_ANNOTATION_KEY]: undefined,
};

interface ClaimV1Only {
  readonly expireAfter?: string;
  readonly terminationGracePeriod?: string;
  readonly generation?: string;
}

function claimToV1(beta: NodeClaimV1Beta1): KubeObject {
  const { kubelet, nodeClassRef, ...rest } = beta.spec;
  const kept = parseObject(beta, V1_ONLY_ANNOTATION_KEY) as ClaimV1Only;
  const spec = {
    ...rest,
    nodeClassRef: referenceToV1(nodeClassRef),
    // The default of v1. In v1beta1 the lifetime is in the pool, which is not known here.
    expireAfter: kept.expireAfter ?? "720h",
    ...defined({ terminationGracePeriod: kept.terminationGracePeriod }),
  };
  return annotated({ ...beta, spec } as KubeObject, {
    // A claim that was created as v1 stays v1, even if a v1beta1 client changes its labels.
    [GENERATION_ANNOTATION_KEY]: kept.generation === "v1" ? undefined : "v1beta1",
    [KUBELET_COMPATIBILITY_ANNOTATION_KEY]: json(kubelet),
    [NODECLASS_REFERENCE_ANNOTATION_KEY]: json(nodeClassRef),
    [V1_ONLY_ANNOTATION_KEY]: undefined,
  });
}

function claimToV1Beta1(claim: NodeClaim): KubeObject {
  const { nodeClassRef, expireAfter, terminationGracePeriod, ...rest } = claim.spec;
  const annotations = claim.metadata.annotations;
  const beta = annotations?.[GENERATION_ANNOTATION_KEY] === "v1beta1";
  const only: ClaimV1Only = defined({
    expireAfter,
    terminationGracePeriod,
    generation: beta ? undefined : "v1",
  });
  const spec = {
    ...rest,
    nodeClassRef: referenceToBeta(claim, nodeClassRef),
    ...defined({ kubelet: parseKubelet(annotations?.[KUBELET_COMPATIBILITY_ANNOTATION_KEY]) }),
  };
  return annotated({ ...claim, spec } as KubeObject, {
    ...BETA_HAS_NO,
    [V1_ONLY_ANNOTATION_KEY]: jsonUnlessEmpty(only),
  });
}

function referenceToV1(ref: NodeClassReferenceV1Beta1): NodeClassReference {
  const slash = ref?.apiVersion?.indexOf("/") ?? -1;
  return {
    group: slash > 0 ? (ref.apiVersion as string).slice(0, slash) : "karpenter.k8s.aws",
    kind: ref?.kind || "EC2NodeClass",
    name: ref?.name,
  };
}

function referenceToBeta(object: KubeObject, ref: NodeClassReference): NodeClassReferenceV1Beta1 {
  const written = parseObject(object, NODECLASS_REFERENCE_ANNOTATION_KEY);
  const candidate = written as unknown as NodeClassReferenceV1Beta1;
  // Users may write the annotation, so its value is checked.
  const isSound = Object.values(written).every((field) => typeof field === "string");
  if (isSound && written["name"] !== undefined && deepEqual(referenceToV1(candidate), ref))
    return candidate;
  const foreign = ref.group !== "karpenter.k8s.aws";
  return { ...(foreign ? { apiVersion: `${ref.group}/v1` } : {}), kind: ref.kind, name: ref.name };
}

/** Whether the v1beta1 list equals the kept v1 list, apart from reasons. */
function sameWithoutReasons(
  kept: readonly Budget[] | undefined,
  budgets: readonly Budget[] | undefined,
): boolean {
  // Users may write the annotation, so its value is checked.
  if (!Array.isArray(kept) || !kept.every(isObject)) return false;
  return deepEqual(
    kept.map(({ reasons: _, ...budget }) => budget),
    budgets,
  );
}

function json(value: unknown): string | undefined {
  return value === undefined ? undefined : JSON.stringify(value);
}

function jsonUnlessEmpty(value: object): string | undefined {
  return Object.keys(value).length === 0 ? undefined : JSON.stringify(value);
}

/** The object without keys whose value is undefined. */
function defined<T extends object>(value: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  return Object.fromEntries(
    Object.entries(value).filter(([, item]) => item !== undefined),
  ) as ReturnType<typeof defined<T>>;
}
