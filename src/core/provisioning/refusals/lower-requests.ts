/**
 * Which containers must ask for less, and how much less, so that a pod asks for no more than there is.
 * What a pod asks for is a sum, or the peak of its init phase, or an amount of its own: the largest
 * part gives way first.
 */
import type { Container, Pod, PodSpec } from "../../../apis/core/pod.ts";
import { podRequests } from "../../../apis/core/pod-resources.ts";
import { formatResources, parseResources } from "../../../apis/resources.ts";

/** One amount of one container, or of the pod as a whole. */
export interface LoweredRequest {
  readonly resource: string;
  /** Absent: `spec.resources` of the pod. */
  readonly container?: string;
  readonly isInit?: true;
  readonly from: number;
  readonly to: number;
}

/** Undefined when no container can give that much: the rest is overhead of the pod's runtime. */
export function lowerRequests(
  pod: Pod,
  resource: string,
  most: number,
): readonly LoweredRequest[] | undefined {
  const { resources, ...rest } = pod.spec;
  const whole = amount(pod.spec, resource);
  if (resources !== undefined && whole !== undefined) {
    const to = whole - (asked(pod, resource) - most);
    // Containers may not ask for more than the pod does.
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
  // One that another's peak hides need not give anything.
  for (const part of parts) {
    const others = parts.filter((one) => one !== part);
    if (asked({ ...pod, spec: others.reduce(withLowered, pod.spec) }, resource) <= most)
      parts = others;
  }
  return parts;
}

/** The spec with one amount lowered. Limits stay: what a pod asks for is in its requests then. */
export function withLowered(spec: PodSpec, lowered: LoweredRequest): PodSpec {
  const { container: name, isInit } = lowered;
  if (name === undefined) return { ...spec, ...withAmount(spec, lowered) };
  const changed = (one: Container): Container =>
    one.name === name ? { ...one, ...withAmount(one, lowered) } : one;
  return isInit
    ? { ...spec, initContainers: (spec.initContainers ?? []).map(changed) }
    : { ...spec, containers: spec.containers.map(changed) };
}

/** Largest first, then as written. */
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

/** The API server wants limit and request of these to be equal. */
export function mayNotBeOvercommitted(resource: string): boolean {
  return resource.includes("/") || resource.startsWith("hugepages-");
}

function asked(pod: Pod, resource: string): number {
  return podRequests(pod)[resource] ?? 0;
}

/** A limit without a request counts as one. */
function amount(
  { resources }: Pick<Container | PodSpec, "resources">,
  resource: string,
): number | undefined {
  const text = resources?.requests?.[resource] ?? resources?.limits?.[resource];
  return text === undefined ? undefined : parseResources({ [resource]: String(text) })[resource];
}
