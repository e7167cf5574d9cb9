/**
 * Whether an object is really being deleted. A list may say so wrongly, and what follows cannot be undone. So the
 * object is read once from the API server, by UID. Deletions by this process need no read.
 */
import type { Kind, KubeObject } from "../../apis/meta.ts";
import { deleteSame } from "../../kube/client/delete-same.ts";
import { getIfThere } from "../../kube/client/get-if-there.ts";
import { isDeleting } from "../claims.ts";
import type { World } from "../world.ts";
import { Recent } from "./recent.ts";

type Doors = Pick<World, "kube" | "mirrors" | "clock">;

/** UIDs of objects whose deletion was proven. After an hour the proof is repeated. */
const proven = new Recent(60 * 60_000);

/** Deletes this object, not a later one of the same name (deleteSame), and remembers that it is being deleted. */
export async function deleteProven(world: Doors, kind: Kind, object: KubeObject): Promise<boolean> {
  const isBegun = await deleteSame(world.kube, kind, object);
  if (isBegun) proven.note(world, object.metadata.uid ?? "");
  return isBegun;
}

/** Rejects if the API server does not answer. A deletion cannot be undone, so one proof is enough. */
export async function isDeletedNow(world: Doors, kind: Kind, object: KubeObject): Promise<boolean> {
  const { name, namespace, uid } = object.metadata;
  if (isProven(world, object)) return true;
  const live = await getIfThere(world.kube, kind, { name, namespace });
  if (live === undefined || live.metadata.uid !== uid || !isDeleting(live)) return false;
  proven.note(world, uid ?? "");
  return true;
}

/** Whether its deletion has been proven already. */
export function isProven(world: Omit<Doors, "kube">, { metadata }: KubeObject): boolean {
  return proven.has(world, metadata.uid ?? "");
}
