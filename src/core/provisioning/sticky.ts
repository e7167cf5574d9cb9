/**
 * Places sticky pods on the nodes that an earlier plan chose for them, before any other pod. A pod that its node
 * refuses is planned like the others, with a reason in `unstuck`. Design: docs/designs/003-sticky-placement.md
 */
import { keyOf } from "../../apis/meta.ts";
import { eachInSteps, ITEMS_PER_STEP, type Steps } from "../../base/steps.ts";
import { within } from "../../base/within.ts";
import type { PodClass } from "./batch/pod-class.ts";
import { inOrderInSteps, type QueuedPod } from "./batch/queue.ts";
import { type NodeRefusal, reasonOf } from "./feasibility/node-refusal.ts";
import type { ExistingNode } from "./nodes/existing-node.ts";
import { addTo, type Pass } from "./place.ts";
import { hardRefusal } from "./refusals/explain-nodes.ts";
import type { RejectionReason, Unstuck } from "./result.ts";

/** Sticky pods of one class (equal for planning) with the same planned node, which takes them in order. */
interface Line {
  readonly node: ExistingNode;
  readonly target: string;
  readonly podClass: PodClass;
  readonly items: QueuedPod[];
  /** How many of `items` were placed or have lost the node. */
  done: number;
}

/** The pods that were not placed, and why. A placed pod is in neither list. */
export interface StickyPods<T extends QueuedPod> {
  readonly rest: readonly T[];
  readonly unstuck: readonly Unstuck[];
}

/**
 * Places sticky pods. A pod may depend on another one by a spread or an affinity. So the lines (pods of one class for
 * one node) are tried again until no further pod is placed. `sticky`: key of the pod → name of its planned node or
 * claim.
 */
export function* keepPlaces<T extends QueuedPod>(
  pass: Pass,
  queued: readonly T[],
  sticky: ReadonlyMap<string, string> | undefined,
): Steps<StickyPods<T>> {
  if (sticky === undefined || sticky.size === 0) return { rest: queued, unstuck: [] };
  const targets = yield* nodesNamed(pass, new Set(sticky.values()));
  const unstuck: Unstuck[] = [];
  const rest: T[] = [];
  const wanted: T[] = [];
  yield* eachInSteps(queued, (item) => {
    const target = sticky.get(keyOf(item.pod));
    if (target === undefined) rest.push(item);
    else if (targets.has(target)) wanted.push(item);
    else {
      unstuck.push({ pod: item.pod, target, reason: "gone" });
      rest.push(item);
    }
  });
  if (wanted.length === 0) return { rest, unstuck };
  const lines = linesOf(yield* inOrderInSteps(wanted), sticky, targets);
  for (const { item, ...end } of yield* placeLines(pass, lines)) {
    unstuck.push({ pod: item.pod, ...end });
    rest.push(item as T);
  }
  return { rest, unstuck };
}

/** The nodes by name, and by name of their claim. */
function* nodesNamed(
  { nodes }: Pass,
  names: ReadonlySet<string>,
): Steps<ReadonlyMap<string, ExistingNode>> {
  const found = new Map<string, ExistingNode>();
  yield* eachInSteps(nodes, (node) => {
    const { name, claim } = node.view;
    if (names.has(name)) found.set(name, node);
    if (claim !== undefined && names.has(claim.metadata.name)) found.set(claim.metadata.name, node);
  });
  return found;
}

/** The pods grouped into one line for each class and node, in the order of their first pods. */
function linesOf(
  ordered: readonly QueuedPod[],
  sticky: ReadonlyMap<string, string>,
  targets: ReadonlyMap<string, ExistingNode>,
): readonly Line[] {
  const lines: Line[] = [];
  const known = new Map<PodClass, Map<string, Line>>();
  for (const item of ordered) {
    const { pod, podClass } = item;
    const target = sticky.get(keyOf(pod)) as string;
    const ofClass = within(known, podClass, () => new Map<string, Line>());
    const line = within(ofClass, target, () => {
      const node = targets.get(target) as ExistingNode;
      const fresh: Line = { node, target, podClass, items: [], done: 0 };
      lines.push(fresh);
      return fresh;
    });
    line.items.push(item);
  }
  return lines;
}

interface Refused {
  readonly item: QueuedPod;
  readonly target: string;
  readonly reason: RejectionReason;
}

function* placeLines(pass: Pass, lines: readonly Line[]): Steps<readonly Refused[]> {
  const refused: Refused[] = [];
  let open = lines;
  let tries = 0;
  while (open.length > 0) {
    let placed = 0;
    for (const line of open) {
      while (line.done < line.items.length) {
        if (++tries % ITEMS_PER_STEP === 0) yield;
        const item = line.items[line.done] as QueuedPod;
        if (refusalBy(line.node, item, pass) !== undefined) break;
        addTo(line.node, pass, item);
        line.done++;
        placed++;
      }
    }
    open = open.filter(isOpen);
    if (placed === 0) for (const line of open) giveUpFirst(pass, line, refused);
    open = open.filter(isOpen);
  }
  return refused;
}

function isOpen({ items, done }: Line): boolean {
  return done < items.length;
}

/** Takes the planned node away from the first pod of the line, and from all equal pods (those without volumes). */
function giveUpFirst(pass: Pass, line: Line, refused: Refused[]): void {
  const { podClass, items, target, node } = line;
  const first = items[line.done] as QueuedPod;
  const refusal = refusalBy(node, first, pass);
  const reason = refusal === undefined ? "requirements" : reasonOf(refusal);
  const given = podClass.hasVolumes ? [first] : items.slice(line.done);
  for (const item of given) refused.push({ item, target, reason });
  line.done += given.length;
}

/** The refusal by the node that an earlier plan chose. A claim without a launched instance never refuses its pods. */
function refusalBy(node: ExistingNode, item: QueuedPod, pass: Pass): NodeRefusal | undefined {
  const isUnlaunched = Object.keys(node.view.allocatable).length === 0;
  return isUnlaunched ? undefined : hardRefusal(item, node, pass);
}
