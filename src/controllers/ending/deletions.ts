/**
 * Checks whether an object is really being deleted. A list of the API server may say so wrongly, and what follows
 * cannot be undone. So the object is read once from the API server, by UID. For deletions by this process that read is
 * not needed.
 */
import type { Kind, KubeObject } from "../../apis/meta.ts";
import type { Doubt } from "../../core/safety/judge.ts";
import { deleteSame, NotDeletedError } from "../../kube/client/delete-same.ts";
import { getIfThere } from "../../kube/client/get-if-there.ts";
import { isDeleting } from "../claims.ts";
import type { World } from "../world.ts";
import { Recent } from "./recent.ts";

type WorldPart = Pick<World, "kube" | "mirrors" | "clock">;

/** UIDs of objects whose deletion was confirmed. After an hour the check is repeated. */
const proven = new Recent(60 * 60_000);

/**
 * Deletes this object, not a later one of the same name, and remembers that it is being deleted. `gone`: it did not
 * exist any more. A doubt: the API server answered and did not carry the deletion out. Then the caller tries again.
 */
export async function deleteProven(
  world: WorldPart,
  kind: Kind,
  object: KubeObject,
): Promise<"begun" | "gone" | Doubt> {
  try {
    if (!(await deleteSame(world.kube, kind, object))) return "gone";
  } catch (error) {
    if (error instanceof NotDeletedError) return NOT_DELETED;
    throw error;
  }
  proven.note(world, object.metadata.uid ?? "");
  return "begun";
}

const NOT_DELETED: Doubt = {
  code: "notDeleted",
  message:
    "The API server answered its deletion and did not carry it out. The deletion is asked for again. Look at what stands between Karpenter and the API server.",
};

/**
 * Whether the API server says that the object is being deleted. Rejects if it does not answer. A deletion cannot be
 * undone, so one check is enough.
 */
export async function isDeletedNow(
  world: WorldPart,
  kind: Kind,
  object: KubeObject,
): Promise<boolean> {
  const { name, namespace, uid } = object.metadata;
  if (isProven(world, object)) return true;
  const live = await getIfThere(world.kube, kind, { name, namespace });
  if (live === undefined || live.metadata.uid !== uid || !isDeleting(live)) return false;
  proven.note(world, uid ?? "");
  return true;
}

/** Whether the deletion of the object has been confirmed already. */
export function isProven(world: Omit<WorldPart, "kube">, { metadata }: KubeObject): boolean {
  return proven.has(world, metadata.uid ?? "");
}
