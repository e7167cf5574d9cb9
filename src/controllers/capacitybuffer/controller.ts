/**
 * Turns each CapacityBuffer into pods that reserve its capacity (core/buffers), and writes the result on the buffer. A
 * change of a buffer, its template or its workload triggers a planning pass. So does a pod that is bound to reserved
 * capacity, and one that leaves a node while a buffer lacks capacity. A pass also runs every half minute. Runs only
 * with the feature gate CapacityBuffer.
 * upstream: pkg/controllers/capacitybuffer/controller.go
 */

import { DEPLOYMENT, REPLICA_SET, STATEFUL_SET } from "../../apis/apps/kinds.ts";
import {
  ACTIVE_CAPACITY,
  CAPACITY_BUFFER,
  type CapacityBuffer,
  POD_TEMPLATE,
} from "../../apis/autoscaling/capacity-buffer.ts";
import { isTerminal, POD, type Pod } from "../../apis/core/pod.ts";
import { podRequests } from "../../apis/core/pod-resources.ts";
import {
  type ConditionChange,
  condition,
  withLoneCondition,
  withoutCondition,
} from "../../apis/karpenter/conditions.ts";
import { type Kind, type KubeObject, keyOf } from "../../apis/meta.ts";
import { grouped } from "../../base/counted.ts";
import { canonicalJson } from "../../base/json.ts";
import { bufferPods } from "../../core/buffers/pods.ts";
import { allowedByQuotas } from "../../core/buffers/quota.ts";
import { sizeNote, wantedPods } from "../../core/buffers/size.ts";
import { admittedTemplate } from "../../core/state/admitted-template.ts";
import { patchObject } from "../../kube/client/patch-object.ts";
import { isConflict } from "../../kube/errors.ts";
import {
  AWAIT_CHANGE,
  type Controller,
  type Outcome,
  type Request,
  requestFor,
  requeueAfter,
  source,
} from "../../kube/manager/controller.ts";
import { capacityBuffers, resourceQuotas, volumeClaims } from "../mirrors.ts";
import type { Batcher } from "../provisioning/batcher.ts";
import type { World } from "../world.ts";
import { type PodSource, sourceOf, type Unresolved } from "./template.ts";

/** There is no local copy of workloads, so they are read from the API server this often. upstream: the same */
const POLL_MS = 30_000;
/** A request that only triggers a planning pass. It cannot name a buffer, because no buffer has an empty name. */
const ROOM_CHANGED: Request = { kind: "Node", name: "" };

/** The workload kinds of apps/v1 that a buffer may reference. */
const WORKLOADS: readonly Kind[] = [DEPLOYMENT, REPLICA_SET, STATEFUL_SET] as readonly Kind[];

/** The controller `capacitybuffer`. `batcher`: the provisioner's batcher, which starts the planning passes. */
export function capacityBuffer(world: World, batcher: Batcher): Controller {
  const keeper: Keeper = { world, batcher, made: new Map() };
  return {
    name: "capacitybuffer",
    watches: [
      source(CAPACITY_BUFFER, (after, event, before) =>
        event === "updated" && before?.metadata.generation === after.metadata.generation
          ? []
          : [requestFor("CapacityBuffer", after)],
      ),
      source(POD_TEMPLATE, (template) => buffersOf(world, template, "PodTemplate")),
      ...WORKLOADS.map((kind) =>
        source(kind, (workload, _event, before) =>
          before?.metadata.generation === workload.metadata.generation
            ? []
            : buffersOf(world, workload, kind.kind),
        ),
      ),
      source(POD, (pod, event, before) => {
        const was = event === "removed" ? pod : before;
        const isGone = event === "removed" || isTerminal(pod);
        const leaves = isGone && was !== undefined && !isTerminal(was);
        const changes = leaves ? leavesRoom(world, pod) : !isGone && takesRoom(world, pod, before);
        return changes ? [ROOM_CHANGED] : [];
      }),
    ],
    concurrency: 10,
    reconcile: (request) => reconcile(keeper, request),
  };
}

/** Whether this pod was bound just now to a node with capacity reserved by a buffer. */
function takesRoom({ cluster }: World, pod: Pod, before: Pod | undefined): boolean {
  const { nodeName } = pod.spec;
  if (nodeName === undefined || before?.spec.nodeName !== undefined) return false;
  if (cluster.headroom.pods.length === 0) return false;
  const claimName = cluster.node(nodeName)?.claim?.metadata.name;
  return [claimName, nodeName].some(
    (name) => name !== undefined && cluster.placements.hostsBufferPods(name),
  );
}

