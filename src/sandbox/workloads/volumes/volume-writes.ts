/** The writes of the volume binder: bindings, new volumes, phases, and events. */
import {
  PERSISTENT_VOLUME,
  PERSISTENT_VOLUME_CLAIM,
  type PersistentVolume,
  type PersistentVolumeClaim,
} from "../../../apis/core/kinds.ts";
import { toRfc3339 } from "../../../base/clock.ts";
import { deleteIfThere } from "../../../kube/client/delete-if-there.ts";
import { patchObject } from "../../../kube/client/patch-object.ts";
import { isAlreadyExists } from "../../../kube/errors.ts";
import type { EventRecorder } from "../../../kube/events/events.ts";
import { type PartDeps, subject } from "../../parts.ts";
import { boundTo, isFor, withClaim } from "./volume-shapes.ts";

export const SELECTED_NODE = "volume.kubernetes.io/selected-node";

/** The dependencies of these writes. */
export interface VolumeParts extends Pick<PartDeps, "clock" | "kube"> {
  readonly recorder: EventRecorder;
}

/** Creates an event about a claim. */
export function tellClaim(
  { recorder }: VolumeParts,
  claim: PersistentVolumeClaim,
  type: "Normal" | "Warning",
  reason: string,
  message: string,
): void {
  recorder.publish({ object: subject(PERSISTENT_VOLUME_CLAIM, claim), type, reason, message });
}

/** Makes claim and volume refer to each other. A volume of another claim is not changed. */
export async function bind(
  parts: VolumeParts,
  claim: PersistentVolumeClaim,
  volume: PersistentVolume,
): Promise<void> {
  if (volume.spec.claimRef !== undefined && !isFor(claim, volume)) return;
  const held = { ...volume, spec: withClaim(volume.spec, claim) };
  await setVolumePhase(parts, volume, "Bound", held);
  await patchObject(parts.kube, PERSISTENT_VOLUME_CLAIM, claim, boundTo(volume, claim));
}

/** Creates a volume for the claim, or uses the one that an earlier attempt created. */
export async function provision(
  parts: VolumeParts,
  claim: PersistentVolumeClaim,
  volume: PersistentVolume,
): Promise<void> {
  const { name } = volume.metadata;
  let created: PersistentVolume;
  try {
    created = await parts.kube.create(PERSISTENT_VOLUME, volume);
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
    created = await parts.kube.get(PERSISTENT_VOLUME, { name });
  }
  const message = `Successfully provisioned volume ${name}`;
  tellClaim(parts, claim, "Normal", "ProvisioningSucceeded", message);
  await bind(parts, claim, created);
}

/** Call when the claim of the volume is deleted. If its reclaim policy says so, the volume is deleted too. */
export async function release(parts: VolumeParts, volume: PersistentVolume): Promise<void> {
  await setVolumePhase(parts, volume, "Released");
  if (volume.spec["persistentVolumeReclaimPolicy"] !== "Delete") return;
  await deleteIfThere(parts.kube, PERSISTENT_VOLUME, volume);
}

/** Writes the phase, with the time of the change, if it differs. */
export async function setVolumePhase(
  { clock, kube }: VolumeParts,
  volume: PersistentVolume,
  phase: "Available" | "Bound" | "Released",
  next: PersistentVolume = volume,
): Promise<void> {
  const lastPhaseTransitionTime = toRfc3339(clock.now());
  const status =
    volume.status?.phase === phase
      ? volume.status
      : { ...volume.status, phase, lastPhaseTransitionTime };
  await patchObject(kube, PERSISTENT_VOLUME, volume, { ...next, status });
}

/** Marks the claim as lost, because its volume was deleted. */
export async function markLost({ kube }: VolumeParts, claim: PersistentVolumeClaim): Promise<void> {
  const status = { ...claim.status, phase: "Lost" } as const;
  await patchObject(kube, PERSISTENT_VOLUME_CLAIM, claim, { ...claim, status });
}

/** Removes the chosen node, which does not exist any more. The scheduler chooses again. */
export async function unselect({ kube }: VolumeParts, claim: PersistentVolumeClaim): Promise<void> {
  const { [SELECTED_NODE]: _, ...annotations } = claim.metadata.annotations ?? {};
  const metadata = { ...claim.metadata, annotations };
  await patchObject(kube, PERSISTENT_VOLUME_CLAIM, claim, { ...claim, metadata });
}

/** Gives the claim its StorageClass. */
export function setClass(
  { kube }: VolumeParts,
  claim: PersistentVolumeClaim,
  storageClassName: string,
): Promise<PersistentVolumeClaim | undefined> {
  const spec = { ...claim.spec, storageClassName };
  return patchObject(kube, PERSISTENT_VOLUME_CLAIM, claim, { ...claim, spec });
}
