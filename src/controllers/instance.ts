/** Ending an instance, for whoever takes a claim or its node down: deleting twice is harmless. */
import type { NodeClaim } from "../apis/karpenter/nodeclaim.ts";
import type { KubeObject } from "../apis/meta.ts";
import { errorText } from "../base/error-text.ts";
import { NodeClaimNotFoundError } from "../core/cloudprovider/errors.ts";
import type { EventToPublish } from "../kube/events/events.ts";
import type { World } from "./world.ts";

/**
 * Asks the cloud to end the claim's instance. Resolves true once the cloud no longer knows it. That it will
 * not is told on `objects`, the claim and its Node: they stay until it does.
 */
export async function endInstance(
  world: Pick<World, "cloud" | "events">,
  claim: NodeClaim,
  objects: readonly KubeObject[],
): Promise<boolean> {
  try {
    await world.cloud.delete(claim);
    return false;
  } catch (error) {
    if (error instanceof NodeClaimNotFoundError) return true;
    for (const event of failedTermination(objects, errorText(error))) world.events.publish(event);
    throw error;
  }
}

/** Upstream knows the reason and never sends it: pkg/events/reason.go */
export function failedTermination(
  objects: readonly KubeObject[],
  why: string,
): readonly EventToPublish[] {
  return objects.map((object) => ({
    object,
    type: "Warning",
    reason: "FailedTermination",
    message: `Failed to terminate instance, ${why}`,
    dedupeValues: [object.metadata.name],
  }));
}

/** Whether the cloud still knows the instance. Other failures reject. */
export async function instanceExists(
  world: Pick<World, "cloud">,
  providerId: string,
): Promise<boolean> {
  try {
    await world.cloud.get(providerId);
    return true;
  } catch (error) {
    if (error instanceof NodeClaimNotFoundError) return false;
    throw error;
  }
}
