/**
 * The StatefulSet controller: pods with ordinals, created in order and removed in reverse unless the
 * set is Parallel, each with its own claims; updates go from the highest ordinal down to the
 * partition. Claims stay when pods go.
 */
import { STATEFUL_SET, type StatefulSet } from "../../apis/apps/kinds.ts";
import { PERSISTENT_VOLUME_CLAIM, type PersistentVolumeClaim } from "../../apis/core/kinds.ts";
import { isTerminal, isTerminating, POD, type Pod, type Volume } from "../../apis/core/pod.ts";
import { isReady } from "../../apis/core/pod-predicates.ts";
import {
  AWAIT_CHANGE,
  type Controller,
  type Outcome,
  type Request,
  requeueAfter,
  source,
} from "../../kube/controller.ts";
import { isAlreadyExists } from "../../kube/errors.ts";
import { patchObject } from "../../kube/patch-object.ts";
import { createPartRecorder, type PartDeps, podMirror } from "../parts.ts";
import {
  availableAtMs,
  createPod,
  isAvailable,
  podOf,
  podsOwnedBy,
  removePod,
  requestsToOwner,
} from "./controls.ts";
import { revisionsOf } from "./revisions.ts";

const REVISION_LABEL = "controller-revision-hash";
const NAME_LABEL = "statefulset.kubernetes.io/pod-name";
const INDEX_LABEL = "apps.kubernetes.io/pod-index";

export function statefulSetController(deps: PartDeps): Controller {
  const { clock, kube, mirrors } = deps;
  const sets = mirrors.of(STATEFUL_SET);
  const claims = mirrors.of(PERSISTENT_VOLUME_CLAIM);
  const recorder = createPartRecorder(deps, "statefulset-controller");
  const revisions = revisionsOf(deps, STATEFUL_SET, "controller.kubernetes.io/hash");
  podMirror(mirrors);

  async function reconcile({ namespace, name }: Request): Promise<Outcome> {
    const set = sets.get(`${namespace}/${name}`);
    if (set === undefined || set.metadata.deletionTimestamp !== undefined) return AWAIT_CHANGE;
    const revision = (await revisions.newest(set)).metadata.name;
    await step(set, revision, podsOwnedBy(deps, set));
    await report(set, revision);
    const inUse = new Set(
      podsOwnedBy(deps, set).map(({ metadata }) => metadata.labels?.[REVISION_LABEL]),
    );
    const current = sets.get(`${namespace}/${name}`)?.status?.["currentRevision"];
    await revisions.prune(
      set,
      ({ metadata }) =>
        metadata.name === revision || metadata.name === current || inUse.has(metadata.name),
    );
    const waitMs = untilAvailable(set, podsOwnedBy(deps, set), clock.now());
    return waitMs === undefined ? AWAIT_CHANGE : requeueAfter(waitMs);
  }

  async function step(set: StatefulSet, revision: string, pods: readonly Pod[]): Promise<void> {
    const { first, end } = ordinalsOf(set);
    const now = clock.now();
    const inOrder = set.spec.podManagementPolicy !== "Parallel";
    const byOrdinal = new Map(pods.map((pod) => [ordinalOf(set, pod), pod]));
    for (let ordinal = first; ordinal < end; ordinal++) {
      const pod = byOrdinal.get(ordinal);
      if (pod === undefined) await createOrdinal(set, revision, ordinal);
      else if (isTerminal(pod) && !isTerminating(pod)) await remove(set, pod);
      if (inOrder && !isUp(set, pod, now)) return;
    }
    const surplus = [...byOrdinal]
      .filter(([ordinal]) => ordinal < first || ordinal >= end)
      .sort((a, b) => b[0] - a[0]);
    for (const [, pod] of surplus) {
      if (!isTerminating(pod)) await remove(set, pod);
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
    const now = clock.now();
    const { end } = ordinalsOf(set);
    for (let ordinal = end - 1; ordinal >= firstUpdated(set); ordinal--) {
      const pod = byOrdinal.get(ordinal);
      if (pod === undefined) return;
      if (pod.metadata.labels?.[REVISION_LABEL] !== revision) {
        if (!isTerminating(pod)) await remove(set, pod);
        return;
      }
      if (!isUp(set, pod, now)) return;
    }
  }

  function remove(set: StatefulSet, pod: Pod): Promise<void> {
    return removePod(deps, recorder, STATEFUL_SET, set, pod);
  }

  async function createOrdinal(set: StatefulSet, newest: string, ordinal: number): Promise<void> {
    const older = revisionFor(set, newest, ordinal);
    const kept = revisions.template(set, older);
    const revision = kept === undefined ? newest : older;
    const template = kept ?? set.spec.template;
    const name = `${set.metadata.name}-${ordinal}`;
    const volumes = await createClaims(set, name);
    const pod = podOf(STATEFUL_SET, set, template, {
      generateName: `${set.metadata.name}-`,
      name,
    });
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
    const all = podsOwnedBy(deps, set);
    // Those that leave still count as replicas, but of no revision.
    const pods = all.filter((pod) => !isTerminating(pod));
    const now = clock.now();
    const updated = pods.filter((pod) => pod.metadata.labels?.[REVISION_LABEL] === revision);
    const wanted = set.spec.replicas ?? 1;
    const finished = updated.length === wanted && updated.every(isReady);
    const known = set.status?.["currentRevision"] as string | undefined;
    const current = finished || known === undefined ? revision : known;
    const status = {
      ...set.status,
      replicas: all.length,
      readyReplicas: all.filter(isReady).length || undefined,
      availableReplicas: all.filter((pod) => isAvailable(pod, set.spec.minReadySeconds, now))
        .length,
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

/** How long the next ready pod is not available yet. */
function untilAvailable(set: StatefulSet, pods: readonly Pod[], nowMs: number): number | undefined {
  const waits = pods.map((pod) => (availableAtMs(pod, set.spec.minReadySeconds) ?? 0) - nowMs);
  const later = waits.filter((waitMs) => waitMs > 0);
  return later.length === 0 ? undefined : Math.min(...later);
}

/** Below the partition a lost pod comes back at the revision that the set is leaving. */
function revisionFor(set: StatefulSet, revision: string, ordinal: number): string {
  const current = set.status?.["currentRevision"] as string | undefined;
  return ordinal < firstUpdated(set) && current !== undefined ? current : revision;
}

/** From `first` up to, not including, `end`. */
function ordinalsOf(set: StatefulSet): { readonly first: number; readonly end: number } {
  const first = set.spec.ordinals?.start ?? 0;
  return { first, end: first + (set.spec.replicas ?? 1) };
}

function firstUpdated(set: StatefulSet): number {
  const { first } = ordinalsOf(set);
  return first + (set.spec.updateStrategy?.rollingUpdate?.partition ?? 0);
}

function ordinalOf(set: StatefulSet, pod: Pod): number {
  return Number(pod.metadata.name.slice(set.metadata.name.length + 1));
}

/** Running, ready for long enough and staying: what the next ordinal waits for. */
function isUp(set: StatefulSet, pod: Pod | undefined, nowMs: number): boolean {
  return (
    pod !== undefined && isAvailable(pod, set.spec.minReadySeconds, nowMs) && !isTerminating(pod)
  );
}
