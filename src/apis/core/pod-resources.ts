/**
 * The requests of a pod, as kube-scheduler counts them: containers, init containers, sidecars, overhead, pod-level
 * resources, and resizes in progress.
 * upstream: k8s.io/component-helpers/resource
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

/**
 * The requests of the pod, plus `pods: 1`. A limit without a request counts as the request, as in the API server's
 * defaults.
 */
export function podRequests(pod: Pod): Resources {
  return isResized(pod) ? sumOf(pod.spec, pod.status) : asWritten(pod.spec);
}

/**
 * Whether the amounts that the kubelet allocated may exceed those in the spec, so that both must be counted.
 * Since Kubernetes 1.33 the kubelet reports amounts for every pod, and mostly they are equal.
 */
export function isResized({ spec, status }: Pod): boolean {
  if (status === undefined) return false;
  if (spec.resources !== undefined && isSized(status)) return true;
  const { containerStatuses, initContainerStatuses } = status;
  if (containerStatuses === undefined && initContainerStatuses === undefined) return false;
  return (
    holdsMore(containerStatuses, spec.containers) ||
    holdsMore(initContainerStatuses, spec.initContainers) ||
    isResizeInfeasible(status)
  );
}

/** Results by containers and statuses. Pods of one template have the same containers, and mostly the same statuses. */
const known = new WeakMap<readonly ContainerStatus[], WeakMap<readonly Container[], boolean>>();

function holdsMore(
  statuses: readonly ContainerStatus[] | undefined,
  containers: readonly Container[] | undefined,
): boolean {
  if (containers === undefined || statuses?.some(isSized) !== true) return false;
  const work = () => containers.some((one) => heldIsMore(one, statuses));
  if (!Object.isFrozen(statuses) || !Object.isFrozen(containers)) return work();
  const ofStatuses = known.get(statuses) ?? new WeakMap<readonly Container[], boolean>();
  known.set(statuses, ofStatuses);
  const more = ofStatuses.get(containers) ?? work();
  ofStatuses.set(containers, more);
  return more;
}

function heldIsMore(container: Container, statuses: readonly ContainerStatus[]): boolean {
  const status = statuses.find(({ name }) => name === container.name);
  if (status === undefined || !isSized(status)) return false;
  const asked = askedFor(container);
  return Object.entries(heldFor(status)).some(([name, amount]) => amount > (asked[name] ?? 0));
}

/** Whether the kubelet reports its allocated amounts, for a container or for the whole pod. */
export function isSized({ allocatedResources, resources }: Held): boolean {
  return allocatedResources !== undefined || resources !== undefined;
}

type Held = Pick<ContainerStatus, "allocatedResources" | "resources">;

const asWritten = perTemplate((spec) => sumOf(spec, undefined));

function sumOf(spec: PodSpec, status: PodStatus | undefined): Resources {
  const requests = { ...totalOf(spec, (one) => containerRequests(one, status)), pods: 1 };
  const result = { ...requests, ...podLevelRequests(spec, status) };
  return Object.freeze(addResources(result, parseResources(spec.overhead)));
}

/** The sum of all limits. A container without a limit adds nothing. */
export function podLimits(pod: Pod): Resources {
  const limits = totalOf(pod.spec, (one) => parseResources(one.resources?.limits));
  const result = { ...limits, ...parseResources(pod.spec.resources?.limits) };
  const overhead = parseResources(pod.spec.overhead);
  const total: Record<string, number> = { ...result };
  for (const name in overhead) {
    if (total[name] !== undefined) total[name] += overhead[name] as number;
  }
  return total;
}

/** The sum over containers and sidecars, or the peak while init containers run if that is higher. */
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
 * The requests of a container. During a resize the larger of the requested and the allocated amount counts. A resize
 * that the node cannot do does not count.
 */
function containerRequests(container: Container, pod: PodStatus | undefined): Resources {
  const asked = askedFor(container);
  const status = statusOf(pod, container.name);
  if (status === undefined || !isSized(status)) return asked;
  return takenBy(asked, status, pod);
}

function takenBy(asked: Resources, status: Held, pod: PodStatus | undefined): Resources {
  const held = heldFor(status);
  return isResizeInfeasible(pod) ? held : maxResources(asked, held);
}

function askedFor({ resources }: Pick<Container, "resources">): Resources {
  return { ...parseResources(resources?.limits), ...parseResources(resources?.requests) };
}

function heldFor({ allocatedResources, resources }: Held): Resources {
  return maxResources(parseResources(allocatedResources), parseResources(resources?.requests));
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

/**
 * The pod-level requests. They replace the sum of the containers, for each resource. During a resize they count like
 * those of a container.
 */
function podLevelRequests(spec: PodSpec, status: PodStatus | undefined): Resources {
  if (spec.resources === undefined) return NO_RESOURCES;
  const asked = askedFor(spec);
  if (status === undefined || !isSized(status)) return asked;
  const taken = takenBy(asked, status, status);
  return Object.fromEntries(Object.keys(asked).map((name) => [name, taken[name] ?? 0]));
}
