/** Whether an object that a flag names is known to be absent. */
import type { Kind } from "../../apis/meta.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { objectPath } from "../../kube/client/request.ts";
import { isNotFound, KubeError } from "../../kube/errors.ts";

/** An object that may not be read is taken to be there. */
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
