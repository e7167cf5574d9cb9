/** Ending an instance, for whoever takes a claim or its node down: deleting twice is harmless. */
import type { NodeClaim } from "../apis/karpenter/nodeclaim.ts";
import { NodeClaimNotFoundError } from "../core/cloudprovider/errors.ts";
import type { World } from "./world.ts";

/** Asks the cloud to end the claim's instance. Resolves true once the cloud no longer knows it. */
export async function endInstance(world: Pick<World, "cloud">, claim: NodeClaim): Promise<boolean> {
  try {
    await world.cloud.delete(claim);
    return false;
  } catch (error) {
    if (error instanceof NodeClaimNotFoundError) return true;
    throw error;
  }
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
