/**
 * Finds the containers whose requests must be lowered, and by how much, so that the pod requests at most a given
 * amount. A pod's request is the sum over its containers, the peak of its init phase, or the amount in
 * `spec.resources`. The largest part is lowered first.
 */
import type { Container, Pod, PodSpec } from "../../../apis/core/pod.ts";
import { podRequests } from "../../../apis/core/pod-resources.ts";
import { formatResources, parseResources } from "../../../apis/resources.ts";

/** One lowered request of a container, or of the pod itself. */
export interface LoweredRequest {
  readonly resource: string;
  /** The name of the container. Absent: the request is in `spec.resources` of the pod. */
  readonly container?: string;
  readonly isInit?: true;
  readonly from: number;
  readonly to: number;
}

/**
 * The lowered requests with which the pod requests `most` of the resource. Undefined: not possible, because the
 * overhead of its RuntimeClass alone is more.
 */
export function lowerRequests(
  pod: Pod,
  resource: string,
  most: number,
): readonly LoweredRequest[] | undefined {
  const { resources, ...rest } = pod.spec;
  const whole = amount(pod.spec, resource);
  if (resources !== undefined && whole !== undefined) {
    const to = whole - (asked(pod, resource) - most);
    // The API server refuses a pod whose containers request more than the pod itself, so they are lowered, too.
    const parts = lowerRequests({ ...pod, spec: rest }, resource, most);
    return to < 0 || parts === undefined ? undefined : [{ resource, from: whole, to }, ...parts];
  }
  let lowered = pod;
  let parts: LoweredRequest[] = [];
  for (const part of partsOf(pod.spec, resource)) {
    const over = asked(lowered, resource) - most;
    if (over <= 0) break;
    const less = { ...part, to: Math.max(0, part.from - over) };
    parts.push(less);
    lowered = { ...lowered, spec: withLowered(lowered.spec, less) };
  }
  if (asked(lowered, resource) > most) return undefined;
  // A container that requests less than the peak of the init phase need not be lowered.
  for (const part of parts) {
    const others = parts.filter((one) => one !== part);
    if (asked({ ...pod, spec: others.reduce(withLowered, pod.spec) }, resource) <= most)
      parts = others;
  }
  return parts;
}

/** The spec with one request lowered. Limits are not changed. */
export function withLowered(spec: PodSpec, lowered: LoweredRequest): PodSpec {
  const { container: name, isInit } = lowered;
  if (name === undefined) return { ...spec, ...withAmount(spec, lowered) };
  const changed = (one: Container): Container =>
    one.name === name ? { ...one, ...withAmount(one, lowered) } : one;
  return isInit
    ? { ...spec, initContainers: (spec.initContainers ?? []).map(changed) }
    : { ...spec, containers: spec.containers.map(changed) };
}

/** The requests of the containers, the largest first. Equal requests keep the order of the spec. */
function partsOf(spec: PodSpec, resource: string): LoweredRequest[] {
  const own = (one: Container, isInit: boolean): LoweredRequest => {
    const from = amount(one, resource) ?? 0;
    return { resource, container: one.name, ...(isInit ? { isInit } : {}), from, to: from };
  };
  return [
    ...spec.containers.map((one) => own(one, false)),
    ...(spec.initContainers ?? []).map((one) => own(one, true)),
  ]
    .filter(({ from }) => from > 0)
    .sort((a, b) => b.from - a.from);
}

function withAmount(
  { resources }: Pick<Container | PodSpec, "resources">,
  { resource, to }: LoweredRequest,
) {
  const text = formatResources({ [resource]: to });
  return { resources: { ...resources, requests: { ...resources?.requests, ...text } } };
}

/** Whether the API server demands that limit and request of this resource are equal. */
export function mayNotBeOvercommitted(resource: string): boolean {
  return resource.includes("/") || resource.startsWith("hugepages-");
}

function asked(pod: Pod, resource: string): number {
  return podRequests(pod)[resource] ?? 0;
}

/** The container's request. Without a request, its limit counts as the request. */
function amount(
  { resources }: Pick<Container | PodSpec, "resources">,
  resource: string,
): number | undefined {
  const text = resources?.requests?.[resource] ?? resources?.limits?.[resource];
  return text === undefined ? undefined : parseResources({ [resource]: String(text) })[resource];
}
