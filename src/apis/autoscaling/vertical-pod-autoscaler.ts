/**
 * The VerticalPodAutoscaler kind: what the pods of a workload should request, judged by their past usage. Its webhook
 * writes the recommendation into new pods. So a new pod can differ from its template and from the pod that it replaces.
 */

import type { Container } from "../core/pod.ts";
import type { Kind, KubeObject, ResourceAmounts } from "../meta.ts";
import { formatResources, parseResources } from "../resources.ts";

interface ContainerPolicy {
  /** A container's name, or `*` for all containers without a policy of their own. */
  readonly containerName?: string;
  readonly mode?: string;
  readonly minAllowed?: ResourceAmounts;
  readonly maxAllowed?: ResourceAmounts;
  /** Resources that get recommendations. Absent: cpu and memory. */
  readonly controlledResources?: readonly string[];
  /** Whether only requests are set, or limits too. Absent: `RequestsAndLimits`. */
  readonly controlledValues?: string;
}

/** A VerticalPodAutoscaler, with the fields that decide what new pods request. */
export interface VerticalPodAutoscaler extends KubeObject {
  readonly spec?: {
    readonly targetRef?: {
      readonly apiVersion?: string;
      readonly kind: string;
      readonly name: string;
    };
    readonly updatePolicy?: { readonly updateMode?: string };
    readonly resourcePolicy?: { readonly containerPolicies?: readonly ContainerPolicy[] };
  };
  readonly status?: {
    readonly recommendation?: {
      readonly containerRecommendations?: readonly {
        readonly containerName?: string;
        readonly target?: ResourceAmounts;
      }[];
    };
  };
}

export const VERTICAL_POD_AUTOSCALER: Kind<VerticalPodAutoscaler> = {
  group: "autoscaling.k8s.io",
  version: "v1",
  kind: "VerticalPodAutoscaler",
  plural: "verticalpodautoscalers",
  namespaced: true,
};

/** Modes in which new pods get the recommendation. In mode `Off` it is only shown. */
const ACTING: ReadonlySet<string> = new Set([
  "Initial",
  "Recreate",
  "Auto",
  "InPlaceOrRecreate",
  "InPlace",
]);
const CONTROLLED = ["cpu", "memory"];

/** Whether new pods of the target get the recommendation. */
export function changesNewPods({ spec, status }: VerticalPodAutoscaler): boolean {
  const isTold = (status?.recommendation?.containerRecommendations ?? []).length > 0;
  return isTold && ACTING.has(spec?.updatePolicy?.updateMode ?? "Auto");
}

/** The container as the webhook of the VerticalPodAutoscaler would create it. */
export function withRecommendation(
  container: Container,
  { spec, status }: VerticalPodAutoscaler,
): Container {
  const policy = policyOf(container.name, spec?.resourcePolicy?.containerPolicies ?? []);
  const told = status?.recommendation?.containerRecommendations ?? [];
  const target = told.find(({ containerName }) => containerName === container.name)?.target;
  if (target === undefined || policy.mode === "Off") return container;
  const requests = parseResources(container.resources?.requests);
  const limits = parseResources(container.resources?.limits);
  const isRequestsOnly = policy.controlledValues === "RequestsOnly";
  const least = parseResources(policy.minAllowed);
  const most = parseResources(policy.maxAllowed);
  const wanted: Record<string, number> = {};
  const scaled: Record<string, number> = {};
  for (const [name, recommended] of Object.entries(parseResources(target))) {
    if (recommended === 0 || !(policy.controlledResources ?? CONTROLLED).includes(name)) continue;
    const limit = limits[name] ?? 0;
    // The API server would refuse a request above the limit.
    const ceiling = isRequestsOnly && limit > 0 ? limit : Number.POSITIVE_INFINITY;
    const inPolicy = Math.min(Math.max(recommended, least[name] ?? 0), most[name] ?? ceiling);
    wanted[name] = Math.min(inPolicy, ceiling);
    if (!isRequestsOnly && limit > 0)
      scaled[name] = inProportion(wanted[name], limit, requests[name] ?? 0);
  }
  if (Object.keys(wanted).length === 0) return container;
  const { resources } = container;
  return {
    ...container,
    resources: {
      ...resources,
      requests: { ...resources?.requests, ...formatResources(wanted) },
      ...(resources?.limits === undefined
        ? {}
        : { limits: { ...resources.limits, ...formatResources(scaled) } }),
    },
  };
}

function policyOf(name: string, policies: readonly ContainerPolicy[]): ContainerPolicy {
  const of = (wanted: string) => policies.find(({ containerName }) => containerName === wanted);
  return of(name) ?? of("*") ?? {};
}

/** The new limit, with the old ratio of limit to request. Computed as a bigint, because bytes can exceed 2^53 here. */
function inProportion(wanted: number, limit: number, request: number): number {
  if (request === 0) return wanted;
  return Number((BigInt(wanted) * BigInt(limit)) / BigInt(request));
}
