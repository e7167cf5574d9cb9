/**
 * Finds the instance of a claim that is being deleted and whose status names none. This happens if a process launched
 * the instance and stopped before it wrote the status. The instance is found by the tags and the time of its launch. It
 * is returned only if no other claim can have launched it.
 */
import type { Node } from "../../apis/core/node.ts";
import { poolIdOfClaim, poolIdOfLabels } from "../../apis/hub/claim.ts";
import type { NodeClaim } from "../../apis/karpenter/nodeclaim.ts";
import { machineOf } from "../../apis/karpenter/provider-id.ts";
import { fromRfc3339 } from "../../base/clock.ts";
import { originOf } from "./origin.ts";

/** Tolerance in milliseconds, because the API server writes whole seconds and the clock of the cloud differs. */
const SLACK_MS = 5_000;
/** A launch that was in progress when its claim was deleted has ended after this many milliseconds. */
const LATEST_MS = 60_000;

/** Facts that were just read from the API server and the cloud. */
export interface LostLaunchFacts {
  /** All claims, including the deleted one. */
  readonly claims: readonly NodeClaim[];
  /** The instances that the cloud lists. */
  readonly instances: readonly NodeClaim[];
  readonly nodes: readonly Node[];
  readonly clusterUid: string | undefined;
}

/**
 * The instance that was launched for a claim:
 * - `none`: no instance can belong to the claim.
 * - `unsure`: an instance may belong to the claim, or to another claim that waits for its launch.
 * - a provider ID: the instance belongs to this claim or to another deleted claim of its pool.
 */
export type LostLaunch = "none" | "unsure" | { readonly providerId: string };

/** Instances that are not terminated and that none of these claims names, the oldest first. */
export function unnamedInstances(
  claims: readonly NodeClaim[],
  instances: readonly NodeClaim[],
): readonly NodeClaim[] {
  const named = new Set(claims.map(({ status }) => machineOf(status?.providerID)));
  return instances
    .filter(
      ({ metadata, status }) =>
        metadata.deletionTimestamp === undefined && !named.has(machineOf(status?.providerID)),
    )
    .sort((a, b) => launchedMs(a) - launchedMs(b) || (idOf(a) < idOf(b) ? -1 : 1));
}

/** Whether an instance that no claim names may have been launched for this claim. */
export function mayBeOf(
  claim: NodeClaim,
  instance: NodeClaim,
  facts: Pick<LostLaunchFacts, "nodes" | "clusterUid">,
): boolean {
  const fromMs = fromRfc3339(claim.metadata.creationTimestamp);
  return (
    fromMs !== undefined &&
    poolIdOfLabels(instance.metadata.labels) === poolIdOfClaim(claim) &&
    launchedMs(instance) >= fromMs - SLACK_MS &&
    isOurs(instance, claim, facts)
  );
}

/** The instance that was launched for `claim`, which is being deleted and names no instance. */
export function lostLaunch(claim: NodeClaim, facts: LostLaunchFacts): LostLaunch {
  const pool = poolIdOfClaim(claim);
  const deletedMs = fromRfc3339(claim.metadata.deletionTimestamp);
  if (pool === undefined || deletedMs === undefined) return "none";
  const [found] = unnamedInstances(facts.claims, facts.instances).filter(
    (one) => mayBeOf(claim, one, facts) && launchedMs(one) <= deletedMs + LATEST_MS,
  );
  if (found === undefined) return "none";
  const isWanted = facts.claims.some(
    (other) => poolIdOfClaim(other) === pool && waitsSince(other) <= launchedMs(found) + SLACK_MS,
  );
  return isWanted ? "unsure" : { providerId: idOf(found) };
}

/** Whether the instance belongs to this cluster, and no other claim owns its Node. */
function isOurs(
  instance: NodeClaim,
  claim: NodeClaim,
  { nodes, clusterUid }: Pick<LostLaunchFacts, "nodes" | "clusterUid">,
): boolean {
  const standing = nodes.filter(
    ({ spec }) => machineOf(spec?.providerID) === machineOf(idOf(instance)),
  );
  const owners = standing
    .flatMap(({ metadata }) => metadata.ownerReferences ?? [])
    .filter(({ kind }) => kind === (claim.kind ?? "NodeClaim"));
  if (owners.some(({ name }) => name !== claim.metadata.name)) return false;
  return originOf(instance, { clusterUid, hasNode: standing.length > 0 }) === "ours";
}

function idOf({ status }: NodeClaim): string {
  return status?.providerID ?? "";
}

function launchedMs({ metadata }: NodeClaim): number {
  return fromRfc3339(metadata.creationTimestamp) ?? Number.NaN;
}

/** Since when the claim waits for an instance. Infinity: it does not wait. */
function waitsSince({ metadata, status }: NodeClaim): number {
  if (metadata.deletionTimestamp !== undefined || status?.providerID) return Infinity;
  return fromRfc3339(metadata.creationTimestamp) ?? -Infinity;
}
