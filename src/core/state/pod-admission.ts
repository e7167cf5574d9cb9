/**
 * Computes what the API server would add to a pod when it is created: requests from limits, defaults of the namespace's
 * LimitRanges, the overhead of its RuntimeClass, then the recommendation of a VerticalPodAutoscaler. Planning needs
 * this for pods that do not exist yet and are made from a template: pods of DaemonSets on new nodes, and pods of
 * CapacityBuffers. Without these additions they would be planned too small. Upstream plans such templates as they are
 * written.
 */
import type { VerticalPodAutoscaler } from "../../apis/autoscaling/vertical-pod-autoscaler.ts";
import { type LimitRange, withLimitRanges } from "../../apis/core/limit-range.ts";
import type { Container, Pod, PodSpec } from "../../apis/core/pod.ts";
import { type KubeObject, keyOf } from "../../apis/meta.ts";
import { type RuntimeClass, withRuntimeClass } from "../../apis/node/runtime-class.ts";
import { type PodMaker, Recommendations, workloadOf } from "./recommendations.ts";

/** Stores the objects that admission needs, and applies them to specs. */
export class PodAdmission {
  /** LimitRanges by namespace, each list sorted by name. */
  readonly #limitRanges = new Map<string, readonly LimitRange[]>();
  readonly #runtimeClasses = new Map<string, RuntimeClass>();
  readonly #autoscalers = new Map<string, VerticalPodAutoscaler>();
  #recommending: readonly VerticalPodAutoscaler[] | undefined;
  #recommendations: Recommendations | undefined;
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

  /**
   * Stores the autoscaler. Its recommender writes every minute. The revision increases only if the recommended amounts,
   * the spec or the creation time changed.
   */
  updateAutoscaler(autoscaler: VerticalPodAutoscaler): void {
    const key = keyOf(autoscaler);
    const known = this.#autoscalers.get(key);
    if (known !== undefined && effectOf(known) === effectOf(autoscaler)) return;
    this.#autoscalers.set(key, autoscaler);
    this.#recommendAnew();
  }

  /** Replaces all VerticalPodAutoscalers by these. */
  replaceAutoscalers(autoscalers: readonly VerticalPodAutoscaler[]): void {
    const keys = new Set(autoscalers.map(keyOf));
    const gone = this.autoscalers.filter((one) => !keys.has(keyOf(one)));
    for (const autoscaler of gone) this.deleteAutoscaler(autoscaler);
    for (const autoscaler of autoscalers) this.updateAutoscaler(autoscaler);
  }

  deleteAutoscaler(autoscaler: KubeObject): void {
    if (this.#autoscalers.delete(keyOf(autoscaler))) this.#recommendAnew();
  }

  #recommendAnew(): void {
    this.#recommending = undefined;
    this.#recommendations = undefined;
    this.#revision++;
  }

  /** All VerticalPodAutoscalers, sorted by namespace and name. It is the same list until one of them changes. */
  get autoscalers(): readonly VerticalPodAutoscaler[] {
    this.#recommending ??= [...this.#autoscalers]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([, autoscaler]) => autoscaler);
    return this.#recommending;
  }

  /** The spec with the requests that a VerticalPodAutoscaler recommends for new pods of the workload. */
  recommended(workload: PodMaker, spec: PodSpec): PodSpec {
    if (this.#autoscalers.size === 0) return spec;
    this.#recommendations ??= new Recommendations(this.autoscalers);
    return this.#recommendations.completed(workload, spec);
  }

  /** The pod as it would be stored if it were created now, with the requests that are recommended for its workload. */
  created(pod: Pod): Pod {
    const stored = this.completed(pod.metadata.namespace, pod.spec);
    const workload = workloadOf(pod);
    const spec = workload === undefined ? stored : this.recommended(workload, stored);
    return spec === pod.spec ? pod : { ...pod, spec };
  }

  /** Increases when results of {@link completed} or {@link recommended} may change. */
  get revision(): number {
    return this.#revision;
  }

  /**
   * The spec as the API server would store it. If the spec contradicts its RuntimeClass or names an unknown one, the API
   * server would refuse it. Then nothing of the RuntimeClass is added.
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

/** The part of an autoscaler that changes recommendations, as text. */
function effectOf({ metadata, spec, status }: VerticalPodAutoscaler): string {
  const told = status?.recommendation?.containerRecommendations?.map(
    ({ containerName, target }) => [containerName, target],
  );
  return JSON.stringify([metadata.creationTimestamp, spec, told]);
}

/**
 * The spec with requests from limits: a limit without a request is also the request. Returns `spec` itself if there is
 * no such limit.
 */
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
