/**
 * How much of a quota one object uses, by the quota's names: `pods`, `requests.cpu`, `services.nodeports`,
 * `count/deployments.apps`. An object of any kind counts once; pods, services and claims also use resources.
 * upstream: kubernetes pkg/quota/v1/evaluator/core
 */
import type { KubeObject } from "../../../apis/meta.ts";
import { fromRfc3339 } from "../../../base/clock.ts";
import {
  type Container,
  type ContainerResources,
  nano,
  type QuotaAmounts,
  spell,
  totals,
} from "./amounts.ts";

/** A kind as quotas name it. */
export interface Counted {
  readonly group: string;
  readonly plural: string;
}

interface Pod extends KubeObject {
  readonly spec?: {
    readonly containers?: readonly Container[];
    readonly initContainers?: readonly Container[];
    readonly overhead?: QuotaAmounts;
    readonly resources?: ContainerResources;
  };
  readonly status?: { readonly phase?: string };
}

interface Service extends KubeObject {
  readonly spec?: {
    readonly type?: string;
    readonly allocateLoadBalancerNodePorts?: boolean;
    readonly ports?: readonly { readonly nodePort?: number }[];
  };
}

interface Claim extends KubeObject {
  readonly spec?: {
    readonly storageClassName?: string;
    readonly resources?: { readonly requests?: QuotaAmounts };
  };
}

/** Kinds that are also counted by their plural alone, such as `pods`. */
export const PLAINLY_COUNTED: ReadonlySet<string> = new Set([
  "configmaps",
  "persistentvolumeclaims",
  "pods",
  "replicationcontrollers",
  "resourcequotas",
  "secrets",
  "services",
]);
/** Resources whose requests also count without the prefix `requests.`. */
const PLAIN_REQUESTS: ReadonlySet<string> = new Set(["cpu", "memory", "ephemeral-storage"]);
/** Requests and limits of containers. If a quota bounds one of them, every container must set it. */
export const COMPUTE: ReadonlySet<string> = new Set([
  "cpu",
  "memory",
  "requests.cpu",
  "requests.memory",
  "limits.cpu",
  "limits.memory",
]);

/** What one object counts against quotas. upstream: pkg/quota/v1/evaluator of Kubernetes. */
export function usageOf(
  { group, plural }: Counted,
  object: KubeObject,
  nowMs: number,
): QuotaAmounts {
  const counts = { [`count/${group === "" ? plural : `${plural}.${group}`}`]: "1" };
  if (group !== "") return counts;
  if (plural === "pods") return { ...counts, ...usageOfPod(object, nowMs) };
  const counted = PLAINLY_COUNTED.has(plural) ? { ...counts, [plural]: "1" } : counts;
  if (plural === "services") return { ...counted, ...usageOfService(object) };
  if (plural === "persistentvolumeclaims") return { ...counted, ...usageOfClaim(object) };
  return counted;
}

/** Whether objects of the kind can use some of `resource`. */
export function takes({ group, plural }: Counted, resource: string): boolean {
  if (resource === `count/${group === "" ? plural : `${plural}.${group}`}`) return true;
  if (group !== "") return false;
  if (PLAINLY_COUNTED.has(plural) && resource === plural) return true;
  if (plural === "services") return resource.startsWith("services.");
  const isStorage = resource === "requests.storage" || resource.includes(".storageclass.");
  if (plural === "persistentvolumeclaims") return isStorage;
  return plural === "pods" && !isStorage && /^(requests\.|limits\.|hugepages-)/.test(resource)
    ? true
    : plural === "pods" && PLAIN_REQUESTS.has(resource);
}

