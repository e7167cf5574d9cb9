/**
 * The volume binder and provisioner in one: binds claims to volumes that exist, and makes volumes for
 * claims whose class has a provisioner — at once, or when the scheduler has chosen the node, and then
 * in that node's zone. Releases or deletes volumes whose claim is gone.
 */
import {
  PERSISTENT_VOLUME,
  PERSISTENT_VOLUME_CLAIM,
  type PersistentVolume,
  type PersistentVolumeClaim,
} from "../../apis/core/kinds.ts";
import { NODE } from "../../apis/core/node.ts";
import { STORAGE_CLASS, type StorageClass } from "../../apis/storage/kinds.ts";
import { toRfc3339 } from "../../base/clock.ts";
import { parseUnits } from "../../base/quantity.ts";
import {
  AWAIT_CHANGE,
  type Controller,
  type Outcome,
  type Request,
  source,
} from "../../kube/controller.ts";
import { isAlreadyExists, isNotFound } from "../../kube/errors.ts";
import { patchObject } from "../../kube/patch-object.ts";
import { createPartRecorder, type PartDeps, subject } from "../parts.ts";

const SELECTED_NODE = "volume.kubernetes.io/selected-node";
const BIND_COMPLETED = "pv.kubernetes.io/bind-completed";
const BOUND_BY_CONTROLLER = "pv.kubernetes.io/bound-by-controller";
const PROVISIONED_BY = "pv.kubernetes.io/provisioned-by";
const DEFAULT_CLASS = "storageclass.kubernetes.io/is-default-class";
const NO_PROVISIONER = "kubernetes.io/no-provisioner";
const ZONE = "topology.kubernetes.io/zone";
/** The zone key of a driver's own volumes, where it has one. */
const DRIVER_ZONE: Readonly<Record<string, string>> = {
  "ebs.csi.aws.com": "topology.ebs.csi.aws.com/zone",
};

