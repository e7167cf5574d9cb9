/**
 * Records on a claim's NodePool whether the claim's node registered. upstream: lifecycle/liveness.go, registration.go
 */
import { poolIdOfClaim } from "../../../apis/hub/claim.ts";
import { condition, withCondition } from "../../../apis/karpenter/conditions.ts";
import type { NodeClaim } from "../../../apis/karpenter/nodeclaim.ts";
import { changePool, poolById } from "../../pools.ts";
import type { RegistrationTracker } from "../../registration-tracker.ts";
import type { World } from "../../world.ts";

/**
 * Records one attempt and updates the pool's condition. `failure`: why the claim was deleted; undefined if its node
 * registered.
 */
export async function tellPool(
  world: World,
  tracker: RegistrationTracker,
  claim: NodeClaim,
  failure?: { readonly reason: string; readonly message: string },
): Promise<void> {
  const stored = poolById(world, poolIdOfClaim(claim) ?? "");
  if (stored === undefined || stored.pool.generation === "alpha") return;
  const { uid } = stored.pool;
  // Claims of an earlier pool with this name do not count.
  if (!claim.metadata.ownerReferences?.some((owner) => owner.uid === uid)) return;
  tracker.record(uid, failure === undefined);
  const verdict = tracker.verdict(uid);
  const type = "NodeRegistrationHealthy";
  const known = condition(stored.native, type)?.status;
  if (verdict === "unknown" || known === (verdict === "healthy" ? "True" : "False")) return;
  const change =
    verdict === "healthy"
      ? ({ type, status: "True" } as const)
      : ({ type, status: "False", ...failure } as const);
  await changePool(world, stored, (native) => withCondition(native, change, world.clock.now()));
}
