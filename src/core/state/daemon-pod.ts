/**
 * A DaemonSet's pod as it would run on a node that does not exist yet: the overhead to plan for.
 * Its spec is that of the newest live pod, which admission has completed, or else the template's;
 * its node affinity is always the template's, because a live pod is tied to its own node. upstream:
 * pkg/controllers/state/cluster.go (GetDaemonSetPod)
 */
import type { DaemonSet } from "../../apis/apps/kinds.ts";
import { type LimitRange, withLimitRanges } from "../../apis/core/limit-range.ts";
import type { Container, Pod, PodSpec } from "../../apis/core/pod.ts";

export interface DaemonFacts {
  readonly daemonSet: DaemonSet;
  /** By key. */
  readonly livePods: Map<string, Pod>;
}

/** `ranges`: those of its namespace, which complete the template until a live pod shows. */
export function daemonPod(facts: DaemonFacts, ranges: readonly LimitRange[] = []): Pod {
  const { metadata, spec } = facts.daemonSet;
  const live = newestOf(facts.livePods.values());
  const { affinity, ...source } =
    live?.spec ?? withLimitRanges(withRequestsFromLimits(spec.template.spec), ranges);
  const { nodeName: _, ...rest } = source;
  const wanted = spec.template.spec.affinity ?? (live === undefined ? affinity : undefined);
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      name: `${metadata.name}-daemon`,
      ...(metadata.namespace === undefined ? {} : { namespace: metadata.namespace }),
      labels: spec.template.metadata?.labels ?? {},
      ownerReferences: [
        {
          apiVersion: "apps/v1",
          kind: "DaemonSet",
          name: metadata.name,
          uid: metadata.uid ?? "",
          controller: true,
        },
      ],
    },
    spec: { ...(rest as PodSpec), ...(wanted === undefined ? {} : { affinity: wanted }) },
  };
}

/**
 * What the API server's defaulting would have done to the pod: a limit without a request is one.
 */
function withRequestsFromLimits(spec: PodSpec): PodSpec {
  const complete = (container: Container): Container => {
    const { limits, requests } = container.resources ?? {};
    if (limits === undefined) return container;
    return { ...container, resources: { limits, requests: { ...limits, ...requests } } };
  };
  return {
    ...spec,
    containers: spec.containers.map(complete),
    ...(spec.initContainers === undefined
      ? {}
      : { initContainers: spec.initContainers.map(complete) }),
  };
}

/** There is one for each node. */
function newestOf(pods: Iterable<Pod>): Pod | undefined {
  let newest: Pod | undefined;
  for (const pod of pods) if (newest === undefined || isNewer(pod, newest)) newest = pod;
  return newest;
}

function isNewer(a: Pod, b: Pod): boolean {
  const [at, bt] = [a.metadata.creationTimestamp ?? "", b.metadata.creationTimestamp ?? ""];
  return at === bt ? a.metadata.name < b.metadata.name : at > bt;
}
