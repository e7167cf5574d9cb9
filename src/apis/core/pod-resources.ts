/**
 * What a pod asks for, as the scheduler counts it: containers, init containers, sidecars, overhead,
 * pod-level amounts, and resizes in flight. upstream: k8s.io/component-helpers/resource
 */
import {
  addResources,
  maxResources,
  NO_RESOURCES,
  parseResources,
  type Resources,
} from "../resources.ts";
import type { Container, ContainerStatus, Pod, PodSpec, PodStatus } from "./pod.ts";
import { perTemplate } from "./pod-template.ts";

/** Requests plus `pods: 1`. A limit without a request counts as the request, as the API defaults it. */
export function podRequests(pod: Pod): Resources {
  return isResized(pod) ? sumOf(pod.spec, pod.status) : asWritten(pod.spec);
}

/** Whether the kubelet holds amounts of its own for it: what is asked for is not all that counts. */
export function isResized({ status }: Pick<Pod, "status">): boolean {
  if (status?.containerStatuses?.some(isHeld) === true) return true;
  return status?.initContainerStatuses?.some(isHeld) === true;
}

function isHeld({ allocatedResources, resources }: ContainerStatus): boolean {
  return allocatedResources !== undefined || resources !== undefined;
}

const asWritten = perTemplate((spec) => sumOf(spec, undefined));

function sumOf(spec: PodSpec, status: PodStatus | undefined): Resources {
  const requests = { ...totalOf(spec, (one) => containerRequests(one, status)), pods: 1 };
  const result = { ...requests, ...podLevel(spec, "requests") };
  return Object.freeze(addResources(result, parseResources(spec.overhead)));
}

/** Limits; a resource that one container does not limit is summed over the others. */
export function podLimits(pod: Pod): Resources {
  const limits = totalOf(pod.spec, (one) => parseResources(one.resources?.limits));
  const result = { ...limits, ...podLevel(pod.spec, "limits") };
  const overhead = parseResources(pod.spec.overhead);
  const total: Record<string, number> = { ...result };
  for (const name in overhead) {
    if (total[name] !== undefined) total[name] += overhead[name] as number;
  }
  return total;
}

/** Sum of containers and sidecars, or the peak of the init phase where that is higher. */
function totalOf(spec: PodSpec, amountsOf: (container: Container) => Resources): Resources {
  let running = NO_RESOURCES;
  for (const container of spec.containers ?? [])
    running = addResources(running, amountsOf(container));
  let sidecars = NO_RESOURCES;
  let peak = NO_RESOURCES;
  for (const container of spec.initContainers ?? []) {
    const amounts = amountsOf(container);
    if (container.restartPolicy === "Always") {
      sidecars = addResources(sidecars, amounts);
      peak = maxResources(peak, sidecars);
    } else peak = maxResources(peak, addResources(amounts, sidecars));
  }
  return maxResources(addResources(running, sidecars), peak);
}

/**
 * What is asked for, or what the kubelet still holds for it: while a resize is on its way, the more
 * counts. One that the node cannot do asks for nothing.
 */
function containerRequests(container: Container, pod: PodStatus | undefined): Resources {
  const limits = parseResources(container.resources?.limits);
  const spec = { ...limits, ...parseResources(container.resources?.requests) };
  const status = statusOf(pod, container.name);
  if (status === undefined || !isHeld(status)) return spec;
  const allocated = parseResources(status.allocatedResources);
  const held = maxResources(allocated, parseResources(status.resources?.requests));
  return isResizeInfeasible(pod) ? held : maxResources(spec, held);
}

function statusOf(status: PodStatus | undefined, name: string): ContainerStatus | undefined {
  return (
    status?.containerStatuses?.find((one) => one.name === name) ??
    status?.initContainerStatuses?.find((one) => one.name === name)
  );
}

function isResizeInfeasible(status: PodStatus | undefined): boolean {
  return (
    status?.conditions?.some(
      ({ type, reason }) => type === "PodResizePending" && reason === "Infeasible",
    ) ?? false
  );
}

/** Amounts set for the pod as a whole replace the containers' sum, name by name. */
function podLevel(spec: PodSpec, side: "requests" | "limits"): Resources {
  const limits = parseResources(spec.resources?.limits);
  if (side === "limits") return limits;
  return spec.resources === undefined
    ? NO_RESOURCES
    : { ...limits, ...parseResources(spec.resources.requests) };
}