/** A pod that has ended, or whose grace period is long over, uses no resources but still counts as an object. */
function usageOfPod(pod: Pod, nowMs: number): QuotaAmounts {
  const { phase } = pod.status ?? {};
  if (phase === "Succeeded" || phase === "Failed" || isOverdue(pod, nowMs)) return {};
  const { containers = [], initContainers = [], overhead = {}, resources = {} } = pod.spec ?? {};
  const ofParts = (which: "requests" | "limits") => totals(containers, initContainers, which);
  const requests = added({ ...ofParts("requests"), ...resources.requests }, overhead);
  const bounded = { ...ofParts("limits"), ...resources.limits };
  const onTop = Object.entries(overhead).filter(([name]) => nano(bounded[name] ?? 0) !== 0n);
  const limits = added(bounded, Object.fromEntries(onTop));
  const result: Record<string, string | number> = { pods: "1" };
  for (const [resource, amount] of Object.entries(requests)) {
    if (PLAIN_REQUESTS.has(resource) || resource.startsWith("hugepages-"))
      result[resource] = amount;
    result[`requests.${resource}`] = amount;
  }
  for (const [resource, amount] of Object.entries(limits))
    if (PLAIN_REQUESTS.has(resource)) result[`limits.${resource}`] = amount;
  return result;
}

/**
 * Whether the pod's grace period is long over. Upstream adds the grace period to `deletionTimestamp`, although that
 * time already includes it.
 */
function isOverdue({ metadata }: Pod, nowMs: number): boolean {
  const { deletionTimestamp, deletionGracePeriodSeconds: graceS } = metadata;
  const endsMs = deletionTimestamp === undefined ? undefined : fromRfc3339(deletionTimestamp);
  return endsMs !== undefined && graceS !== undefined && endsMs + graceS * 1_000 < nowMs;
}

function usageOfService({ spec = {} }: Service): QuotaAmounts {
  const { ports = [] } = spec;
  const given = ports.filter(({ nodePort }) => (nodePort ?? 0) !== 0).length;
  if (spec.type === "NodePort") return { "services.nodeports": ports.length };
  if (spec.type !== "LoadBalancer") return {};
  const opened = spec.allocateLoadBalancerNodePorts === false ? given : ports.length;
  return { "services.nodeports": opened, "services.loadbalancers": "1" };
}

function usageOfClaim({ spec = {} }: Claim): QuotaAmounts {
  const storage = spec.resources?.requests?.["storage"];
  const { storageClassName = "" } = spec;
  const ofClass = `${storageClassName}.storageclass.storage.k8s.io/`;
  return {
    ...(storage === undefined ? {} : { "requests.storage": storage }),
    ...(storageClassName === "" ? {} : { [`${ofClass}persistentvolumeclaims`]: "1" }),
    ...(storageClassName === "" || storage === undefined
      ? {}
      : { [`${ofClass}requests.storage`]: storage }),
  };
}

/**
 * The text about resources that `hard` bounds and that containers do not set: `limits.memory for: a,i;
 * requests.cpu for: b`. Empty if all are set.
 */
export function unnamed(hard: QuotaAmounts, object: KubeObject): string {
  const { spec = {} } = object as Pod;
  if (spec.resources !== undefined) return "";
  const containers = [...(spec.containers ?? []), ...(spec.initContainers ?? [])];
  return Object.keys(hard)
    .filter((resource) => COMPUTE.has(resource))
    .sort()
    .flatMap((resource) => {
      const names = containers.filter((one) => !isNamed(one, resource)).map(({ name }) => name);
      return names.length === 0 ? [] : [`${resource} for: ${names.sort().join(",")}`];
    })
    .join("; ");
}

function isNamed({ resources }: Container, resource: string): boolean {
  const [part, name] = resource.includes(".") ? resource.split(".") : ["requests", resource];
  return resources?.[part as "requests" | "limits"]?.[name as string] !== undefined;
}

/**
 * left plus right, by resource name. A sum is written like the first amount that is not 0: binary, decimal or
 * plain.
 */
export function added(left: QuotaAmounts, right: QuotaAmounts): QuotaAmounts {
  return combined(left, right, (a, b) => a + b);
}

/** left minus right, by resource name. */
export function subtracted(left: QuotaAmounts, right: QuotaAmounts): QuotaAmounts {
  return combined(left, right, (a, b) => a - b);
}

function combined(
  left: QuotaAmounts,
  right: QuotaAmounts,
  operate: (a: bigint, b: bigint) => bigint,
): QuotaAmounts {
  const result: Record<string, string | number> = { ...left };
  for (const [resource, amount] of Object.entries(right)) {
    const before = left[resource] ?? "0";
    const like = nano(before) === 0n ? amount : before;
    result[resource] = spell(operate(nano(before), nano(amount)), String(like));
  }
  return result;
}
