/**
 * The mirrors that controllers read. A mirror is the local copy of all objects of one kind, which a watch keeps up to
 * date. Each has its indexes and its projection, which keeps only the needed fields. Only the first caller of a mirror
 * sets its options, so all code must get mirrors from here. Reads are synchronous and include this process's own
 * writes.
 */
import {
  DAEMON_SET,
  type DaemonSet,
  DEPLOYMENT,
  type Deployment,
  REPLICA_SET,
  REPLICATION_CONTROLLER,
  STATEFUL_SET,
} from "../apis/apps/kinds.ts";
import {
  CAPACITY_BUFFER,
  type CapacityBuffer,
  POD_TEMPLATE,
  type StoredPodTemplate,
} from "../apis/autoscaling/capacity-buffer.ts";
import {
  VERTICAL_POD_AUTOSCALER,
  type VerticalPodAutoscaler,
} from "../apis/autoscaling/vertical-pod-autoscaler.ts";
import {
  NAMESPACE,
  type Namespace,
  PERSISTENT_VOLUME,
  PERSISTENT_VOLUME_CLAIM,
  type PersistentVolume,
  type PersistentVolumeClaim,
  RESOURCE_QUOTA,
  type ResourceQuota,
  SERVICE,
  type Service,
} from "../apis/core/kinds.ts";
import { LIMIT_RANGE, type LimitRange } from "../apis/core/limit-range.ts";
import { NODE, type Node } from "../apis/core/node.ts";
import { POD, type Pod } from "../apis/core/pod.ts";
import { CLAIM_KINDS } from "../apis/hub/claim.ts";
import { POOL_KINDS } from "../apis/hub/to-pool.ts";
import { NODE_OVERLAY, type NodeOverlay } from "../apis/karpenter/nodeoverlay.ts";
import type { Kind, KubeObject } from "../apis/meta.ts";
import { RUNTIME_CLASS, type RuntimeClass } from "../apis/node/runtime-class.ts";
import { POD_DISRUPTION_BUDGET, type PodDisruptionBudget } from "../apis/policy/kinds.ts";
import {
  DEVICE_CLASS,
  type DeviceClass,
  RESOURCE_CLAIM,
  RESOURCE_CLAIM_TEMPLATE,
  RESOURCE_SLICE,
  type ResourceClaim,
  type ResourceClaimTemplate,
  type ResourceSlice,
} from "../apis/resource/kinds.ts";
import {
  CSI_NODE,
  type CSINode,
  STORAGE_CLASS,
  type StorageClass,
  VOLUME_ATTACHMENT,
  type VolumeAttachment,
} from "../apis/storage/kinds.ts";
import { within } from "../base/within.ts";
import type { ReadPage } from "../kube/client/client.ts";
import type { Mirror, Mirrors } from "../kube/mirror/mirror.ts";
import { createPodFrameReader, createPodPageReader } from "../kube/protobuf/pod-frames.ts";
import { createPodProjection } from "./pod-projection.ts";
import type { World } from "./world.ts";

type HasMirrors = Pick<World, "mirrors">;

/** All pods. Index `node`: pods by `spec.nodeName`. */
export function pods({ mirrors }: HasMirrors): Mirror<Pod> {
  return mirrors.of(POD, podOptions(mirrors));
}

/** Reads a page of a list of pods in protobuf, as the mirror does. */
export function readPodPage({ mirrors }: HasMirrors): ReadPage<Pod> {
  return podOptions(mirrors).readPage;
}

/** The options of the pod mirror, kept so that all callers share one projection. */
const optionsOfPods = new WeakMap<Mirrors, ReturnType<typeof newPodOptions>>();

function podOptions(mirrors: Mirrors): ReturnType<typeof newPodOptions> {
  return within(optionsOfPods, mirrors, newPodOptions);
}

function newPodOptions() {
  const project = createPodProjection();
  return {
    vital: true,
    project,
    readFrame: createPodFrameReader(project),
    readPage: createPodPageReader(project),
    indexes: {
      node: (pod: Pod) => (pod.spec.nodeName === undefined ? [] : [pod.spec.nodeName]),
    },
  };
}

/** All Nodes. Index `providerId`: Nodes by provider id. */
export function nodes(world: HasMirrors): Mirror<Node> {
  return world.mirrors.of(NODE, {
    vital: true,
    indexes: {
      providerId: (node) => (node.spec?.providerID === undefined ? [] : [node.spec.providerID]),
    },
  });
}

