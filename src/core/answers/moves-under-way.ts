/**
 * Finds out which nodes take the pods of leaving nodes, for the console. For a pod that is not evicted yet, that is
 * where the current plan places it. For an evicted pod, it is the node of its successor: a pod that its owner created
 * after the node began to leave. karpenter-ts only.
 */
import { isActive, type Pod } from "../../apis/core/pod.ts";
import { controllerOf, keyOf } from "../../apis/meta.ts";
import { compareText } from "../../base/text-order.ts";
import { within } from "../../base/within.ts";
import { recordOf, replacementCommandId } from "../disruption/record.ts";
import type { SchedulingResult } from "../provisioning/result.ts";
import type { NodeView } from "../state/node-view.ts";

/**
 * For each leaving node (by name): the nodes that take its pods, and how many each. The key "" stands for planned nodes
 * that do not exist yet. The number 0 stands for a replacement that has taken no pods yet.
 */
export type MovesUnderWay = ReadonlyMap<string, ReadonlyMap<string, number>>;

/** The moves while no node leaves. Always the same object, so that nothing is made from it again. */
export const NO_MOVES: MovesUnderWay = new Map();

/**
 * For each leaving node (by name) and each owner of pods (by UID): the most pods of this owner that were ever seen
 * there.
 */
export type SeenLeaving = ReadonlyMap<string, ReadonlyMap<string, number>>;

type Counts = Map<string, number>;

/**
 * Updates the counts of pods on leaving nodes. `seen`: the result of the previous call, which also counts pods that are
 * gone by now. `before`: the nodes of the previous call.
 */
export function seenLeaving(
  seen: SeenLeaving,
  before: readonly NodeView[],
  nodes: readonly NodeView[],
): SeenLeaving {
  return new Map(
    nodes.filter(willBeRemoved).map(({ name, pods }) => {
      const now = countsOf(pods);
      const known = seen.get(name) ?? countsOf(before.find((one) => one.name === name)?.pods ?? []);
      for (const [owner, most] of known) now.set(owner, Math.max(most, now.get(owner) ?? 0));
      return [name, now];
    }),
  );
}

/** Where the pods of leaving nodes go. `plan`: the plan for pending pods and for pods of leaving nodes. */
export function movesUnderWay(
  nodes: readonly NodeView[],
  plan: Pick<SchedulingResult, "existing" | "newClaims">,
  seen: SeenLeaving,
): MovesUnderWay {
  const leaving = nodes.filter(willBeRemoved);
  if (leaving.length === 0) return NO_MOVES;
  const planned = plannedPlaces(plan);
  const successors = successorsOf(nodes, planned);
  const replacements = replacementsOf(nodes);
  const taken = new Set<string>();
  const moves = leaving.map((node): readonly [string, Counts] => {
    const to: Counts = new Map();
    for (const { pod, place } of planned)
      if (pod.spec.nodeName === node.name && place !== node.name) add(to, place);
    const left = countsOf(node.pods.filter(isActive));
    for (const [owner, most] of seen.get(node.name) ?? []) {
      const lost = most - (left.get(owner) ?? 0);
      const own = (successors.get(owner) ?? []).filter(
        ({ pod, place }) => isSince(pod, node) && place !== node.name && !taken.has(keyOf(pod)),
      );
      for (const { pod, place } of own.slice(0, Math.max(0, lost))) {
        taken.add(keyOf(pod));
        add(to, place);
      }
    }
    const id = node.claim === undefined ? undefined : recordOf(node.claim)?.id;
    for (const name of replacements.get(id ?? "") ?? []) to.set(name, to.get(name) ?? 0);
    return [node.name, to];
  });
  return new Map(moves.filter(([, to]) => to.size > 0));
}

interface Placed {
  readonly pod: Pod;
  /** The name of a node. "": a planned node, which does not exist yet. */
  readonly place: string;
}

function plannedPlaces({
  existing,
  newClaims,
}: Pick<SchedulingResult, "existing" | "newClaims">): readonly Placed[] {
  return [
    ...existing.flatMap(({ nodeName, pods }) => pods.map((pod) => ({ pod, place: nodeName }))),
    ...newClaims.flatMap(({ pods }) => pods.map((pod) => ({ pod, place: "" }))),
  ];
}

/**
 * Pods that may be successors of evicted pods, by UID of their owner: pods on nodes that are not leaving, and pending
 * pods with a planned place. The oldest come first.
 */
function successorsOf(
  nodes: readonly NodeView[],
  planned: readonly Placed[],
): ReadonlyMap<string, readonly Placed[]> {
  const bound = nodes
    .filter((node) => !willBeRemoved(node))
    .flatMap(({ name, pods }) => pods.filter(isActive).map((pod) => ({ pod, place: name })));
  const waiting = planned.filter(({ pod }) => !pod.spec.nodeName);
  const found = new Map<string, Placed[]>();
  for (const one of [...bound, ...waiting]) {
    const owner = controllerOf(one.pod)?.uid;
    if (owner === undefined) continue;
    within(found, owner, () => []).push(one);
  }
  for (const own of found.values())
    own.sort(
      ({ pod: a }, { pod: b }) =>
        compareText(a.metadata.creationTimestamp ?? "", b.metadata.creationTimestamp ?? "") ||
        compareText(keyOf(a), keyOf(b)),
    );
  return found;
}

/** Whether the pod was created after the node began to leave. Times as RFC 3339 in UTC can be compared as text. */
function isSince({ metadata }: Pod, { claim }: NodeView): boolean {
  const record = claim === undefined ? undefined : recordOf(claim);
  const since = record?.startedAt ?? claim?.metadata.deletionTimestamp;
  return since !== undefined && (metadata.creationTimestamp ?? "") >= since;
}

/** Whether the node is being removed, or was chosen by a command that will remove it. */
export function willBeRemoved({ deleting, claim }: NodeView): boolean {
  return deleting || (claim !== undefined && recordOf(claim) !== undefined);
}

function countsOf(pods: readonly Pod[]): Counts {
  const counts: Counts = new Map();
  for (const pod of pods) {
    const owner = controllerOf(pod);
    if (owner !== undefined && owner.kind !== "DaemonSet") add(counts, owner.uid);
  }
  return counts;
}

function add(counts: Counts, key: string): void {
  counts.set(key, (counts.get(key) ?? 0) + 1);
}

/** For each command: the names of the nodes that were launched for it. */
function replacementsOf(nodes: readonly NodeView[]): ReadonlyMap<string, readonly string[]> {
  const found = new Map<string, string[]>();
  for (const { name, claim } of nodes) {
    const id = claim === undefined ? undefined : replacementCommandId(claim);
    if (id !== undefined) found.set(id, [...(found.get(id) ?? []), name]);
  }
  return found;
}
