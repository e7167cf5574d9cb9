/**
 * What the API server adds to a pod that is not created yet: requests from limits, defaults of the namespace's
 * LimitRanges, then what its RuntimeClass adds. Pods of DaemonSets on planned nodes and pods of CapacityBuffers are made from a template, so
 * without this they would look smaller than they become. upstream plans such a template as it is written.
 */
import { type LimitRange, withLimitRanges } from "../../apis/core/limit-range.ts";
import type { Container, PodSpec } from "../../apis/core/pod.ts";
import { type RuntimeClass, withRuntimeClass } from "../../apis/node/runtime-class.ts";

/** The objects that admission reads, and what it makes of a spec. */
export class PodAdmission {
  /** By namespace, each list in the order of names. */
  readonly #limitRanges = new Map<string, readonly LimitRange[]>();
  readonly #runtimeClasses = new Map<string, RuntimeClass>();
  #revision = 0;

  updateLimitRange(limitRange: LimitRange): void {
    this.#replace(limitRange.metadata, [limitRange]);
  }

  deleteLimitRange({ metadata }: LimitRange): void {
    this.#replace(metadata, []);
  }

  #replace({ namespace = "", name }: LimitRange["metadata"], by: readonly LimitRange[]): void {
    const others = (this.#limitRanges.get(namespace) ?? []).filter(
      ({ metadata }) => metadata.name !== name,
    );
    const next = [...others, ...by].sort((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1));
    this.#limitRanges.set(namespace, next);
    this.#revision++;
  }

  updateRuntimeClass(runtimeClass: RuntimeClass): void {
    this.#runtimeClasses.set(runtimeClass.metadata.name, runtimeClass);
    this.#revision++;
  }

  deleteRuntimeClass(name: string): void {
    if (this.#runtimeClasses.delete(name)) this.#revision++;
  }

  /** Rises with each change of what {@link completed} answers. */
  get revision(): number {
    return this.#revision;
  }

  /**
   * The spec as it would be stored. A spec that contradicts its RuntimeClass, or names one that is not known, keeps
   * what it says itself: the API server refuses such a pod.
   */
  completed(namespace: string | undefined, spec: PodSpec): PodSpec {
    const ranges = this.#limitRanges.get(namespace ?? "") ?? [];
    const limited = withLimitRanges(withRequestsFromLimits(spec), ranges);
    const { runtimeClassName } = spec;
    if (typeof runtimeClassName !== "string") return limited;
    const outcome = withRuntimeClass(limited, this.#runtimeClasses.get(runtimeClassName));
    return outcome.problem === undefined ? outcome.spec : limited;
  }
}

/** A limit without a request is also the request. Returns `spec` itself if there is none. */
function withRequestsFromLimits(spec: PodSpec): PodSpec {
  const { containers, initContainers } = spec;
  if (![...containers, ...(initContainers ?? [])].some(lacksRequest)) return spec;
  return {
    ...spec,
    containers: containers.map(complete),
    ...(initContainers === undefined ? {} : { initContainers: initContainers.map(complete) }),
  };
}

function lacksRequest({ resources }: Container): boolean {
  const { limits = {}, requests = {} } = resources ?? {};
  return Object.keys(limits).some((name) => !Object.hasOwn(requests, name));
}

function complete(container: Container): Container {
  if (!lacksRequest(container)) return container;
  const { limits, requests } = container.resources ?? {};
  return {
    ...container,
    resources: { ...container.resources, requests: { ...limits, ...requests } },
  };
}