/**
 * Claims as stored, one mirror for each kind. Index `providerId`: claims by provider id. Read them through `claims.ts`.
 */
export function nativeClaims(world: HasMirrors, kind: Kind): Mirror<KubeObject> {
  return world.mirrors.of(kind, {
    vital: true,
    indexes: {
      providerId: (claim) => {
        const id = (claim as { status?: { providerID?: string } }).status?.providerID;
        return id === undefined ? [] : [id];
      },
    },
  });
}

/**
 * Pools as stored, one mirror for each kind. Read them through `pools.ts`. They keep managedFields: the last writer of
 * the spec decides whether v1beta1's rules apply to a NodePool.
 */
export function nativePools(world: HasMirrors, kind: Kind): Mirror<KubeObject> {
  return world.mirrors.of(kind, { vital: true, project: (pool) => pool });
}

/** Node classes of one kind of the provider. */
export function nodeClasses(world: HasMirrors, kind: Kind): Mirror<KubeObject> {
  return world.mirrors.of(kind);
}

function daemonSets(world: HasMirrors): Mirror<DaemonSet> {
  return world.mirrors.of(DAEMON_SET);
}

/**
 * Deployments without their pod specs: only the fields that decide whether one may be rolled over. The mirror exists
 * only if moves without downtime or CapacityBuffers are enabled.
 */
export function deployments(world: HasMirrors): Mirror<Deployment> {
  return world.mirrors.of(DEPLOYMENT, { optional: true, project: withoutPodSpec });
}

function withoutPodSpec({ spec: { template, ...spec }, ...deployment }: Deployment): Deployment {
  const { managedFields: _, ...metadata } = deployment.metadata;
  const { metadata: podMetadata } = template;
  const bare = { spec: { containers: [] }, ...(podMetadata ? { metadata: podMetadata } : {}) };
  return { ...deployment, metadata, spec: { ...spec, template: bare } };
}

/** All LimitRanges. They set requests of DaemonSet pods that do not exist yet. */
function limitRanges(world: HasMirrors): Mirror<LimitRange> {
  return world.mirrors.of(LIMIT_RANGE, { optional: true });
}

/**
 * All RuntimeClasses. They add overhead to DaemonSet pods that do not exist yet. Upstream's chart does not grant the
 * right to read them.
 */
function runtimeClasses(world: HasMirrors): Mirror<RuntimeClass> {
  return world.mirrors.of(RUNTIME_CLASS, { optional: true });
}

/**
 * All VerticalPodAutoscalers: recommended requests of pods that will be created again. Read only with
 * `--read-vpa-recommendations`. Most clusters do not have this kind.
 */
function verticalAutoscalers(world: HasMirrors): Mirror<VerticalPodAutoscaler> {
  return world.mirrors.of(VERTICAL_POD_AUTOSCALER, { optional: true });
}

/**
 * Services and workloads, whose selectors are used for the default topology spread. Read only if a default spread is
 * configured.
 */
export function selectorKinds(world: HasMirrors): {
  readonly services: Mirror<Service>;
  readonly workloads: readonly Mirror<KubeObject>[];
} {
  const of = (kind: Kind) => world.mirrors.of(kind, { optional: true });
  return {
    services: world.mirrors.of(SERVICE, { optional: true }),
    workloads: [of(REPLICA_SET as Kind), of(STATEFUL_SET as Kind), of(REPLICATION_CONTROLLER)],
  };
}

/** All PodDisruptionBudgets. */
export function disruptionBudgets(world: HasMirrors): Mirror<PodDisruptionBudget> {
  return world.mirrors.of(POD_DISRUPTION_BUDGET);
}

/** All namespaces: pod affinity selects namespaces by their labels. */
export function namespaces(world: HasMirrors): Mirror<Namespace> {
  return world.mirrors.of(NAMESPACE);
}

/** All PersistentVolumeClaims. */
export function volumeClaims(world: HasMirrors): Mirror<PersistentVolumeClaim> {
  return world.mirrors.of(PERSISTENT_VOLUME_CLAIM);
}

/** All PersistentVolumes. */
export function volumes(world: HasMirrors): Mirror<PersistentVolume> {
  return world.mirrors.of(PERSISTENT_VOLUME);
}