/**
 * Whether a buffer lacked capacity in the last pass, and may use what this pod leaves on its node. Without a pass, the
 * node could be removed as empty, and another one would be launched for the buffer.
 */
function leavesRoom(world: World, { spec: { nodeName } }: Pod): boolean {
  if (nodeName === undefined || world.cluster.headroom.pods.length === 0) return false;
  return capacityBuffers(world)
    .each()
    .some((buffer) => condition(buffer, "Provisioning")?.reason === "RequiresNewCapacity");
}

/** Requests for the buffers in the object's namespace that reference the object. */
function buffersOf(world: World, { metadata }: KubeObject, kind: string): readonly Request[] {
  return capacityBuffers(world)
    .each()
    .filter(({ metadata: { namespace }, spec: { podTemplateRef, scalableRef } }) => {
      if (namespace !== metadata.namespace) return false;
      if (kind === "PodTemplate") return podTemplateRef?.name === metadata.name;
      const group = scalableRef?.apiGroup || "apps";
      return group === "apps" && scalableRef?.kind === kind && scalableRef.name === metadata.name;
    })
    .map((buffer) => requestFor("CapacityBuffer", buffer));
}

/** The pods made for a buffer. `of`: the inputs they were made from, since equal inputs give equal pods. */
interface Made {
  readonly of: string;
  readonly pods: readonly Pod[];
}

/** What the controller keeps from one reconcile to the next. */
interface Keeper {
  readonly world: World;
  readonly batcher: Batcher;
  /** The pods made for each buffer, by `namespace/name`. */
  readonly made: Map<string, Made>;
}

async function reconcile(keeper: Keeper, request: Request): Promise<Outcome> {
  const { world, batcher, made } = keeper;
  if (request.kind === ROOM_CHANGED.kind) {
    batcher.trigger("capacity buffers");
    return AWAIT_CHANGE;
  }
  const key = `${request.namespace}/${request.name}`;
  const buffer = capacityBuffers(world).get(key);
  if (buffer === undefined || buffer.metadata.deletionTimestamp !== undefined) {
    made.delete(key);
    keepRoomFor(keeper, key, []);
    return AWAIT_CHANGE;
  }
  const found = await resolve(world, buffer);
  const pods = "reason" in found ? [] : podsOf(keeper, buffer, found);
  keepRoomFor(keeper, key, pods);
  await writeResult(world, buffer, found);
  return requeueAfter(POLL_MS);
}

/** The pod template of a buffer, and how many such pods it reserves capacity for. */
interface Resolved extends PodSource {
  readonly count: number;
  /**
   * How a ResourceQuota reduced `count`. `by`: the name of the quota. `wanted`: the number of pods without it. Absent:
   * no quota did.
   */
  readonly limited?: { readonly by: string; readonly wanted: number };
  readonly note?: string | undefined;
}

async function resolve(world: World, buffer: CapacityBuffer): Promise<Resolved | Unresolved> {
  const { provisioningStrategy = ACTIVE_CAPACITY } = buffer.spec;
  if (provisioningStrategy !== ACTIVE_CAPACITY) {
    const message = `spec.provisioningStrategy: "${provisioningStrategy}" is not served here; use "${ACTIVE_CAPACITY}"`;
    return { reason: "ResolutionFailed", message };
  }
  const found = await sourceOf(world, buffer);
  if ("reason" in found) return found;
  const { replicas } = found;
  const template = admittedTemplate(world.cluster.admission, buffer, found.template);
  const [sample] = bufferPods(buffer, { template, count: 1, isBound: () => true }) as [Pod];
  const requests = podRequests(sample);
  const scalable = replicas === undefined ? undefined : { replicas };
  const wanted = wantedPods(buffer.spec, requests, scalable);
  const { count, by } = allowedByQuotas(wanted, {
    sample,
    quotas: quotasOf(world, buffer),
    before: podsBefore(world, buffer),
  });
  const note = sizeNote(buffer.spec, requests);
  return {
    ...found,
    template,
    count,
    note,
    ...(by === undefined ? {} : { limited: { by, wanted } }),
  };
}

