/**
 * The instance of a claim whose status never named one: the process that launched it ended before it could write. It
 * is found by its tags, its age, and by what no other claim can have launched.
 */
import type { Node } from "../../apis/core/node.ts";
import { poolIdOfClaim, poolIdOfLabels } from "../../apis/hub/claim.ts";
import type { NodeClaim } from "../../apis/karpenter/nodeclaim.ts";
import { fromRfc3339 } from "../../base/clock.ts";
import { originOf } from "./origin.ts";

/** Times of the API server have no fractions, and the cloud's clock is another. */
const SLACK_MS = 5_000;
/** A call to the cloud that was on its way when the claim was deleted is answered by then. */
const LATEST_MS = 60_000;

/** What is known, all of it just read. */
export interface LostLaunchFacts {
  /** All claims, the deleted one too. */
  readonly claims: readonly NodeClaim[];
  /** As the cloud lists them. */
  readonly instances: readonly NodeClaim[];
  readonly nodes: readonly Node[];
  readonly clusterUid: string | undefined;
}

/**
 * - `none`: no instance can be the claim's.
 * - `unsure`: one may be, and another claim that waits for its launch may get it.
 * - a provider ID: it is the claim's, or that of another deleted claim of its pool.
 */
export type LostLaunch = "none" | "unsure" | { readonly providerId: string };

/** Instances that live and that none of these claims names, the oldest first. */
export function unnamedInstances(
  claims: readonly NodeClaim[],
  instances: readonly NodeClaim[],
): readonly NodeClaim[] {
  const named = new Set(claims.map(({ status }) => status?.providerID));
  return instances
    .filter(
      ({ metadata, status }) =>
        metadata.deletionTimestamp === undefined && !named.has(status?.providerID),
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

/** `claim` is being deleted and names no instance. */
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

/** A Node that names another claim as its owner keeps its instance. */
function isOurs(
  instance: NodeClaim,
  claim: NodeClaim,
  { nodes, clusterUid }: Pick<LostLaunchFacts, "nodes" | "clusterUid">,
): boolean {
  const standing = nodes.filter(({ spec }) => spec?.providerID === idOf(instance));
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

/** Since when the claim waits for an instance; Infinity: it does not. */
function waitsSince({ metadata, status }: NodeClaim): number {
  if (metadata.deletionTimestamp !== undefined || status?.providerID) return Infinity;
  return fromRfc3339(metadata.creationTimestamp) ?? -Infinity;
}
