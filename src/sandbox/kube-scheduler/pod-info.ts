/**
 * A pod with everything that scheduling reads, computed once: its requests, its host ports and its affinity terms.
 * upstream: kubernetes pkg/scheduler/framework (PodInfo)
 */

import { type HostPort, hostPorts } from "../../apis/core/host-ports.ts";
import type { Container, Pod, PodAffinityTerm } from "../../apis/core/pod.ts";
import { podRequests } from "../../apis/core/pod-resources.ts";
import { matchesLabelSelector } from "../../apis/core/selectors.ts";
import type { LabelSelector } from "../../apis/meta.ts";
import { keyOf } from "../../apis/meta.ts";
import type { Resources } from "../../apis/resources.ts";
import { canonicalJson } from "../../base/json.ts";

/** Labels: key → value. */
export type Labels = Readonly<Record<string, string>>;

/** The labels of all objects that have none. */
export const NO_LABELS: Labels = Object.freeze({});

/** CPU that scoring assumes for a container without a request. */
const DEFAULT_MILLI_CPU = 100;
const DEFAULT_MEMORY_BYTES = 200 * 1024 * 1024;

/** A parsed affinity term. Terms with an equal `id` match the same pods. */
export interface Term {
  readonly id: string;
  readonly topologyKey: string;
  matches(labels: Labels, namespace: string, namespaceLabels: Labels): boolean;
}

/** A preferred term; its weight is from 1 to 100. */
export interface WeightedTerm {
  readonly term: Term;
  readonly weight: number;
}

/** A pod with everything that scheduling reads, computed once. */
export interface PodInfo {
  readonly pod: Pod;
  readonly key: string;
  readonly uid: string;
  readonly namespace: string;
  readonly labels: Labels;
  readonly priority: number;
  readonly terminating: boolean;
  /** Requests without the `pods` count. */
  readonly requests: Resources;
  /** The pod's requests for scoring, with defaults for missing ones. */
  readonly nonZero: Amounts;
  readonly scored: Amounts;
  readonly ports: readonly HostPort[];
  /** Names of the claims of its volumes, including generic ephemeral ones. */
  readonly claims: readonly string[];
  /** The {@link claims} that belong to generic ephemeral volumes. */
  readonly ephemeralClaims: ReadonlySet<string>;
  readonly affinity: readonly Term[];
  readonly antiAffinity: readonly Term[];
  readonly preferredAffinity: readonly WeightedTerm[];
  readonly preferredAntiAffinity: readonly WeightedTerm[];
  /** Pods with an equal shape get equal answers from filters that look at a single node. */
  readonly shape: string;
}

/** Reads a pod for scheduling. */
export function podInfo(pod: Pod): PodInfo {
  const { pods: _, ...requests } = podRequests(pod);
  const ports = hostPorts(pod);
  const nonZero = nonZeroRequests(pod, requests);
  const affinity = pod.spec.affinity;
  const required = (terms: readonly PodAffinityTerm[] | undefined): Term[] =>
    (terms ?? []).map((term) => compileTerm(term, pod));
  const preferred = (
    terms:
      | readonly { readonly weight: number; readonly podAffinityTerm: PodAffinityTerm }[]
      | undefined,
  ): WeightedTerm[] =>
    (terms ?? []).map(({ weight, podAffinityTerm }) => ({
      weight,
      term: compileTerm(podAffinityTerm, pod),
    }));
  return {
    pod,
    key: keyOf(pod),
    uid: pod.metadata.uid ?? "",
    namespace: pod.metadata.namespace ?? "",
    labels: pod.metadata.labels ?? NO_LABELS,
    priority: pod.spec.priority ?? 0,
    terminating: pod.metadata.deletionTimestamp !== undefined,
    requests,
    nonZero,
    scored: pod.spec.resources === undefined ? nonZero : scoredRequests(pod),
    ports,
    claims: claimNames(pod),
    ephemeralClaims: new Set(ephemeralClaimNames(pod)),
    affinity: required(affinity?.podAffinity?.requiredDuringSchedulingIgnoredDuringExecution),
    antiAffinity: required(
      affinity?.podAntiAffinity?.requiredDuringSchedulingIgnoredDuringExecution,
    ),
    preferredAffinity: preferred(
      affinity?.podAffinity?.preferredDuringSchedulingIgnoredDuringExecution,
    ),
    preferredAntiAffinity: preferred(
      affinity?.podAntiAffinity?.preferredDuringSchedulingIgnoredDuringExecution,
    ),
    shape: canonicalJson([
      requests,
      ports,
      pod.spec.nodeSelector ?? null,
      affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution ?? null,
      pod.spec.tolerations ?? null,
    ]),
  };
}

