/**
 * Reduces pods to the fields that decisions read. Fields that only people read (managedFields, environment, probes,
 * container states, mounted secrets) are dropped. Parts that pods of one template have in common are stored once. So
 * ten thousand pods of a Deployment need little more memory than their names.
 */
import type { ContainerStatus, Pod, PodSpec, PodStatus, Volume } from "../apis/core/pod.ts";
import { isSized } from "../apis/core/pod-resources.ts";
import type { Condition } from "../apis/meta.ts";
import { deepFreeze } from "../base/json.ts";

/** The most parts that are kept for sharing. When there are more, all are dropped. */
const SHARED_LIMIT = 8_192;
const KUBELETS: ReadonlySet<string> = new Set([
  "securityContext",
  "imagePullSecrets",
  "hostAliases",
  "dnsConfig",
  "readinessGates",
  "ephemeralContainers",
]);
const LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration";

/** Creates a function that reduces pods. Equal parts of its results are one object. */
export function createPodProjection(): (pod: Pod) => Pod {
  const pieces = new Map<string, unknown>();

  function shared<T>(piece: T): T {
    if (piece === undefined) return piece;
    const text = JSON.stringify(piece);
    return (pieces.get(text) as T | undefined) ?? keep(text, piece);
  }

  function keep<T>(text: string, piece: T): T {
    if (pieces.size >= SHARED_LIMIT) pieces.clear();
    pieces.set(text, deepFreeze(piece));
    return piece;
  }

  /**
   * The pod spec with shared parts. Templates that differ in their requests often have equal affinities and spreads.
   * These are shared, so that each is evaluated only once.
   */
  function sharedTemplate(spec: PodSpec): PodSpec {
    const text = JSON.stringify(spec);
    const known = pieces.get(text) as PodSpec | undefined;
    if (known !== undefined) return known;
    const { affinity, topologySpreadConstraints: spreads } = spec;
    return keep(text, {
      ...spec,
      ...(affinity === undefined ? {} : { affinity: shared(affinity) }),
      ...(spreads === undefined ? {} : { topologySpreadConstraints: shared(spreads) }),
    });
  }

  return ({ metadata, spec, status, ...rest }) => {
    const { nodeName, volumes, ...common } = spec;
    const sharedSpec = sharedTemplate(specOf(common));
    const own = ownOf(nodeName, volumes);
    return Object.freeze({
      ...rest,
      metadata: Object.freeze(metadataOf(metadata, shared)),
      spec: own === undefined ? sharedSpec : Object.freeze({ ...sharedSpec, ...own }),
      ...(status === undefined ? {} : { status: Object.freeze(statusOf(status, shared)) }),
    });
  };
}

type Share = <T>(piece: T) => T;

function metadataOf(metadata: Pod["metadata"], shared: Share): Pod["metadata"] {
  const { managedFields: _, annotations, labels, ownerReferences, ...own } = metadata;
  const { [LAST_APPLIED]: __, ...kept } = annotations ?? {};
  return {
    ...own,
    ...(labels === undefined ? {} : { labels: shared(labels) }),
    ...(annotations === undefined ? {} : { annotations: shared(kept) }),
    ...(ownerReferences === undefined ? {} : { ownerReferences: shared(ownerReferences) }),
  };
}

function specOf(spec: PodSpec): PodSpec {
  const { containers, initContainers, ...others } = spec;
  return {
    ...withoutKubelets(others),
    containers: containers.map(containerOf),
    ...(initContainers === undefined ? {} : { initContainers: initContainers.map(containerOf) }),
  };
}

/**
 * The spec without fields that only the kubelet and the container runtime read. `src/kube/protobuf/messages.ts` skips
 * the same fields.
 */
function withoutKubelets(spec: Omit<PodSpec, "containers">): object {
  const kept: Record<string, unknown> = {};
  for (const key in spec) if (!KUBELETS.has(key)) kept[key] = spec[key];
  return kept;
}

/** The parts that differ between pods of one template: the node, and the volumes of a StatefulSet. */
function ownOf(
  nodeName: string | undefined,
  volumes: readonly Volume[] | undefined,
): Pick<PodSpec, "nodeName" | "volumes"> | undefined {
  // Other volumes are dropped: no decision reads them, and the names of mounted tokens differ between pods.
  const claimed = volumes?.filter(isClaim) ?? [];
  if (nodeName === undefined && claimed.length === 0) return undefined;
  return {
    ...(nodeName === undefined ? {} : { nodeName }),
    ...(claimed.length === 0 ? {} : { volumes: deepFreeze(claimed) }),
  };
}

function isClaim(volume: Volume): boolean {
  return volume.persistentVolumeClaim !== undefined || volume.ephemeral !== undefined;
}

function containerOf({
  name,
  ports,
  resources,
  restartPolicy,
}: Pod["spec"]["containers"][number]): Pod["spec"]["containers"][number] {
  return {
    name,
    ...(ports === undefined ? {} : { ports }),
    ...(resources === undefined ? {} : { resources }),
    ...(restartPolicy === undefined ? {} : { restartPolicy }),
  };
}

function statusOf(status: PodStatus, shared: Share): PodStatus {
  const { phase, conditions, nominatedNodeName, startTime, reason } = status;
  const { containerStatuses, initContainerStatuses, allocatedResources, resources } = status;
  const claims = status["resourceClaimStatuses"];
  const sized = containerStatuses?.filter(isSized).map(sizeOf) ?? [];
  const sizedInit = initContainerStatuses?.filter(isSized).map(sizeOf) ?? [];
  return {
    ...(phase === undefined ? {} : { phase }),
    ...(conditions === undefined ? {} : { conditions: shared(conditions.map(timeless)) }),
    ...(nominatedNodeName === undefined ? {} : { nominatedNodeName }),
    ...(startTime === undefined ? {} : { startTime }),
    ...(reason === undefined ? {} : { reason }),
    ...(sized.length === 0 ? {} : { containerStatuses: shared(sized) }),
    ...(sizedInit.length === 0 ? {} : { initContainerStatuses: shared(sizedInit) }),
    ...(allocatedResources === undefined ? {} : { allocatedResources: shared(allocatedResources) }),
    ...(resources === undefined ? {} : { resources: shared(resources) }),
    ...(claims === undefined ? {} : { resourceClaimStatuses: claims }),
  };
}

/** The condition without its times, which no decision reads. */
function timeless({ type, status, reason, message }: Condition): Condition {
  return {
    type,
    status,
    ...(reason === undefined ? {} : { reason }),
    ...(message === undefined ? {} : { message }),
  };
}

function sizeOf({ name, ready, allocatedResources, resources }: ContainerStatus): ContainerStatus {
  return {
    name,
    ready,
    ...(allocatedResources === undefined ? {} : { allocatedResources }),
    ...(resources === undefined ? {} : { resources }),
  };
}
