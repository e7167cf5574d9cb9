/**
 * What is counted of all nodes, whichever method asks: once for a list of nodes, which never changes. Of a list that
 * differs little from one that was counted, only what differs is looked at: before a command begins it is asked
 * again, in one go, on nodes that may be a hundred thousand.
 */
import { isReschedulable } from "../../apis/core/pod-predicates.ts";
import { claimGeneration } from "../../apis/hub/claim.ts";
import { isTrue } from "../../apis/karpenter/conditions.ts";
import { eachInSteps, type Steps } from "../../base/steps.ts";
import type { NodeView } from "../state/node-view.ts";

export interface Count {
  /** Nodes that count: ours, initialized, not ending already. */
  readonly nodes: number;
  /** Of those: not Ready, or leaving. */
  readonly disrupting: number;
}

export interface NodeCounts {
  readonly all: Count;
  readonly byPool: ReadonlyMap<string, Count>;
  /** Alpha nodes with pods that would move. */
  readonly usedAlpha: ReadonlySet<NodeView>;
}

const NODES_PER_STEP = 1_024;

const tallies = new WeakMap<readonly NodeView[], NodeCounts>();

/** `nodes` by name. `before`: the same cluster a while ago; if that was counted, what has not changed is not looked at. */
export function* countNodes(
  nodes: readonly NodeView[],
  before?: readonly NodeView[],
): Steps<NodeCounts> {
  const known = tallies.get(nodes);
  if (known !== undefined) return known;
  const last = before === undefined ? undefined : tallies.get(before);
  const counter = new Counter(last);
  if (before !== undefined && last !== undefined) {
    for (const { view, by } of differences(before, nodes)) counter.add(view, by);
  } else {
    yield* eachInSteps(nodes, NODES_PER_STEP, (view) => counter.add(view, 1));
  }
  tallies.set(nodes, counter);
  return counter;
}

interface Difference {
  readonly view: NodeView;
  readonly by: 1 | -1;
}

/** Both by name. What is in one of them only. */
function differences(before: readonly NodeView[], now: readonly NodeView[]): readonly Difference[] {
  const found: Difference[] = [];
  let [old, fresh] = [0, 0];
  while (old < before.length || fresh < now.length) {
    const [a, b] = [before[old], now[fresh]];
    if (a !== b) {
      // Of one name both count: the one goes, the other comes.
      const isGone = a !== undefined && (b === undefined || a.name <= b.name);
      const isNew = b !== undefined && (a === undefined || b.name <= a.name);
      if (isGone) found.push({ view: a, by: -1 });
      if (isNew) found.push({ view: b, by: 1 });
      if (isGone) old++;
      if (isNew) fresh++;
    } else {
      old++;
      fresh++;
    }
  }
  return found;
}

class Counter implements NodeCounts {
  readonly all: { nodes: number; disrupting: number };
  readonly byPool: Map<string, { nodes: number; disrupting: number }>;
  readonly usedAlpha: Set<NodeView>;

  constructor(last: NodeCounts | undefined) {
    this.all = { nodes: 0, disrupting: 0, ...last?.all };
    this.byPool = new Map([...(last?.byPool ?? [])].map(([id, count]) => [id, { ...count }]));
    this.usedAlpha = new Set(last?.usedAlpha);
  }

  add(view: NodeView, by: 1 | -1): void {
    if (isUsedAlpha(view)) {
      if (by === 1) this.usedAlpha.add(view);
      else this.usedAlpha.delete(view);
    }
    if (!counts(view)) return;
    const disrupting = view.deleting || !isReady(view) ? by : 0;
    for (const sum of [this.all, this.#of(view.poolId)]) {
      sum.nodes += by;
      sum.disrupting += disrupting;
    }
  }

  #of(poolId = "") {
    const known = this.byPool.get(poolId) ?? { nodes: 0, disrupting: 0 };
    this.byPool.set(poolId, known);
    return known;
  }
}

function isUsedAlpha({ claim, pods }: NodeView): boolean {
  return claim !== undefined && claimGeneration(claim) === "alpha" && pods.some(isReschedulable);
}

function counts(node: NodeView): boolean {
  if (!node.managed || !node.initialized) return false;
  return node.claim === undefined || !isTrue(node.claim, "InstanceTerminating");
}

function isReady(node: NodeView): boolean {
  return (
    node.node?.status?.conditions?.some((one) => one.type === "Ready" && one.status === "True") ??
    false
  );
}