function quotasOf(world: World, { metadata }: CapacityBuffer) {
  return resourceQuotas(world)
    .list()
    .filter(({ metadata: { namespace } }) => namespace === metadata.namespace);
}

/** Pods of the buffers that come before this one by name, in the same namespace. */
function podsBefore({ cluster, ...world }: World, { metadata }: CapacityBuffer): readonly Pod[] {
  return capacityBuffers(world)
    .list()
    .filter((one) => one.metadata.namespace === metadata.namespace)
    .filter((one) => one.metadata.name < metadata.name)
    .flatMap((one) => cluster.headroom.of(keyOf(one)));
}

function podsOf(
  { world, made }: Keeper,
  buffer: CapacityBuffer,
  { template, count }: Resolved,
): readonly Pod[] {
  const key = keyOf(buffer);
  const { namespace } = buffer.metadata;
  const isBound = (name: string) =>
    volumeClaims(world).get(`${namespace}/${name}`)?.spec.volumeName !== undefined;
  const claims = (template.spec.volumes ?? []).flatMap(
    ({ persistentVolumeClaim }) => persistentVolumeClaim?.claimName ?? [],
  );
  const of = canonicalJson([buffer.metadata.uid, count, template, claims.map(isBound)]);
  const before = made.get(key);
  if (before?.of === of) return before.pods;
  const pods = bufferPods(buffer, { template, count, isBound });
  made.set(key, { of, pods });
  return pods;
}

/**
 * Stores the pods of a buffer and triggers a planning pass. The pass is needed even if the pods are unchanged: the
 * reserved capacity may have been used without any watch event.
 */
function keepRoomFor({ world, batcher }: Keeper, key: string, pods: readonly Pod[]): void {
  const { headroom, placements } = world.cluster;
  const gone = headroom.set(key, pods);
  for (const pod of gone) placements.gone(pod);
  if (gone.length > 0) world.cluster.noteChange();
  batcher.trigger(`capacity buffer ${key}`);
}

/**
 * Writes the status and the conditions of the buffer. A conflict is ignored, because the other change reconciles the
 * buffer again.
 */
async function writeResult(
  world: World,
  buffer: CapacityBuffer,
  found: Resolved | Unresolved,
): Promise<void> {
  const nowMs = world.clock.now();
  let after = buffer;
  for (const change of conditionsOf(found)) after = withLoneCondition(after, change, nowMs);
  if (!("reason" in found) && found.limited === undefined)
    after = withoutCondition(after, "LimitedByQuotas");
  const { podTemplateRef: _, podTemplateGeneration: __, ...status } = after.status ?? {};
  const stored = "reason" in found ? undefined : found.stored;
  after = {
    ...after,
    status: {
      ...status,
      provisioningStrategy: buffer.spec.provisioningStrategy ?? ACTIVE_CAPACITY,
      replicas: "reason" in found ? 0 : found.count,
      ...(stored === undefined
        ? {}
        : { podTemplateRef: { name: stored.name }, podTemplateGeneration: stored.generation }),
    },
  };
  try {
    await patchObject(world.kube, CAPACITY_BUFFER, buffer, after);
  } catch (error) {
    if (!isConflict(error)) throw error;
  }
}

function conditionsOf(found: Resolved | Unresolved): readonly ConditionChange[] {
  const ready = "ReadyForProvisioning";
  const provisioning = { type: "Provisioning", status: "False" } as const;
  if ("reason" in found)
    return [
      { type: ready, status: "False", ...found },
      { ...provisioning, reason: "NotReadyForProvisioning", message: found.message },
    ];
  const { count, limited, note } = found;
  const message = note === undefined ? {} : { message: note };
  return [
    { type: ready, status: "True", reason: "Resolved", ...message },
    ...(count > 0 ? [] : [{ ...provisioning, reason: "BufferEmpty", ...message }]),
    ...(limited === undefined ? [] : [limitedBy(limited, count)]),
  ];
}

function limitedBy({ by, wanted }: { by: string; wanted: number }, count: number): ConditionChange {
  const message = `ResourceQuota "${by}" has room for ${grouped(count)} of ${grouped(wanted)} pods`;
  return { type: "LimitedByQuotas", status: "True", reason: "QuotaExceeded", message };
}
