/**
 * Karpenter's pod in the live sandbox. Whoever deletes it ends Karpenter, in the middle of whatever it does; it
 * starts again as a process that remembers nothing, in a pod of the same name on the same node, as its
 * Deployment would see to.
 */
import { POD, type Pod } from "../../apis/core/pod.ts";
import type { Watch } from "../../kube/client/client.ts";
import { controllerPod, KARPENTER_NAMESPACE, KARPENTER_POD } from "../../sandbox/base-state.ts";
import type { Box } from "./box.ts";

/** Until the answer is called. `failed` hears of what went wrong; nothing is watched any longer then. */
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
