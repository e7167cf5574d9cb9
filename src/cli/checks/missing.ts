/** Whether an object named by a flag certainly does not exist. */
import type { Kind } from "../../apis/meta.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { objectPath } from "../../kube/client/request.ts";
import { isNotFound, KubeError } from "../../kube/errors.ts";

/** Whether the object surely does not exist. False if it cannot be read, because it may exist. */
export async function isKnownMissing(
  client: Pick<KubeClient, "raw">,
  kind: Kind,
  ref: { readonly namespace?: string; readonly name: string },
): Promise<boolean> {
  try {
    await client.raw({ method: "GET", path: objectPath(kind, ref) });
    return false;
  } catch (error) {
    if (!(error instanceof KubeError)) throw error;
    return isNotFound(error);
  }
}
