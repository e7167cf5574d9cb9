/**
 * The volume binder and the provisioner. It binds claims to existing volumes, and creates volumes for classes
 * with a provisioner: at once, or after the scheduler chose a node, and then in that node's zone. If a claim
 * is deleted, its volume is released or deleted.
 */
import {
  PERSISTENT_VOLUME,
  PERSISTENT_VOLUME_CLAIM,
  type PersistentVolumeClaim,
} from "../../../apis/core/kinds.ts";
import { NODE } from "../../../apis/core/node.ts";
import { STORAGE_CLASS } from "../../../apis/storage/kinds.ts";
import {
  AWAIT_CHANGE,
  type Controller,
  type Outcome,
  type Request,
  requestFor,
  source,
} from "../../../kube/manager/controller.ts";
import { createPartRecorder, type PartDeps } from "../../parts.ts";
import {
  defaultClassFor,
  isBindComplete,
  NO_PROVISIONER,
  newVolumeFor,
  smallestFree,
  zoneOf,
} from "./volume-shapes.ts";
import {
  bind,
  markLost,
  provision,
  release,
  SELECTED_NODE,
  setClass,
  setVolumePhase,
  tellClaim,
  unselect,
} from "./volume-writes.ts";

const WAITING = "waiting for first consumer to be created before binding";
const NOTHING_TO_BIND =
  "no persistent volumes available for this claim and no storage class is set";

/** Binds claims to volumes, and creates volumes. upstream: pkg/controller/volume/persistentvolume of Kubernetes. */
export function volumeBinderController(deps: PartDeps): Controller {
  const { mirrors } = deps;
  const claims = mirrors.of(PERSISTENT_VOLUME_CLAIM);
  const volumes = mirrors.of(PERSISTENT_VOLUME);
  const classes = mirrors.of(STORAGE_CLASS);
  const nodes = mirrors.of(NODE);
  const parts = { ...deps, recorder: createPartRecorder(deps, "persistentvolume-controller") };

  async function reconcile({ kind, namespace, name }: Request): Promise<Outcome> {
    if (kind === "PersistentVolume") await syncVolume(name);
    else await syncClaim(claims.get(`${namespace}/${name}`));
    return AWAIT_CHANGE;
  }

  async function syncClaim(found: PersistentVolumeClaim | undefined): Promise<void> {
    const fallback = found && defaultClassFor(found, classes.list());
    const claim = found && fallback ? await setClass(parts, found, fallback) : found;
    if (claim === undefined || claim.metadata.deletionTimestamp !== undefined) return;
    const named = claim.spec.volumeName ?? "";
    if (named === "") return findVolume(claim);
    const volume = volumes.get(named);
    if (volume !== undefined) return bind(parts, claim, volume);
    if (isBindComplete(claim)) await markLost(parts, claim);
  }

  /** Binds a free volume or creates one, now or after the scheduler chose a node. */
  async function findVolume(claim: PersistentVolumeClaim): Promise<void> {
    const className = claim.spec.storageClassName ?? "";
    const storageClass = classes.get(className);
    const selected = claim.metadata.annotations?.[SELECTED_NODE];
    const node = nodes.get(selected ?? "");
    if (selected !== undefined && node === undefined) return unselect(parts, claim);
    const delayed = storageClass?.volumeBindingMode === "WaitForFirstConsumer";
    if (delayed && selected === undefined)
      return tellClaim(parts, claim, "Normal", "WaitForFirstConsumer", WAITING);
    const existing = selected === undefined ? smallestFree(claim, volumes.list()) : undefined;
    if (existing !== undefined) return bind(parts, claim, existing);
    if (storageClass === undefined && className !== "") {
      const message = `storageclass.storage.k8s.io "${className}" not found`;
      return tellClaim(parts, claim, "Warning", "ProvisioningFailed", message);
    }
    if (storageClass === undefined || storageClass.provisioner === NO_PROVISIONER)
      return tellClaim(parts, claim, "Normal", "FailedBinding", NOTHING_TO_BIND);
    const zone = zoneOf(storageClass, node, nodes.list());
    await provision(parts, claim, newVolumeFor(claim, storageClass, zone));
  }

  async function syncVolume(name: string): Promise<void> {
    const volume = volumes.get(name);
    if (volume === undefined || volume.metadata.deletionTimestamp !== undefined) return;
    const { claimRef } = volume.spec;
    if (claimRef?.uid === undefined) return setVolumePhase(parts, volume, "Available");
    const claim = claims.get(`${claimRef.namespace}/${claimRef.name}`);
    if (claim?.metadata.uid !== claimRef.uid) await release(parts, volume);
  }

  return {
    name: "persistentvolume-binder",
    watches: watchesOf(() => claims.list().filter((claim) => !isBindComplete(claim))),
    // One reconcile at a time, so that two claims cannot take the same volume.
    concurrency: 1,
    reconcile,
  };
}

/** Waiting claims are reconciled after each change of a volume, class or node that could help them. */
function watchesOf(unbound: () => readonly PersistentVolumeClaim[]): Controller["watches"] {
  const requestOf = (claim: PersistentVolumeClaim): Request =>
    requestFor("PersistentVolumeClaim", claim);
  const waiting = (): readonly Request[] => unbound().map(requestOf);
  return [
    source(PERSISTENT_VOLUME_CLAIM, (claim, event) => {
      const volumeName = claim.spec.volumeName ?? "";
      if (event !== "removed") return [requestOf(claim)];
      return volumeName === "" ? [] : [{ kind: "PersistentVolume", name: volumeName }];
    }),
    source(PERSISTENT_VOLUME, (volume, event) => [
      { kind: "PersistentVolume", name: volume.metadata.name },
      ...(event === "updated" ? [] : waiting()),
    ]),
    source(STORAGE_CLASS, waiting),
    source(NODE, (_, event) => (event === "removed" ? waiting() : [])),
  ];
}
