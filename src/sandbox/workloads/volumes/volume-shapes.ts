/**
 * What bound claims and volumes contain, which volume a claim takes, and what a provisioner creates. Pure
 * functions.
 */

import type { PersistentVolume, PersistentVolumeClaim } from "../../../apis/core/kinds.ts";
import type { Node } from "../../../apis/core/node.ts";
import type { StorageClass } from "../../../apis/storage/kinds.ts";
import { parseUnits } from "../../../base/quantity.ts";

const BIND_COMPLETED = "pv.kubernetes.io/bind-completed";
const BOUND_BY_CONTROLLER = "pv.kubernetes.io/bound-by-controller";
const PROVISIONED_BY = "pv.kubernetes.io/provisioned-by";
const DEFAULT_CLASS = "storageclass.kubernetes.io/is-default-class";
/** The provisioner of classes whose volumes a user creates. */
export const NO_PROVISIONER = "kubernetes.io/no-provisioner";
const ZONE = "topology.kubernetes.io/zone";

/** Whether the claim has the annotation that the binder sets when binding is complete. */
export function isBindComplete(claim: PersistentVolumeClaim): boolean {
  return claim.metadata.annotations?.[BIND_COMPLETED] !== undefined;
}

/**
 * The default class for a claim that was created before a default class existed. (A newer claim gets it from
 * admission.)
 * upstream: pkg/controller/volume/persistentvolume, assignDefaultStorageClass
 */
export function defaultClassFor(
  { spec }: PersistentVolumeClaim,
  classes: readonly StorageClass[],
): string | undefined {
  if (spec.storageClassName !== undefined || (spec.volumeName ?? "") !== "") return undefined;
  const isDefault = ({ metadata }: StorageClass): boolean =>
    metadata.annotations?.[DEFAULT_CLASS] === "true";
  return classes.find(isDefault)?.metadata.name;
}

/** Whether the volume is reserved for this claim, and not for an earlier claim of the same name. */
export function isFor(claim: PersistentVolumeClaim, volume: PersistentVolume): boolean {
  const { claimRef } = volume.spec;
  return (
    claimRef?.name === claim.metadata.name &&
    claimRef.namespace === claim.metadata.namespace &&
    (claimRef.uid === undefined || claimRef.uid === claim.metadata.uid)
  );
}

/** The smallest free volume that satisfies the claim. */
export function smallestFree(
  claim: PersistentVolumeClaim,
  volumes: readonly PersistentVolume[],
): PersistentVolume | undefined {
  const wanted = sizeOf(claim.spec.resources?.requests);
  return volumes
    .filter((volume) => {
      if (volume.spec.claimRef !== undefined && !isFor(claim, volume)) return false;
      const modes = (volume.spec["accessModes"] as readonly string[] | undefined) ?? [];
      return (
        volume.metadata.deletionTimestamp === undefined &&
        (volume.spec.storageClassName ?? "") === (claim.spec.storageClassName ?? "") &&
        volume.status?.phase !== "Released" &&
        volume.status?.phase !== "Failed" &&
        sizeOf(volume.spec["capacity"]) >= wanted &&
        (claim.spec.accessModes ?? []).every((mode) => modes.includes(mode))
      );
    })
    .sort((a, b) => sizeOf(a.spec["capacity"]) - sizeOf(b.spec["capacity"]))[0];
}

/** The spec of a volume that is bound to this claim. */
export function withClaim(
  spec: PersistentVolume["spec"],
  claim: PersistentVolumeClaim,
): PersistentVolume["spec"] {
  return { ...spec, claimRef: { ...spec.claimRef, ...claimRefTo(claim) } };
}

/** The claim, bound to this volume. */
export function boundTo(
  volume: PersistentVolume,
  claim: PersistentVolumeClaim,
): PersistentVolumeClaim {
  const annotations = {
    ...claim.metadata.annotations,
    [BIND_COMPLETED]: "yes",
    [BOUND_BY_CONTROLLER]: claim.metadata.annotations?.[BOUND_BY_CONTROLLER] ?? "yes",
  };
  return {
    ...claim,
    metadata: { ...claim.metadata, annotations },
    spec: { ...claim.spec, volumeName: volume.metadata.name },
    status: {
      ...claim.status,
      phase: "Bound",
      accessModes: volume.spec["accessModes"],
      capacity: volume.spec["capacity"],
    },
  };
}

/**
 * The zone of a new volume: that of the chosen node, else that of the class, else the first zone of the
 * cluster.
 */
export function zoneOf(
  storageClass: StorageClass,
  node: Node | undefined,
  nodes: readonly Node[],
): string | undefined {
  if (node !== undefined) return node.metadata.labels?.[ZONE];
  for (const { matchLabelExpressions } of storageClass.allowedTopologies ?? []) {
    const zones = matchLabelExpressions?.find(({ key }) => key === ZONE)?.values;
    if (zones?.[0] !== undefined) return zones[0];
  }
  const zones = nodes.map(({ metadata }) => metadata.labels?.[ZONE]);
  return zones.filter((zone) => zone !== undefined).sort()[0];
}

/** The volume that the class's provisioner creates for the claim. */
export function newVolumeFor(
  claim: PersistentVolumeClaim,
  storageClass: StorageClass,
  zone: string | undefined,
): PersistentVolume {
  const name = `pvc-${claim.metadata.uid ?? claim.metadata.name}`;
  const { provisioner } = storageClass;
  const inZone = { key: ZONE, operator: "In" as const, values: [zone ?? ""] };
  const nodeAffinity = { required: { nodeSelectorTerms: [{ matchExpressions: [inZone] }] } };
  return {
    apiVersion: "v1",
    kind: "PersistentVolume",
    metadata: { name, annotations: { [PROVISIONED_BY]: provisioner } },
    spec: {
      accessModes: claim.spec.accessModes ?? ["ReadWriteOnce"],
      capacity: { storage: claim.spec.resources?.requests?.["storage"] ?? "1Gi" },
      csi: {
        driver: provisioner,
        volumeHandle: `vol-${(claim.metadata.uid ?? name).slice(0, 17)}`,
      },
      persistentVolumeReclaimPolicy:
        (storageClass as { reclaimPolicy?: string }).reclaimPolicy ?? "Delete",
      storageClassName: storageClass.metadata.name,
      volumeMode: claim.spec.volumeMode ?? "Filesystem",
      claimRef: claimRefTo(claim),
      ...(zone === undefined ? {} : { nodeAffinity }),
    },
  };
}

function claimRefTo({ metadata: { name, namespace, uid } }: PersistentVolumeClaim): {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly namespace?: string;
  readonly uid?: string;
} {
  return {
    apiVersion: "v1",
    kind: "PersistentVolumeClaim",
    name,
    ...(namespace === undefined ? {} : { namespace }),
    ...(uid === undefined ? {} : { uid }),
  };
}

function sizeOf(amounts: unknown): number {
  const text = (amounts as Record<string, string | number> | undefined)?.["storage"];
  return text === undefined ? 0 : (parseUnits(text) ?? 0);
}