export function volumeBinderController(deps: PartDeps): Controller {
  const { clock, kube, mirrors } = deps;
  const claims = mirrors.of(PERSISTENT_VOLUME_CLAIM);
  const volumes = mirrors.of(PERSISTENT_VOLUME);
  const classes = mirrors.of(STORAGE_CLASS);
  const nodes = mirrors.of(NODE);
  const recorder = createPartRecorder(deps, "persistentvolume-controller");

  async function reconcile({ kind, namespace, name }: Request): Promise<Outcome> {
    if (kind === "PersistentVolume") await syncVolume(name);
    else await syncClaim(`${namespace}/${name}`);
    return AWAIT_CHANGE;
  }

  async function syncClaim(key: string): Promise<void> {
    const claim = await withDefaultClass(claims.get(key));
    if (claim === undefined || claim.metadata.deletionTimestamp !== undefined) return;
    const named = claim.spec.volumeName ?? "";
    if (named !== "") {
      const volume = volumes.get(named);
      if (volume === undefined) {
        if (isBindComplete(claim)) await setPhase(claim, "Lost");
        return;
      }
      return bind(claim, volume);
    }
    const storageClass = classes.get(claim.spec.storageClassName ?? "");
    const selected = claim.metadata.annotations?.[SELECTED_NODE];
    if (selected !== undefined && nodes.get(selected) === undefined) {
      return unselect(claim);
    }
    const delayed = storageClass?.volumeBindingMode === "WaitForFirstConsumer";
    if (delayed && selected === undefined) {
      return say(claim, "Normal", "WaitForFirstConsumer", WAITING);
    }
    const existing = selected === undefined ? findFree(claim) : undefined;
    if (existing !== undefined) return bind(claim, existing);
    const className = claim.spec.storageClassName ?? "";
    if (storageClass === undefined && className !== "") {
      const message = `storageclass.storage.k8s.io "${className}" not found`;
      return say(claim, "Warning", "ProvisioningFailed", message);
    }
    if (storageClass === undefined || storageClass.provisioner === NO_PROVISIONER) {
      return say(claim, "Normal", "FailedBinding", NOTHING_TO_BIND);
    }
    await provision(claim, storageClass, selected);
  }

  /** The chosen node is gone: the scheduler has to choose again. */
  async function unselect(claim: PersistentVolumeClaim): Promise<void> {
    const { [SELECTED_NODE]: _, ...annotations } = claim.metadata.annotations ?? {};
    await patchObject(kube, PERSISTENT_VOLUME_CLAIM, claim, {
      ...claim,
      metadata: { ...claim.metadata, annotations },
    });
  }

  function say(
    claim: PersistentVolumeClaim,
    type: "Normal" | "Warning",
    reason: string,
    message: string,
  ): void {
    const object = subject(PERSISTENT_VOLUME_CLAIM, claim);
    recorder.publish({ object, type, reason, message });
  }

  /** A claim that names no class gets the default one, as the real admission does. */
  async function withDefaultClass(
    claim: PersistentVolumeClaim | undefined,
  ): Promise<PersistentVolumeClaim | undefined> {
    if (claim === undefined || claim.spec.storageClassName !== undefined) return claim;
    if ((claim.spec.volumeName ?? "") !== "") return claim;
    const fallback = classes
      .list()
      .find(({ metadata }) => metadata.annotations?.[DEFAULT_CLASS] === "true");
    if (fallback === undefined) return claim;
    const spec = { ...claim.spec, storageClassName: fallback.metadata.name };
    return patchObject(kube, PERSISTENT_VOLUME_CLAIM, claim, { ...claim, spec });
  }

  function findFree(claim: PersistentVolumeClaim): PersistentVolume | undefined {
    const wanted = sizeOf(claim.spec.resources?.requests);
    return volumes
      .list()
      .filter((volume) => {
        const { claimRef } = volume.spec;
        if (claimRef !== undefined && !isFor(claim, volume)) return false;
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

  async function bind(claim: PersistentVolumeClaim, volume: PersistentVolume): Promise<void> {
    if (volume.spec.claimRef !== undefined && !isFor(claim, volume)) return;
    const { name, namespace, uid } = claim.metadata;
    const claimRef = {
      apiVersion: "v1",
      kind: "PersistentVolumeClaim",
      name,
      ...(namespace === undefined ? {} : { namespace }),
      ...(uid === undefined ? {} : { uid }),
    };
    await patchObject(kube, PERSISTENT_VOLUME, volume, {
      ...volume,
      spec: { ...volume.spec, claimRef: { ...volume.spec.claimRef, ...claimRef } },
      status: inPhase(volume, "Bound"),
    });
    const annotations = {
      ...claim.metadata.annotations,
      [BIND_COMPLETED]: "yes",
      [BOUND_BY_CONTROLLER]: claim.metadata.annotations?.[BOUND_BY_CONTROLLER] ?? "yes",
    };
    await patchObject(kube, PERSISTENT_VOLUME_CLAIM, claim, {
      ...claim,
      metadata: { ...claim.metadata, annotations },
      spec: { ...claim.spec, volumeName: volume.metadata.name },
      status: {
        ...claim.status,
        phase: "Bound",
        accessModes: volume.spec["accessModes"],
        capacity: volume.spec["capacity"],
      },
    });
  }

  async function provision(
    claim: PersistentVolumeClaim,
    storageClass: StorageClass,
    selected: string | undefined,
  ): Promise<void> {
    const zone = zoneFor(storageClass, selected);
    const name = `pvc-${claim.metadata.uid ?? claim.metadata.name}`;
    const { provisioner } = storageClass;
    const key = DRIVER_ZONE[provisioner] ?? ZONE;
    const volume = {
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
        claimRef: {
          apiVersion: "v1",
          kind: "PersistentVolumeClaim",
          name: claim.metadata.name,
          ...(claim.metadata.namespace === undefined
            ? {}
            : { namespace: claim.metadata.namespace }),
          ...(claim.metadata.uid === undefined ? {} : { uid: claim.metadata.uid }),
        },
        ...(zone === undefined
          ? {}
          : {
              nodeAffinity: {
                required: {
                  nodeSelectorTerms: [
                    {
                      matchExpressions: [
                        { key: zoneKeyOf(key, selected), operator: "In" as const, values: [zone] },
                      ],
                    },
                  ],
                },
              },
            }),
      },
    };
    let created: PersistentVolume;
    try {
      created = await kube.create(PERSISTENT_VOLUME, volume);
    } catch (error) {
      if (!isAlreadyExists(error)) throw error;
      created = await kube.get(PERSISTENT_VOLUME, { name });
    }
    say(claim, "Normal", "ProvisioningSucceeded", `Successfully provisioned volume ${name}`);
    await bind(claim, created);
  }

  /** A driver's own zone label is used when the node has it; else the well-known one. */
  function zoneKeyOf(key: string, selected: string | undefined): string {
    const labels = nodes.get(selected ?? "")?.metadata.labels ?? {};
    return labels[key] === undefined ? ZONE : key;
  }

  function zoneFor(storageClass: StorageClass, selected: string | undefined): string | undefined {
    if (selected !== undefined) return nodes.get(selected)?.metadata.labels?.[ZONE];
    for (const { matchLabelExpressions } of storageClass.allowedTopologies ?? []) {
      const zones = matchLabelExpressions?.find(({ key }) => key === ZONE)?.values;
      if (zones?.[0] !== undefined) return zones[0];
    }
    const zones = nodes.list().map((node) => node.metadata.labels?.[ZONE]);
    return zones.filter((zone) => zone !== undefined).sort()[0];
  }

  async function syncVolume(name: string): Promise<void> {
    const volume = volumes.get(name);
    if (volume === undefined || volume.metadata.deletionTimestamp !== undefined) return;
    const { claimRef } = volume.spec;
    if (claimRef === undefined || claimRef.uid === undefined) {
      if (volume.status?.phase === "Available") return;
      const status = inPhase(volume, "Available");
      await patchObject(kube, PERSISTENT_VOLUME, volume, { ...volume, status });
      return;
    }
    const claim = claims.get(`${claimRef.namespace}/${claimRef.name}`);
    if (claim !== undefined && claim.metadata.uid === claimRef.uid) return;
    if (volume.status?.phase !== "Released") {
      const status = inPhase(volume, "Released");
      await patchObject(kube, PERSISTENT_VOLUME, volume, { ...volume, status });
    }
    if (volume.spec["persistentVolumeReclaimPolicy"] !== "Delete") return;
    try {
      await kube.delete(PERSISTENT_VOLUME, { name });
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }

  async function setPhase(claim: PersistentVolumeClaim, phase: "Lost"): Promise<void> {
    const status = { ...claim.status, phase };
    await patchObject(kube, PERSISTENT_VOLUME_CLAIM, claim, { ...claim, status });
  }

  function inPhase(
    { status }: PersistentVolume,
    phase: string,
  ): NonNullable<PersistentVolume["status"]> {
    if (status?.phase === phase) return status;
    return { ...status, phase, lastPhaseTransitionTime: toRfc3339(clock.now()) };
  }

  const requestOf = (claim: PersistentVolumeClaim): Request => ({
    kind: "PersistentVolumeClaim",
    namespace: claim.metadata.namespace,
    name: claim.metadata.name,
  });
  const unbound = (): Request[] =>
    claims
      .list()
      .filter((claim) => !isBindComplete(claim))
      .map(requestOf);
  return {
    name: "persistentvolume-binder",
    watches: [
      source(PERSISTENT_VOLUME_CLAIM, (claim, event) => {
        const volumeName = claim.spec.volumeName ?? "";
        if (event !== "removed") return [requestOf(claim)];
        return volumeName === "" ? [] : [{ kind: "PersistentVolume", name: volumeName }];
      }),
      source(PERSISTENT_VOLUME, (volume, event) => [
        { kind: "PersistentVolume", name: volume.metadata.name },
        ...(event === "updated" ? [] : unbound()),
      ]),
      source(STORAGE_CLASS, () => unbound()),
      source(NODE, (_, event) => (event === "removed" ? unbound() : [])),
    ],
    // One at a time: two claims must not take the same volume.
    concurrency: 1,
    reconcile,
  };
}

const WAITING = "waiting for first consumer to be created before binding";
const NOTHING_TO_BIND =
  "no persistent volumes available for this claim and no storage class is set";

function isBindComplete(claim: PersistentVolumeClaim): boolean {
  return claim.metadata.annotations?.[BIND_COMPLETED] !== undefined;
}

function isFor(claim: PersistentVolumeClaim, volume: PersistentVolume): boolean {
  const { claimRef } = volume.spec;
  return (
    claimRef?.name === claim.metadata.name &&
    claimRef.namespace === claim.metadata.namespace &&
    (claimRef.uid === undefined || claimRef.uid === claim.metadata.uid)
  );
}

function sizeOf(amounts: unknown): number {
  const text = (amounts as Record<string, string | number> | undefined)?.["storage"];
  return text === undefined ? 0 : (parseUnits(text) ?? 0);
}
