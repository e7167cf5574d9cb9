/**
 * Karpenter's pod in the live sandbox. If a user deletes it, Karpenter stops at once, and starts again with an
 * empty memory in a pod of the same name on the same node, as its Deployment would do.
 */
import { POD, type Pod } from "../../apis/core/pod.ts";
import type { Watch } from "../../kube/client/client.ts";
import { controllerPod, KARPENTER_NAMESPACE, KARPENTER_POD } from "../../sandbox/base-state.ts";
import type { Box } from "./box.ts";

/**
 * Watches the pod until the returned function is called. `failed` gets an error, after which nothing is watched.
 */
export function restartWithPod(
  box: Pick<Box, "sandbox" | "restart">,
  failed: (error: unknown) => void,
): () => void {
  const { client } = box.sandbox;
  const own = {
    namespace: KARPENTER_NAMESPACE,
    fieldSelector: `metadata.name=${KARPENTER_POD}`,
  };
  let isOver = false;
  let watch: Watch<Pod> | undefined;

  async function follow(): Promise<void> {
    while (!isOver) {
      const { resourceVersion } = await client.list(POD, own);
      watch = await client.watch(POD, { ...own, resourceVersion });
      for await (const { type, object } of watch) {
        if (isOver || type !== "DELETED") continue;
        await box.restart();
        await client.create(POD, controllerPod(object.spec.nodeName ?? ""));
      }
    }
  }

  follow().catch((error: unknown) => {
    if (!isOver) failed(error);
  });
  return () => {
    isOver = true;
    watch?.close();
  };
}