/** Names of the claims of a pod's volumes. The claim of a generic ephemeral volume is `<pod>-<volume>`. */
function claimNames(pod: Pod): string[] {
  const names: string[] = [];
  for (const volume of pod.spec.volumes ?? []) {
    if (volume.persistentVolumeClaim !== undefined) {
      names.push(volume.persistentVolumeClaim.claimName);
    } else if (volume.ephemeral !== undefined) {
      names.push(`${pod.metadata.name}-${volume.name}`);
    }
  }
  return names;
}

function ephemeralClaimNames({ metadata, spec }: Pod): readonly string[] {
  return (spec.volumes ?? [])
    .filter(({ ephemeral }) => ephemeral !== undefined)
    .map(({ name }) => `${metadata.name}-${name}`);
}

/** The selector with a requirement on the pod's own value added for each of the keys that the pod has. */
export function withLabelKeys(
  selector: LabelSelector | undefined,
  keys: readonly string[] | undefined,
  operator: "In" | "NotIn",
  labels: Labels,
): LabelSelector | undefined {
  const extra = (keys ?? [])
    .filter((key) => labels[key] !== undefined)
    .map((key) => ({ key, operator, values: [labels[key] as string] }));
  if (extra.length === 0) return selector;
  return { ...selector, matchExpressions: [...(selector?.matchExpressions ?? []), ...extra] };
}

function compileTerm(term: PodAffinityTerm, pod: Pod): Term {
  const labels = pod.metadata.labels ?? NO_LABELS;
  const matching = withLabelKeys(term.labelSelector, term.matchLabelKeys, "In", labels);
  const selector = withLabelKeys(matching, term.mismatchLabelKeys, "NotIn", labels);
  const own = (term.namespaces ?? []).length === 0 && term.namespaceSelector === undefined;
  const namespaces = own ? [pod.metadata.namespace ?? ""] : [...(term.namespaces ?? [])].sort();
  const { topologyKey, namespaceSelector } = term;
  return {
    id: canonicalJson([topologyKey, selector ?? null, namespaces, namespaceSelector ?? null]),
    topologyKey,
    matches(other, namespace, namespaceLabels) {
      const inScope =
        namespaces.includes(namespace) ||
        (namespaceSelector !== undefined &&
          matchesLabelSelector(namespaceSelector, namespaceLabels));
      return inScope && selector !== undefined && matchesLabelSelector(selector, other);
    },
  };
}

/**
 * The requests by which scoring counts a pod that is being placed: those of its containers, with assumed amounts for
 * missing ones. kube-scheduler ignores the pod's own requests (pod-level resources) here.
 * upstream: pkg/scheduler/framework/plugins/noderesources/{fit,resource_allocation}.go
 */
function scoredRequests({ spec, ...rest }: Pod): Amounts {
  const { resources: _, ...containersOnly } = spec;
  return filledRequests({ ...rest, spec: containersOnly }, ["cpu", "memory"]);
}

/** The requests of a placed pod for scoring. With pod-level resources, defaults fill only the missing ones. */
function nonZeroRequests(pod: Pod, requests: Resources): Amounts {
  const isWhole = pod.spec.resources !== undefined;
  const names = ["cpu", "memory"] as const;
  return filledRequests(
    pod,
    names.filter((name) => !isWhole || requests[name] === undefined),
  );
}

interface Amounts {
  readonly milliCpu: number;
  readonly memoryBytes: number;
}

const ASSUMED = { cpu: `${DEFAULT_MILLI_CPU}m`, memory: DEFAULT_MEMORY_BYTES };

function filledRequests(pod: Pod, names: readonly ("cpu" | "memory")[]): Amounts {
  const assumed = Object.fromEntries(names.map((name) => [name, ASSUMED[name]]));
  const fill = (container: Container): Container => ({
    ...container,
    resources: {
      ...container.resources,
      requests: { ...assumed, ...container.resources?.requests },
    },
  });
  const { containers, initContainers } = pod.spec;
  const filled = podRequests({
    ...pod,
    spec: {
      ...pod.spec,
      containers: containers.map(fill),
      ...(initContainers === undefined ? {} : { initContainers: initContainers.map(fill) }),
    },
  });
  return { milliCpu: filled["cpu"] ?? 0, memoryBytes: filled["memory"] ?? 0 };
}
