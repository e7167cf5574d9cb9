/**
 * Reads the API server itself instead of the local copies (mirrors), for checks before irreversible deletions. Each
 * read rejects if the server does not answer, so that nothing is deleted.
 */
import { NODE, type Node } from "../../apis/core/node.ts";
import { isActive, isTerminating, POD, type Pod } from "../../apis/core/pod.ts";
import { isReschedulable } from "../../apis/core/pod-predicates.ts";
import { machineOf } from "../../apis/karpenter/provider-id.ts";
import { createdAtMs, type Kind, keyOf, versionOf } from "../../apis/meta.ts";
import { eachInSteps, inTurns, TURN_MS } from "../../base/steps.ts";
import { getIfThere } from "../../kube/client/get-if-there.ts";
import { nodes, pods, readPodPage } from "../mirrors.ts";
import type { World } from "../world.ts";

/** Milliseconds for which one list of all Nodes is reused, because many claims may time out together. */
const SHARED_MS = 1_000;
/** Milliseconds after its creation when a pod counts as lost if the local copy lacks it. */
const LOST_MS = 60_000;
/** Number of pods in one step. Only the Node's name is read from each. */
const PODS_PER_STEP = 4_096;

type WorldPart = Pick<World, "kube" | "clock" | "mirrors">;

type Shared = { readonly atMs: number; readonly listing: Promise<readonly Node[]> };

const sharedOf = new WeakMap<World["mirrors"], Shared>();

/** The instance whose Nodes are looked up, and what is known before the API server is read. */
export interface Sought {
  readonly providerId: string | undefined;
  /** Names that the instance's Node may have, according to claims. */
  readonly names?: readonly (string | undefined)[];
  /**
   * The name of the instance's Node, if this process itself has seen that Node. If this Node is gone, no list of all
   * Nodes is needed.
   */
  readonly seenAs?: string | undefined;
  /** Whether to wait for a Node that has one of these names and no provider id. Absent: always wait. */
  readonly waitsForUntold?: (node: Node) => Promise<boolean>;
}

/** Thrown if a Node with a known name has no provider id yet, so that it may belong to the instance. */
export class UntoldNodeError extends Error {
  override readonly name = "UntoldNodeError";
}

/** Pods on the Node, read from the API server, that would need another node if this one were deleted. */
export async function reschedulablePodsNow(
  { kube }: Pick<World, "kube">,
  nodeName: string,
): Promise<readonly Pod[]> {
  const { items } = await kube.list(POD, { fieldSelector: `spec.nodeName=${nodeName}` });
  return items.filter(isReschedulable);
}

/**
 * The first active pod on these Nodes that the local copy lacks, or has as being deleted. If the pod is not new, the
 * copy is compared with the API server soon. Rejects if the API server's list may be outdated.
 */
export async function unknownPod(
  world: Pick<World, "kube" | "mirrors" | "clock">,
  nodeNames: readonly string[],
): Promise<Pod | undefined> {
  if (nodeNames.length === 0) return undefined;
  // Pods and Nodes share one sequence of resource versions. The version is read before the requests, because the watch
  // may deliver newer Nodes during them.
  const leastVersion = newestOf(nodes(world).each());
  const readPage = readPodPage(world);
  const isStrange = (pod: Pod, listVersion: number) => {
    const known = pods(world).get(keyOf(pod));
    if (known === undefined || known.metadata.uid !== pod.metadata.uid) return true;
    // The copy may be newer than the list.
    return isTerminating(known) && versionOf(known.metadata) <= listVersion;
  };
  const listed = nodeNames.map(async (name) => {
    const list = await world.kube.list(POD, { fieldSelector: `spec.nodeName=${name}`, readPage });
    if (versionOf(list) < leastVersion)
      throw new Error(
        "the list of pods is older than the Nodes that the watch has brought, waiting",
      );
    return list.items.filter((pod) => isActive(pod) && isStrange(pod, versionOf(list)));
  });
  const strange = (await Promise.all(listed)).flat();
  doubtIfOld(world, strange);
  return strange[0];
}

/** Has the local copy of pods compared with the API server soon, if it lacks one of these listed pods for long. */
export function doubtIfLost(world: Pick<World, "clock" | "mirrors">, listed: readonly Pod[]): void {
  const known = pods(world);
  doubtIfOld(
    world,
    listed.filter((pod) => known.get(keyOf(pod))?.metadata.uid !== pod.metadata.uid),
  );
}

/** Has the copy compared soon, if one of these pods, which it does not have so, is not new: the watch takes seconds. */
function doubtIfOld(
  { clock, mirrors }: Pick<World, "clock" | "mirrors">,
  strange: readonly Pod[],
): void {
  const oldMs = clock.now() - LOST_MS;
  if (strange.some((pod) => createdAtMs(pod) < oldMs)) mirrors.doubt(POD as Kind);
}

