/**
 * The LimitRanger plugin of kube-apiserver. Containers of a new pod without requests or limits get those of the
 * namespace's LimitRanges. Pods and claims beyond the bounds are refused. Several LimitRanges apply in order of their
 * names; in Kubernetes the order is random.
 * upstream: kubernetes plugin/pkg/admission/limitranger/admission.go
 */
import type { KubeObject } from "../../../apis/meta.ts";
import type { Admission } from "../admission/admission-request.ts";
import type { Call } from "../engine.ts";
import { forbidden } from "../request/status.ts";
import {
  type Container,
  type ContainerResources,
  nano,
  type QuotaAmounts,
  totals,
} from "./amounts.ts";

interface PodShape extends KubeObject {
  readonly spec?: {
    readonly containers?: readonly Container[];
    readonly initContainers?: readonly Container[];
  };
}

interface LimitItem {
  readonly type: string;
  readonly min?: QuotaAmounts;
  readonly max?: QuotaAmounts;
  readonly default?: QuotaAmounts;
  readonly defaultRequest?: QuotaAmounts;
  readonly maxLimitRequestRatio?: QuotaAmounts;
}

interface LimitRange extends KubeObject {
  readonly spec?: { readonly limits?: readonly LimitItem[] };
}

const NOTE = "kubernetes.io/limit-ranger";

/** A new pod with the defaults of the LimitRanges in its namespace, and an annotation that names them. */
export function withLimitDefaults<T extends KubeObject>(call: Call, pod: T): T {
  let current: PodShape = pod;
  for (const range of rangesOf(call, pod)) current = completed(current, range);
  return current as T;
}

function completed(pod: PodShape, range: LimitRange): PodShape {
  const notes: string[] = [];
  const items = (range.spec?.limits ?? []).filter(({ type }) => type === "Container");
  const limits = merged(items.map((item) => item.default));
  const requests = merged(items.map((item) => item.defaultRequest));
  const complete = (what: string) => (container: Container) => {
    const { resources } = container;
    const ofRequests = missing(resources?.requests, requests);
    const ofLimits = missing(resources?.limits, limits);
    if (ofRequests.length > 0)
      notes.push(`${ofRequests.join(", ")} request for ${what} ${container.name}`);
    if (ofLimits.length > 0)
      notes.push(`${ofLimits.join(", ")} limit for ${what} ${container.name}`);
    if (ofRequests.length + ofLimits.length === 0) return container;
    const both = {
      ...part("requests", { ...requests, ...resources?.requests }),
      ...part("limits", { ...limits, ...resources?.limits }),
    };
    return { ...container, resources: { ...resources, ...both } };
  };
  const { spec, metadata } = pod;
  const containers = spec?.containers?.map(complete("container"));
  const initContainers = spec?.initContainers?.map(complete("init container"));
  if (notes.length === 0) return pod;
  const note = `LimitRanger plugin set: ${notes.join("; ")}`;
  return {
    ...pod,
    metadata: { ...metadata, annotations: { ...metadata.annotations, [NOTE]: note } },
    spec: {
      ...spec,
      ...(containers === undefined ? {} : { containers }),
      ...(initContainers === undefined ? {} : { initContainers }),
    },
  };
}

/** Throws 403 with everything that is beyond the bounds of one LimitRange. */
export function checkLimits(call: Call, { object, operation, subresource }: Admission): void {
  if (object === undefined || subresource || call.definition.group !== "") return;
  const { kind } = call.definition;
  const isNewPod = kind === "Pod" && operation === "CREATE";
  const isClaim = kind === "PersistentVolumeClaim" && operation !== "DELETE";
  if (!isNewPod && !isClaim) return;
  for (const range of rangesOf(call, object)) {
    const items = range.spec?.limits ?? [];
    const found = items.flatMap((item) =>
      isNewPod ? podProblems(item, object) : claimProblems(item, object),
    );
    const problems = [...new Set(found)];
    if (problems.length === 0) continue;
    const why = problems.length === 1 ? String(problems[0]) : `[${problems.join(", ")}]`;
    throw forbidden(call.definition, object.metadata.name, why);
  }
}

function rangesOf(call: Call, { metadata }: KubeObject): readonly LimitRange[] {
  const namespace = metadata.namespace ?? call.path.namespace;
  return call.engine.store.list("limitranges", namespace).objects as readonly LimitRange[];
}

