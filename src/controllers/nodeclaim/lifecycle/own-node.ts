/**
 * A claim whose status was lost after its launch: a person or a restored backup wrote it without one. Its Node names it
 * as the owner, by UID, so the claim gets that Node's instance back. A new launch would add a second instance, and the
 * first node would be removed as empty or leaked.
 */
import { INSTANCE_TYPE_LABEL_KEY } from "../../../apis/karpenter/labels.ts";
import type { NodeClaim } from "../../../apis/karpenter/nodeclaim.ts";
import { NodeClaimNotFoundError } from "../../../core/cloudprovider/errors.ts";
import { claimsByProviderId } from "../../claims.ts";
import { nodes } from "../../mirrors.ts";
import { claimLog } from "../../words.ts";
import type { World } from "../../world.ts";

/**
 * The claim's own instance, by its Node. Undefined: no Node names the claim, another claim has the instance, or the
 * cloud says that the instance has ended. Rejects if the cloud fails.
 */
export async function takeOwn(world: World, claim: NodeClaim): Promise<NodeClaim | undefined> {
  const { uid, labels = {} } = claim.metadata;
  // A launch writes this label to the claim. Most claims that wait for a launch lack it, so the Nodes are not searched.
  if (uid === undefined || !(INSTANCE_TYPE_LABEL_KEY in labels)) return undefined;
  const own = nodes(world)
    .list()
    .find(
      ({ metadata }) =>
        metadata.deletionTimestamp === undefined &&
        metadata.ownerReferences?.some((owner) => owner.uid === uid),
    );
  const providerId = own?.spec?.providerID ?? "";
  if (providerId === "" || claimsByProviderId(world, providerId).length > 0) return undefined;
  try {
    const instance = await world.cloud.get(providerId);
    claimLog(world.log, "nodeclaim.lifecycle", claim).warn(
      "the claim has lost its status, and gets back the instance of the Node that it owns",
      { "provider-id": providerId, Node: { name: own?.metadata.name } },
    );
    return instance;
  } catch (error) {
    if (error instanceof NodeClaimNotFoundError) return undefined;
    throw error;
  }
}
