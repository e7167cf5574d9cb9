/**
 * Whether an object is really being deleted. A list may say so wrongly, and what follows cannot be taken back: so the
 * object is read live once, by UID. What this process has deleted itself needs no read.
 */
import type { Kind, KubeObject } from "../../apis/meta.ts";
import { deleteSame } from "../../kube/client/delete-same.ts";
import { isNotFound } from "../../kube/errors.ts";
import { isDeleting } from "../claims.ts";
import type { World } from "../world.ts";

type Doors = Pick<World, "kube" | "mirrors" | "clock">;

/** Milliseconds. An object that takes longer is read once more. */
const KEPT_MS = 60 * 60_000;

/** Elapsed time at which the deletion was proven, by UID, the oldest first. */
const provenOf = new WeakMap<World["mirrors"], Map<string, number>>();

/** Deletes the very object, as deleteSame does, and remembers that it is being deleted. */
export async function deleteProven(world: Doors, kind: Kind, object: KubeObject): Promise<boolean> {
  const isBegun = await deleteSame(world.kube, kind, object);
  if (isBegun) note(world, object);
  return isBegun;
}

/** Rejects when the API server does not answer. Nobody can take a deletion back, so one proof is enough. */
export async function isDeletedNow(world: Doors, kind: Kind, object: KubeObject): Promise<boolean> {
  const { name, namespace, uid } = object.metadata;
  if (isProven(world, object)) return true;
  try {
    const live = await world.kube.get(kind, { name, namespace });
    if (live.metadata.uid !== uid || !isDeleting(live)) return false;
  } catch (error) {
    if (isNotFound(error)) return false;
    throw error;
  }
  note(world, object);
  return true;
}

/** Whether its deletion has been proven already. */
export function isProven(
  { mirrors, clock }: Omit<Doors, "kube">,
  { metadata }: KubeObject,
): boolean {
  const atMs = provenOf.get(mirrors)?.get(metadata.uid ?? "");
  return atMs !== undefined && clock.elapsedMs() - atMs < KEPT_MS;
}

function note({ mirrors, clock }: Omit<Doors, "kube">, { metadata }: KubeObject): void {
  const nowMs = clock.elapsedMs();
  const proven = provenOf.get(mirrors) ?? new Map<string, number>();
  provenOf.set(mirrors, proven);
  for (const [uid, atMs] of proven) {
    if (nowMs - atMs < KEPT_MS) break;
    proven.delete(uid);
  }
  proven.set(metadata.uid ?? "", nowMs);
}
