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
import type { Container, Pod, PodSpec } from "./pod.ts";

/** Objects are immutable, so one count per object is enough. */
const requestsOf = new WeakMap<Pod, Resources>();

/** Requests plus `pods: 1`. A limit without a request counts as the request, as the API defaults it. */
export function podRequests(pod: Pod): Resources {
  const known = requestsOf.get(pod);
  if (known !== undefined) return known;
  const requests = { ...totalOf(pod.spec, (one) => containerRequests(pod, one)), pods: 1 };
  const result = { ...requests, ...podLevel(pod.spec, "requests") };
  const total = Object.freeze(addResources(result, parseResources(pod.spec.overhead)));
  requestsOf.set(pod, total);
  return total;
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

function containerRequests(pod: Pod, container: Container): Resources {
  const limits = parseResources(container.resources?.limits);
  const spec = { ...limits, ...parseResources(container.resources?.requests) };
  const statuses = [
    ...(pod.status?.containerStatuses ?? []),
    ...(pod.status?.initContainerStatuses ?? []),
  ];
  const allocated = statuses.find((one) => one.name === container.name)?.allocatedResources;
  return allocated === undefined ? spec : maxResources(spec, parseResources(allocated));
}

/** Amounts set for the pod as a whole replace the containers' sum, name by name. */
function podLevel(spec: PodSpec, side: "requests" | "limits"): Resources {
  const limits = parseResources(spec.resources?.limits);
  if (side === "limits") return limits;
  return spec.resources === undefined
    ? NO_RESOURCES
    : { ...limits, ...parseResources(spec.resources.requests) };
}