/** Joins the amounts, with resources in order of their names. If several have a resource, the last one counts. */
function merged(all: readonly (QuotaAmounts | undefined)[]): QuotaAmounts {
  const result = Object.assign({}, ...all) as QuotaAmounts;
  return Object.fromEntries(Object.entries(result).sort(([a], [b]) => (a < b ? -1 : 1)));
}

function missing(have: QuotaAmounts | undefined, wanted: QuotaAmounts): readonly string[] {
  return Object.keys(wanted).filter((resource) => have?.[resource] === undefined);
}

function part(name: "requests" | "limits", amounts: QuotaAmounts): ContainerResources {
  return Object.keys(amounts).length === 0 ? {} : { [name]: amounts };
}

function podProblems(item: LimitItem, { spec }: PodShape): readonly string[] {
  const { containers = [], initContainers = [] } = spec ?? {};
  if (item.type === "Container")
    return [...containers, ...initContainers].flatMap(({ resources }) =>
      problemsOf(item, resources ?? {}),
    );
  if (item.type !== "Pod") return [];
  return problemsOf(item, {
    requests: totals(containers, initContainers, "requests"),
    limits: totals(containers, initContainers, "limits"),
  });
}

function problemsOf(
  item: LimitItem,
  { requests = {}, limits = {} }: ContainerResources,
): readonly string[] {
  return [
    ...each(item.min, (resource, bound) => {
      const what = `minimum ${resource} usage per ${item.type} is ${bound}`;
      const [request, limit] = [requests[resource], limits[resource]];
      if (request === undefined) return `${what}.  No request is specified`;
      if (nano(request) < nano(bound)) return `${what}, but request is ${request}`;
      if (limit !== undefined && nano(limit) < nano(bound)) return `${what}, but limit is ${limit}`;
      return undefined;
    }),
    ...each(item.max, (resource, bound) => {
      const what = `maximum ${resource} usage per ${item.type} is ${bound}`;
      const [request, limit] = [requests[resource], limits[resource]];
      if (limit === undefined) return `${what}.  No limit is specified`;
      if (nano(limit) > nano(bound)) return `${what}, but limit is ${limit}`;
      if (request !== undefined && nano(request) > nano(bound))
        return `${what}, but request is ${request}`;
      return undefined;
    }),
    ...each(item.maxLimitRequestRatio, (resource, bound) => {
      const what = `${resource} max limit to request ratio per ${item.type} is ${bound}`;
      const [request, limit] = [nano(requests[resource] ?? 0), nano(limits[resource] ?? 0)];
      if (request === 0n) return `${what}, but no request is specified or request is 0`;
      if (limit === 0n) return `${what}, but no limit is specified or limit is 0`;
      const ratio = Number(limit) / Number(request);
      return ratio > Number(nano(bound)) / 1e9
        ? `${what}, but provided ratio is ${ratio.toFixed(6)}`
        : undefined;
    }),
  ];
}

function claimProblems(item: LimitItem, claim: KubeObject): readonly string[] {
  if (item.type !== "PersistentVolumeClaim") return [];
  const { spec } = claim as KubeObject & { spec?: { resources?: ContainerResources } };
  const requests = spec?.resources?.requests ?? {};
  const check = (word: string, isBeyond: (asked: bigint, bound: bigint) => boolean) =>
    function problem(resource: string, bound: string | number): string | undefined {
      const what = `${word} ${resource} usage per ${item.type} is ${bound}`;
      const request = requests[resource];
      if (request === undefined) return `${what}.  No request is specified`;
      return isBeyond(nano(request), nano(bound))
        ? `${what}, but request is ${request}`
        : undefined;
    };
  return [
    ...each(
      item.min,
      check("minimum", (asked, bound) => asked < bound),
    ),
    ...each(
      item.max,
      check("maximum", (asked, bound) => asked > bound),
    ),
  ];
}

function each(
  bounds: QuotaAmounts | undefined,
  problem: (resource: string, bound: string | number) => string | undefined,
): readonly string[] {
  return Object.entries(bounds ?? {})
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .flatMap(([resource, bound]) => problem(resource, bound) ?? []);
}
