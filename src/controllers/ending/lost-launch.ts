/**
 * Looks in the cloud for the instance of a deleted claim whose status names none, because another process may have
 * launched one. The claim gets the provider id, so it is deleted like any claim: first its Node, then its instance.
 */
import { claimKind, toClaim } from "../../apis/hub/claim.ts";
import type { NodeClaim } from "../../apis/karpenter/nodeclaim.ts";
import { lostLaunch } from "../../core/safety/lost-launch.ts";
import { changeClaim, storedClaim } from "../claims.ts";
import { clusterUid } from "../cluster-uid.ts";
import { claimLog } from "../words.ts";
import type { World } from "../world.ts";
import { allNodes } from "./live-reads.ts";

/** The search in progress. Searches run one after the other, so that no two claims get the same instance. */
const asking = new WeakMap<World["mirrors"], Promise<unknown>>();

/**
 * The claim, with its provider id if an instance was found. `unsure`: search again later. Undefined: the claim is gone.
 * Rejects if the cloud or the API server does not answer.
 */
export function withLostLaunch(
  world: World,
  claim: NodeClaim,
): Promise<NodeClaim | "unsure" | undefined> {
  const before = asking.get(world.mirrors) ?? Promise.resolve();
  const found = before.catch(() => undefined).then(() => find(world, claim));
  asking.set(world.mirrors, found);
  return found;
}

async function find(world: World, claim: NodeClaim): Promise<NodeClaim | "unsure" | undefined> {
  const live = await storedClaim(world, claim);
  if (live === undefined || live.metadata.uid !== claim.metadata.uid) return undefined;
  if (live.status?.providerID !== undefined) return live;
  // Instances are listed before claims, so that a claim stored between the two lists is seen.
  const instances = await world.cloud.list();
  const nodes = await allNodes(world);
  const claims = (await world.kube.list(claimKind(claim))).items.map(toClaim);
  const lost = lostLaunch(live, { claims, instances, nodes, clusterUid: clusterUid(world) });
  if (lost === "none") return live;
  if (lost === "unsure") return lost;
  const { providerId } = lost;
  claimLog(world.log, "nodeclaim.lifecycle", live).info(
    "found the instance of a deleted claim that did not name it",
    { "provider-id": providerId },
  );
  return changeClaim(world, live, (one) => ({
    ...one,
    status: { ...one.status, providerID: providerId },
  }));
}
