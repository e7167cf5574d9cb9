/**
 * What the API server has now, read past the mirrors: the proofs of acts that cannot be taken back. Each rejects where
 * the server does not answer, and nothing ends then.
 */
import { NODE, type Node } from "../../apis/core/node.ts";
import { POD, type Pod } from "../../apis/core/pod.ts";
import { isReschedulable } from "../../apis/core/pod-predicates.ts";
import type { World } from "../world.ts";

/** Milliseconds for which one list of all Nodes is shared: late claims come in large numbers. */
const SHARED_MS = 1_000;

type Shared = { readonly atMs: number; readonly listing: Promise<readonly Node[]> };

const sharedOf = new WeakMap<World["mirrors"], Shared>();

/** Pods on the Node that would want another if it ended. */
export async function reschedulablePodsNow(
  { kube }: Pick<World, "kube">,
  nodeName: string,
): Promise<readonly Pod[]> {
  const { items } = await kube.list(POD, { fieldSelector: `spec.nodeName=${nodeName}` });
  return items.filter(isReschedulable);
}

/** The Nodes of an instance, from a list of all Nodes: the name of a Node that just joined is not known. */
export async function nodesStandingFor(
  world: Pick<World, "kube" | "clock" | "mirrors">,
  providerId: string | undefined,
): Promise<readonly Node[]> {
  if (providerId === undefined) return [];
  return (await allNodes(world)).filter(({ spec }) => spec?.providerID === providerId);
}

function allNodes({
  kube,
  clock,
  mirrors,
}: Pick<World, "kube" | "clock" | "mirrors">): Promise<readonly Node[]> {
  const nowMs = clock.elapsedMs();
  const shared = sharedOf.get(mirrors);
  if (shared !== undefined && nowMs - shared.atMs < SHARED_MS) return shared.listing;
  const listing = kube.list(NODE).then(({ items }) => items);
  sharedOf.set(mirrors, { atMs: nowMs, listing });
  return listing;
}
