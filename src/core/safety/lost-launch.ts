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

/** `claim` is being deleted and names no instance. */
export function lostLaunch(claim: NodeClaim, facts: LostLaunchFacts): LostLaunch {
  const pool = poolIdOfClaim(claim);
  const fromMs = fromRfc3339(claim.metadata.creationTimestamp);
  const deletedMs = fromRfc3339(claim.metadata.deletionTimestamp);
  if (pool === undefined || fromMs === undefined || deletedMs === undefined) return "none";
  const named = new Set(facts.claims.map(({ status }) => status?.providerID));
  const [found] = facts.instances
    .filter((one) => {
      const atMs = launchedMs(one);
      return (
        one.metadata.deletionTimestamp === undefined &&
        poolIdOfLabels(one.metadata.labels) === pool &&
        atMs >= fromMs - SLACK_MS &&
        atMs <= deletedMs + LATEST_MS &&
        !named.has(one.status?.providerID) &&
        isOurs(one, claim, facts)
      );
    })
    .sort((a, b) => launchedMs(a) - launchedMs(b) || (idOf(a) < idOf(b) ? -1 : 1));
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
  { nodes, clusterUid }: LostLaunchFacts,
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
