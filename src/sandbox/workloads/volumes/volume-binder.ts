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
} from "../../../apis/core/kinds.ts";
import { NODE } from "../../../apis/core/node.ts";
import { STORAGE_CLASS, type StorageClass } from "../../../apis/storage/kinds.ts";
import { toRfc3339 } from "../../../base/clock.ts";
import {
  AWAIT_CHANGE,
  type Controller,
  type Outcome,
  type Request,
  requestFor,
  source,
} from "../../../kube/controller.ts";
import { isAlreadyExists, isNotFound } from "../../../kube/errors.ts";
import { patchObject } from "../../../kube/patch-object.ts";
import { createPartRecorder, type PartDeps, subject } from "../../parts.ts";
import {
  boundTo,
  isBindComplete,
  isFor,
  NO_PROVISIONER,
  newVolumeFor,
  smallestFree,
  withClaim,
  zoneKeyOf,
  zoneOf,
} from "./volume-shapes.ts";

const SELECTED_NODE = "volume.kubernetes.io/selected-node";
const DEFAULT_CLASS = "storageclass.kubernetes.io/is-default-class";

const WAITING = "waiting for first consumer to be created before binding";
const NOTHING_TO_BIND =
  "no persistent volumes available for this claim and no storage class is set";

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
    const existing = selected === undefined ? smallestFree(claim, volumes.list()) : undefined;
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

  async function bind(claim: PersistentVolumeClaim, volume: PersistentVolume): Promise<void> {
    if (volume.spec.claimRef !== undefined && !isFor(claim, volume)) return;
    const status = inPhase(volume, "Bound");
    const held = { ...volume, spec: withClaim(volume.spec, claim), status };
    await patchObject(kube, PERSISTENT_VOLUME, volume, held);
    await patchObject(kube, PERSISTENT_VOLUME_CLAIM, claim, boundTo(volume, claim));
  }

  async function provision(
    claim: PersistentVolumeClaim,
    storageClass: StorageClass,
    selected: string | undefined,
  ): Promise<void> {
    const node = nodes.get(selected ?? "");
    const volume = newVolumeFor(claim, storageClass, {
      zone: zoneOf(storageClass, node, nodes.list()),
      zoneKey: zoneKeyOf(storageClass, node),
    });
    const { name } = volume.metadata;
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

  const requestOf = (claim: PersistentVolumeClaim): Request =>
    requestFor("PersistentVolumeClaim", claim);
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