/**
 * The current Nodes of an instance: by known names, else from a list of all Nodes. Empty only if it is certain that
 * there is none. Rejects if that is in doubt, so that the caller waits.
 */
export async function standingNodes(
  world: WorldPart,
  { providerId, names = [], seenAs, waitsForUntold = async () => true }: Sought,
): Promise<readonly Node[]> {
  if (!providerId) return [];
  const mirrored = nodes(world).byIndex("providerId", providerId);
  const known = [...mirrored.map(({ metadata }) => metadata.name), ...names, seenAs];
  const named = await namedNodes(world, providerId, known);
  for (const untold of named.filter(({ spec }) => !spec?.providerID))
    if (await waitsForUntold(untold))
      throw new UntoldNodeError(`Node ${untold.metadata.name} does not tell its instance, waiting`);
  const found = named.filter(({ spec }) => spec?.providerID);
  if (found.length > 0 || seenAs !== undefined) return found;
  return nodesStandingFor(world, providerId);
}

/**
 * Nodes with these names that belong to the instance, or that have no provider id yet. Nodes of other instances are
 * left out, because a name may be in use again.
 */
export async function namedNodes(
  world: Pick<World, "kube">,
  providerId: string,
  names: readonly (string | undefined)[],
): Promise<readonly Node[]> {
  const asked = [...new Set(names)].filter((name) => name !== undefined && name !== "");
  const read = await Promise.all(
    asked.map((name) => getIfThere(world.kube, NODE, { name: name as string })),
  );
  return read.filter(
    (node): node is Node =>
      node !== undefined && (!node.spec?.providerID || standsFor(node, providerId)),
  );
}

/** The Nodes of an instance, found in a list of all Nodes. The name of a Node that has just joined is not known. */
export async function nodesStandingFor(
  world: WorldPart,
  providerId: string | undefined,
): Promise<readonly Node[]> {
  if (!providerId) return [];
  return (await allNodes(world)).filter((node) => standsFor(node, providerId));
}

/** Whether the Node belongs to this instance. Provider ids may be spelled differently. */
export function standsFor({ spec }: Node, providerId: string): boolean {
  return machineOf(spec?.providerID) === machineOf(providerId);
}

/** All Nodes of the API server. Rejects if the list is older than the local copy, or lacks a Node that exists. */
export function allNodes(world: WorldPart): Promise<readonly Node[]> {
  const { clock, mirrors } = world;
  const nowMs = clock.elapsedMs();
  const shared = sharedOf.get(mirrors);
  if (shared !== undefined && nowMs - shared.atMs < SHARED_MS) return shared.listing;
  const listing = listNodes(world);
  sharedOf.set(mirrors, { atMs: nowMs, listing });
  listing.catch(() => sharedOf.delete(mirrors));
  return listing;
}

async function listNodes(world: WorldPart): Promise<readonly Node[]> {
  // The list is copied before the request, because the watch may deliver newer objects than the response has.
  const mirrored = nodes(world).each().slice();
  const leastVersion = newestOf(mirrored);
  // The server's cache and its store are read separately: if one of them lacks an object, the other may have it.
  const cached = await world.kube.list(NODE, { resourceVersion: "0", keep: nameOnly });
  const { items, resourceVersion } = await world.kube.list(NODE);
  if (versionOf({ resourceVersion }) < leastVersion)
    throw new Error("the list of Nodes is older than what the watch has brought, waiting");
  const listed = new Set(items.map(({ metadata }) => metadata.name));
  const missing = await unlisted(world, [...mirrored, ...cached.items], listed);
  for (const name of missing)
    if ((await getIfThere(world.kube, NODE, { name })) !== undefined)
      throw new Error(`the list of Nodes lacks ${name}, which the API server has, waiting`);
  return items;
}

function newestOf(known: readonly Node[]): number {
  return known.reduce((most, one) => Math.max(most, versionOf(one.metadata)), 0);
}

function nameOnly({ metadata: { name } }: Node): Node {
  return { metadata: { name } };
}

/**
 * Names of Nodes that are missing from the list, although the local copy of Nodes has them or pods in the local copy
 * name them.
 */
async function unlisted(
  world: WorldPart,
  known: readonly Node[],
  listed: ReadonlySet<string>,
): Promise<readonly string[]> {
  const names = new Set(known.map(({ metadata }) => metadata.name));
  const ofPods = eachInSteps(pods(world).each(), PODS_PER_STEP, ({ spec }) => {
    if (spec.nodeName) names.add(spec.nodeName);
  });
  await inTurns(world.clock, ofPods, TURN_MS);
  return [...names].filter((name) => !listed.has(name)).sort();
}
