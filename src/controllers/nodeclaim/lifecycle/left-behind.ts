/**
 * Finds instances that an earlier process launched before it ended, and that no claim names yet. A claim that was not
 * launched before the start of this process takes over one of these instances. A new launch would add a second
 * instance. The fleet's ClientToken alone does not prevent that: the claim may now be in a batch with other claims
 * (providers/aws/instance/fleet-tokens.ts).
 */
import type { Node } from "../../../apis/core/node.ts";
import { claimKind, toClaim } from "../../../apis/hub/claim.ts";
import { TERMINATION_FINALIZER } from "../../../apis/karpenter/labels.ts";
import type { NodeClaim } from "../../../apis/karpenter/nodeclaim.ts";
import { machineOf } from "../../../apis/karpenter/provider-id.ts";
import { inTurns, TURN_MS } from "../../../base/steps.ts";
import { mayBeOf, unnamedInstances } from "../../../core/safety/lost-launch.ts";
import { hasFinalizer } from "../../../kube/client/finalizer.ts";
import { claimsByProviderId, isDeleting, isManagedClaim, listClaimsInSteps } from "../../claims.ts";
import { clusterUid } from "../../cluster-uid.ts";
import { allNodes } from "../../ending/live-reads.ts";
import { nodes } from "../../mirrors.ts";
import { claimLog } from "../../words.ts";
import type { World } from "../../world.ts";
import type { LeftBehind, Memory } from "./step.ts";

/**
 * Returns the claim with an instance that an earlier process launched. Undefined: the claim must be launched. Rejects
 * if the cloud fails.
 */
export async function takeLeftBehind(
  world: World,
  claim: NodeClaim,
  memory: Memory,
): Promise<NodeClaim | undefined> {
  const found = await leftBehind(world, memory);
  if (found.instances.length === 0 || memory.begunHere.has(uidOf(claim))) return undefined;
  let untried = ownFirst(world, claim, found);
  while (untried.length > 0) {
    const next = untried.find((id) => !memory.taken.has(id));
    if (next === undefined) {
      // Other claims try the remaining instances. An instance that they do not keep becomes free again.
      const kept = await Promise.all(untried.map((id) => memory.taken.get(id)));
      untried = untried.filter((_, at) => kept[at] !== true);
      continue;
    }
    const launched = await take(world, claim, { providerId: next, memory });
    if (launched !== undefined) return launched;
    untried = untried.filter((id) => id !== next);
  }
  return undefined;
}

/** Takes the instance for the claim, unless another claim takes it at the same time. */
async function take(
  world: World,
  claim: NodeClaim,
  { providerId, memory: { taken } }: { readonly providerId: string; readonly memory: Memory },
): Promise<NodeClaim | undefined> {
  if (claimsByProviderId(world, providerId).length > 0) return undefined;
  const taking = world.cloud.takeOver(claim, providerId);
  const isKept = taking.then(
    (launched) => launched !== undefined,
    () => false,
  );
  taken.set(providerId, isKept);
  if (!(await isKept)) taken.delete(providerId);
  const launched = await taking;
  if (launched !== undefined)
    claimLog(world.log, "nodeclaim.lifecycle", claim).info(
      "took over an instance that was launched before a restart",
      { "provider-id": providerId },
    );
  return launched;
}

/**
 * Searches once, before the first launch of this process, so that its own launches are never found. If no claim was
 * waiting before the start, the cloud is not called.
 */
function leftBehind(world: World, memory: Memory): Promise<LeftBehind> {
  if (memory.leftBehind !== undefined) return memory.leftBehind;
  const looking = look(world, memory);
  memory.leftBehind = looking;
  looking.catch(() => {
    memory.leftBehind = undefined;
  });
  return looking;
}

async function look(world: World, { begunHere }: Memory): Promise<LeftBehind> {
  const claims = await inTurns(world.clock, listClaimsInSteps(world), TURN_MS);
  const isWaiting = (one: NodeClaim): boolean =>
    !one.status?.providerID &&
    !isDeleting(one) &&
    hasFinalizer(one, TERMINATION_FINALIZER) &&
    !begunHere.has(uidOf(one)) &&
    isManagedClaim(world, one);
  const waiting = claims.find(isWaiting);
  if (waiting === undefined) return { instances: [], nodes: [] };
  const running = await world.cloud.list();
  // A local copy may lack a claim or Node. Its instance must not be given to another claim.
  const live = (await world.kube.list(claimKind(waiting))).items.map(toClaim);
  const instances = unnamedInstances([...claims, ...live], running);
  return { instances, nodes: instances.length === 0 ? [] : await allNodes(world) };
}

/** IDs of the instances that may have been launched for the claim. Instances whose Node has joined come first. */
function ownFirst(
  world: World,
  claim: NodeClaim,
  { instances, nodes: listed }: LeftBehind,
): readonly string[] {
  const uid = clusterUid(world);
  const standing = (id: string): readonly Node[] => [
    ...nodes(world).byIndex("providerId", id),
    ...listed.filter(({ spec }) => machineOf(spec?.providerID) === machineOf(id)),
  ];
  return instances
    .map((instance) => ({ instance, id: instance.status?.providerID ?? "" }))
    .map((one) => ({ ...one, standing: standing(one.id) }))
    .filter((one) => mayBeOf(claim, one.instance, { nodes: one.standing, clusterUid: uid }))
    .sort((a, b) => Math.sign(b.standing.length) - Math.sign(a.standing.length))
    .map(({ id }) => id);
}

function uidOf({ metadata }: NodeClaim): string {
  return metadata.uid ?? metadata.name;
}
