/**
 * Keeps volumes and claims that are being deleted while they are in use. Admission gave each a finalizer. It
 * is removed here once no pod on a node mounts the claim, or no claim is bound to the volume.
 * upstream: kubernetes pkg/controller/volume/pvcprotection, pvprotection
 */
import {
  PERSISTENT_VOLUME,
  PERSISTENT_VOLUME_CLAIM,
  type PersistentVolumeClaim,
} from "../../../apis/core/kinds.ts";
import { POD, type Pod } from "../../../apis/core/pod.ts";
import { removeFinalizer } from "../../../kube/client/finalizer.ts";
import {
  AWAIT_CHANGE,
  type Controller,
  type Outcome,
  type Request,
  requestFor,
  source,
} from "../../../kube/manager/controller.ts";
import { type PartDeps, podMirror } from "../../parts.ts";

const CLAIM_PROTECTION = "kubernetes.io/pvc-protection";
const VOLUME_PROTECTION = "kubernetes.io/pv-protection";

/** Keeps claims that pods use, and volumes that claims use, from deletion. */
export function volumeProtectionController(deps: PartDeps): Controller {
  const { kube, mirrors } = deps;
  const claims = mirrors.of(PERSISTENT_VOLUME_CLAIM);
  const volumes = mirrors.of(PERSISTENT_VOLUME);
  const pods = podMirror(mirrors);

  async function reconcile({ kind, namespace, name }: Request): Promise<Outcome> {
    if (kind === "PersistentVolume") {
      const volume = volumes.get(name);
      if (volume?.metadata.deletionTimestamp !== undefined && volume.status?.phase !== "Bound")
        await removeFinalizer(kube, PERSISTENT_VOLUME, volume, VOLUME_PROTECTION);
      return AWAIT_CHANGE;
    }
    const claim = claims.get(`${namespace}/${name}`);
    if (claim?.metadata.deletionTimestamp !== undefined && !isMounted(claim))
      await removeFinalizer(kube, PERSISTENT_VOLUME_CLAIM, claim, CLAIM_PROTECTION);
    return AWAIT_CHANGE;
  }

  /**
   * Whether a pod on a node mounts the claim. Pods without a node do not count: no kubelet starts a pod whose
   * claim is being deleted.
   */
  function isMounted({ metadata }: PersistentVolumeClaim): boolean {
    return pods
      .list()
      .some(
        (pod) =>
          pod.metadata.namespace === metadata.namespace &&
          (pod.spec.nodeName ?? "") !== "" &&
          claimNames(pod).includes(metadata.name),
      );
  }

  return {
    name: "volume-protection",
    watches: [
      source(PERSISTENT_VOLUME_CLAIM, (claim, event) =>
        event === "removed" || claim.metadata.deletionTimestamp === undefined
          ? []
          : [requestFor("PersistentVolumeClaim", claim)],
      ),
      source(PERSISTENT_VOLUME, ({ metadata }, event) =>
        event === "removed" || metadata.deletionTimestamp === undefined
          ? []
          : [{ kind: "PersistentVolume", name: metadata.name }],
      ),
      source(POD, (pod, event) =>
        event === "removed"
          ? claimNames(pod).map((name) => ({
              kind: "PersistentVolumeClaim",
              namespace: pod.metadata.namespace,
              name,
            }))
          : [],
      ),
    ],
    concurrency: 1,
    reconcile,
  };
}

/** The claims that the pod's volumes name, including those of ephemeral volumes. */
function claimNames({ metadata, spec }: Pod): readonly string[] {
  return (spec.volumes ?? []).flatMap((volume) => {
    if (volume.ephemeral !== undefined) return [`${metadata.name}-${volume.name}`];
    const { claimName } = volume.persistentVolumeClaim ?? {};
    return claimName === undefined ? [] : [claimName];
  });
}
