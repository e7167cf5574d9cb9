/**
 * The StatefulSet controller: pods with ordinals, created in order and removed in reverse unless the
 * set is Parallel, each with its own claims; updates go from the highest ordinal down to the
 * partition. Claims stay when pods go.
 */
import { type PodTemplateSpec, STATEFUL_SET, type StatefulSet } from "../../apis/apps/kinds.ts";
import { PERSISTENT_VOLUME_CLAIM, type PersistentVolumeClaim } from "../../apis/core/kinds.ts";
import { POD, type Pod, type Volume } from "../../apis/core/pod.ts";
import { isReady } from "../../apis/core/pod-predicates.ts";
import {
  AWAIT_CHANGE,
  type Controller,
  type Outcome,
  type Request,
  source,
} from "../../kube/controller.ts";
import { isAlreadyExists } from "../../kube/errors.ts";
import { patchObject } from "../../kube/patch-object.ts";
import { createPartRecorder, type PartDeps, podMirror } from "../parts.ts";
import {
  createPod,
  isAvailable,
  podOf,
  podsOwnedBy,
  removePod,
  requestsToOwner,
} from "./controls.ts";
import { templateHash } from "./rollout.ts";

const REVISION_LABEL = "controller-revision-hash";
const NAME_LABEL = "statefulset.kubernetes.io/pod-name";
const INDEX_LABEL = "apps.kubernetes.io/pod-index";