/** All StorageClasses. */
export function storageClasses(world: HasMirrors): Mirror<StorageClass> {
  return world.mirrors.of(STORAGE_CLASS);
}

/** All CSINodes: how many volumes a node can attach. */
export function csiNodes(world: HasMirrors): Mirror<CSINode> {
  return world.mirrors.of(CSI_NODE);
}

/** All NodeOverlays. Read only with the feature gate NodeOverlay. */
export function nodeOverlays(world: HasMirrors): Mirror<NodeOverlay> {
  return world.mirrors.of(NODE_OVERLAY);
}

/**
 * All CapacityBuffers. This mirror and the next two need the feature gate CapacityBuffer. Planning starts even without
 * the right to read them.
 */
export function capacityBuffers(world: HasMirrors): Mirror<CapacityBuffer> {
  return world.mirrors.of(CAPACITY_BUFFER, { optional: true });
}

/** All PodTemplates, which CapacityBuffers reference. */
export function podTemplates(world: HasMirrors): Mirror<StoredPodTemplate> {
  return world.mirrors.of(POD_TEMPLATE, { optional: true });
}

/** Workloads that CapacityBuffers may reference, besides Deployments. */
function scalables(world: HasMirrors): readonly Mirror<KubeObject>[] {
  const kinds = [REPLICA_SET, STATEFUL_SET] as readonly Kind[];
  return kinds.map((kind) => world.mirrors.of(kind, { optional: true }));
}

/** All ResourceQuotas. Without the right to read them, they do not limit CapacityBuffers. */
export function resourceQuotas(world: HasMirrors): Mirror<ResourceQuota> {
  return world.mirrors.of(RESOURCE_QUOTA, { optional: true });
}

/**
 * Objects for pods with resource claims. They are read only if the planning of devices is enabled. If the cluster does
 * not have these kinds, the mirrors are empty. Pods without claims do not wait for the right to read them.
 */
export function deviceKinds({ mirrors }: HasMirrors): {
  readonly slices: Mirror<ResourceSlice>;
  readonly claims: Mirror<ResourceClaim>;
  readonly templates: Mirror<ResourceClaimTemplate>;
  readonly classes: Mirror<DeviceClass>;
} {
  const optional = { optional: true };
  return {
    slices: mirrors.of(RESOURCE_SLICE, optional),
    claims: mirrors.of(RESOURCE_CLAIM, optional),
    templates: mirrors.of(RESOURCE_CLAIM_TEMPLATE, optional),
    classes: mirrors.of(DEVICE_CLASS, optional),
  };
}

/** All VolumeAttachments: a node's instance is terminated after they are gone. */
export function volumeAttachments(world: HasMirrors): Mirror<VolumeAttachment> {
  return world.mirrors.of(VOLUME_ATTACHMENT);
}

/**
 * Opens all mirrors of this file, so that all are synced before the first decision. Call this before other code, such
 * as a provider, opens one: the first caller sets the options.
 */
export function openMirrors(world: HasMirrors & Partial<Pick<World, "cloud" | "settings">>): void {
  pods(world);
  nodes(world);
  for (const kind of CLAIM_KINDS) nativeClaims(world, kind);
  for (const kind of POOL_KINDS) nativePools(world, kind);
  for (const kind of world.cloud?.nodeClassKinds ?? []) nodeClasses(world, kind);
  daemonSets(world);
  limitRanges(world);
  runtimeClasses(world);
  if (world.settings?.readsRecommendations === true) verticalAutoscalers(world);
  if ((world.settings?.defaultSpread ?? []).length > 0) selectorKinds(world);
  if (world.settings?.compileSelector !== undefined) deviceKinds(world);
  if ((world.settings?.surgeTimeoutMs ?? 0) > 0) deployments(world);
  disruptionBudgets(world);
  namespaces(world);
  volumeClaims(world);
  volumes(world);
  storageClasses(world);
  csiNodes(world);
  volumeAttachments(world);
  if (world.settings?.gates.nodeOverlay === true) nodeOverlays(world);
  if (world.settings?.gates.capacityBuffer === true) {
    capacityBuffers(world);
    podTemplates(world);
    resourceQuotas(world);
    deployments(world);
    scalables(world);
  }
}