export function statefulSetController(deps: PartDeps): Controller {
  const { clock, kube, mirrors } = deps;
  const sets = mirrors.of(STATEFUL_SET);
  const claims = mirrors.of(PERSISTENT_VOLUME_CLAIM);
  const recorder = createPartRecorder(deps, "statefulset-controller");
  /** Templates by revision, as seen by this process: a pod below the partition comes back as it was. */
  const templates = new Map<string, PodTemplateSpec>();
  podMirror(mirrors);

  async function reconcile({ namespace, name }: Request): Promise<Outcome> {
    const set = sets.get(`${namespace}/${name}`);
    if (set === undefined || set.metadata.deletionTimestamp !== undefined) return AWAIT_CHANGE;
    const revision = revisionOf(set);
    templates.set(`${set.metadata.uid}/${revision}`, set.spec.template);
    await step(set, revision, podsOwnedBy(deps, set));
    await report(set, revision);
    return AWAIT_CHANGE;
  }

  async function step(set: StatefulSet, revision: string, pods: readonly Pod[]): Promise<void> {
    const wanted = set.spec.replicas ?? 1;
    const inOrder = set.spec.podManagementPolicy !== "Parallel";
    const byOrdinal = new Map(pods.map((pod) => [ordinalOf(set, pod), pod]));
    for (let ordinal = 0; ordinal < wanted; ordinal++) {
      const pod = byOrdinal.get(ordinal);
      if (pod === undefined) await createOrdinal(set, revision, ordinal);
      else if (hasEnded(pod) && !isLeaving(pod)) await remove(set, pod);
      if (inOrder && !isUp(pod)) return;
    }
    const surplus = [...byOrdinal]
      .filter(([ordinal]) => ordinal >= wanted)
      .sort((a, b) => b[0] - a[0]);
    for (const [, pod] of surplus) {
      if (!isLeaving(pod)) await remove(set, pod);
      if (inOrder) return;
    }
    await update(set, revision, byOrdinal);
  }

  /** Replaces one outdated pod at a time, from the highest ordinal; waits until it is ready again. */
  async function update(
    set: StatefulSet,
    revision: string,
    byOrdinal: ReadonlyMap<number, Pod>,
  ): Promise<void> {
    if (set.spec.updateStrategy?.type === "OnDelete") return;
    const partition = set.spec.updateStrategy?.rollingUpdate?.partition ?? 0;
    for (let ordinal = (set.spec.replicas ?? 1) - 1; ordinal >= partition; ordinal--) {
      const pod = byOrdinal.get(ordinal);
      if (pod === undefined) return;
      if (pod.metadata.labels?.[REVISION_LABEL] !== revision) {
        if (!isLeaving(pod)) await remove(set, pod);
        return;
      }
      if (!isUp(pod)) return;
    }
  }

  function remove(set: StatefulSet, pod: Pod): Promise<void> {
    return removePod(deps, recorder, STATEFUL_SET, set, pod);
  }

  async function createOrdinal(set: StatefulSet, newest: string, ordinal: number): Promise<void> {
    const older = revisionFor(set, newest, ordinal);
    const kept = templates.get(`${set.metadata.uid}/${older}`);
    const revision = kept === undefined ? newest : older;
    const template = kept ?? set.spec.template;
    const name = `${set.metadata.name}-${ordinal}`;
    const volumes = await createClaims(set, name);
    const pod = podOf(STATEFUL_SET, set, template, { name });
    const labels = {
      ...pod.metadata.labels,
      [REVISION_LABEL]: revision,
      [NAME_LABEL]: name,
      [INDEX_LABEL]: String(ordinal),
    };
    const names = new Set(volumes.map((volume) => volume.name));
    const others = (pod.spec.volumes ?? []).filter((volume) => !names.has(volume.name));
    const subdomain = set.spec.serviceName;
    await createPod(deps, recorder, STATEFUL_SET, set, {
      ...pod,
      metadata: { ...pod.metadata, labels },
      spec: {
        ...pod.spec,
        hostname: name,
        ...(subdomain === undefined || subdomain === "" ? {} : { subdomain }),
        ...(volumes.length === 0 ? {} : { volumes: [...volumes, ...others] }),
      },
    });
  }

  async function createClaims(set: StatefulSet, podName: string): Promise<readonly Volume[]> {
    const volumes: Volume[] = [];
    for (const template of set.spec.volumeClaimTemplates ?? []) {
      const name = `${template.metadata.name}-${podName}`;
      const { namespace } = set.metadata;
      volumes.push({
        name: template.metadata.name,
        persistentVolumeClaim: { claimName: name },
      });
      if (claims.get(`${namespace}/${name}`) !== undefined) continue;
      const { status: _, ...claim } = template as PersistentVolumeClaim;
      const labels = { ...claim.metadata.labels, ...set.spec.selector.matchLabels };
      const { annotations } = claim.metadata;
      try {
        await kube.create(PERSISTENT_VOLUME_CLAIM, {
          ...claim,
          apiVersion: "v1",
          kind: "PersistentVolumeClaim",
          metadata: {
            name,
            ...(namespace === undefined ? {} : { namespace }),
            labels,
            ...(annotations === undefined ? {} : { annotations }),
          },
        });
      } catch (error) {
        if (!isAlreadyExists(error)) throw error;
      }
    }
    return volumes;
  }

  async function report(before: StatefulSet, revision: string): Promise<void> {
    const set = sets.get(`${before.metadata.namespace}/${before.metadata.name}`) ?? before;
    const pods = podsOwnedBy(deps, set).filter((pod) => !isLeaving(pod));
    const now = clock.now();
    const updated = pods.filter((pod) => pod.metadata.labels?.[REVISION_LABEL] === revision);
    const wanted = set.spec.replicas ?? 1;
    const finished = updated.length === wanted && updated.every(isReady);
    const known = set.status?.["currentRevision"] as string | undefined;
    const current = finished || known === undefined ? revision : known;
    const status = {
      ...set.status,
      replicas: pods.length,
      readyReplicas: pods.filter(isReady).length || undefined,
      availableReplicas: pods.filter((pod) => isAvailable(pod, 0, now)).length,
      currentReplicas:
        pods.filter((pod) => pod.metadata.labels?.[REVISION_LABEL] === current).length || undefined,
      updatedReplicas: updated.length || undefined,
      currentRevision: current,
      updateRevision: revision,
      collisionCount: 0,
      observedGeneration: set.metadata.generation,
    };
    await patchObject(kube, STATEFUL_SET, set, { ...set, status } as StatefulSet);
  }

  return {
    name: "statefulset",
    watches: [source(STATEFUL_SET), source(POD, requestsToOwner("StatefulSet"))],
    concurrency: 4,
    reconcile,
  };
}

function revisionOf(set: StatefulSet): string {
  return `${set.metadata.name}-${templateHash(set.spec.template, 0)}`;
}

/** Below the partition a lost pod comes back at the revision that the set is leaving. */
function revisionFor(set: StatefulSet, revision: string, ordinal: number): string {
  const partition = set.spec.updateStrategy?.rollingUpdate?.partition ?? 0;
  const current = set.status?.["currentRevision"] as string | undefined;
  return ordinal < partition && current !== undefined ? current : revision;
}

function ordinalOf(set: StatefulSet, pod: Pod): number {
  return Number(pod.metadata.name.slice(set.metadata.name.length + 1));
}

/** Running, ready and staying: what the next ordinal waits for. */
function isUp(pod: Pod | undefined): boolean {
  return pod !== undefined && isReady(pod) && !isLeaving(pod);
}

function hasEnded(pod: Pod): boolean {
  return pod.status?.phase === "Failed" || pod.status?.phase === "Succeeded";
}

function isLeaving(pod: Pod): boolean {
  return pod.metadata.deletionTimestamp !== undefined;
}
