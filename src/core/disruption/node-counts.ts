/**
 * Counts the nodes of the cluster for budgets. The counts are cached for each list of nodes, which never changes. Of a
 * list that differs little from a counted one, only the differences are counted. So the last check of a command is
 * fast.
 */
import { isReadyNode } from "../../apis/core/node.ts";
import { isReschedulable } from "../../apis/core/pod-predicates.ts";
import { claimGeneration } from "../../apis/hub/claim.ts";
import { isTrue } from "../../apis/karpenter/conditions.ts";
import { isRebooting } from "../../apis/karpenter/nodeclaim.ts";
import { eachInSteps, type Steps } from "../../base/steps.ts";
import { within } from "../../base/within.ts";
import { nodesApart } from "../provisioning/what-if/picture-changes.ts";
import type { NodeView } from "../state/node-view.ts";

/** How many nodes budgets count, and how many of them are disrupted already. */
export interface Count {
  /** The number of nodes with a claim that are initialized or rebooting, and whose instance is not being terminated. */
  readonly nodes: number;
  /** How many of these nodes are not Ready, leaving or rebooting. */
  readonly disrupting: number;
}

interface FullCount extends Count {
  /** How many of these nodes are leaving or rebooting. */
  readonly away: number;
}

export interface NodeCounts {
  readonly all: FullCount;
  readonly byPool: ReadonlyMap<string, FullCount>;
  /** Nodes of v1alpha5 that have reschedulable pods. */
  readonly usedAlpha: ReadonlySet<NodeView>;
}

const countsByNodes = new WeakMap<readonly NodeView[], NodeCounts>();

/** The counts of these nodes. `nodes`: sorted by name. `before`: an earlier list, whose counts may be cached. */
export function* countNodes(
  nodes: readonly NodeView[],
  before?: readonly NodeView[],
): Steps<NodeCounts> {
  const known = countsByNodes.get(nodes);
  if (known !== undefined) return known;
  const last = before === undefined ? undefined : countsByNodes.get(before);
  const counter = new Counter(last);
  if (before !== undefined && last !== undefined) {
    const { fresh, gone } = yield* nodesApart(before, nodes);
    for (const view of gone) counter.add(view, -1);
    for (const view of fresh) counter.add(view, 1);
  } else {
    yield* eachInSteps(nodes, (view) => counter.add(view, 1));
  }
  countsByNodes.set(nodes, counter);
  return counter;
}

type Sums = { -readonly [Name in keyof FullCount]: number };

class Counter implements NodeCounts {
  readonly all: Sums;
  readonly byPool: Map<string, Sums>;
  readonly usedAlpha: Set<NodeView>;

  constructor(last: NodeCounts | undefined) {
    this.all = { nodes: 0, disrupting: 0, away: 0, ...last?.all };
    this.byPool = new Map([...(last?.byPool ?? [])].map(([id, count]) => [id, { ...count }]));
    this.usedAlpha = new Set(last?.usedAlpha);
  }

  add(view: NodeView, by: 1 | -1): void {
    if (isUsedAlpha(view)) {
      if (by === 1) this.usedAlpha.add(view);
      else this.usedAlpha.delete(view);
    }
    if (!counts(view)) return;
    const isAway = view.deleting || (view.claim !== undefined && isRebooting(view.claim));
    const away = isAway ? by : 0;
    const isReady = view.node !== undefined && isReadyNode(view.node);
    const disrupting = isAway || !isReady ? by : 0;
    for (const sum of [this.all, this.#of(view.poolId)]) {
      sum.nodes += by;
      sum.disrupting += disrupting;
      sum.away += away;
    }
  }

  #of(poolId = "") {
    return within(this.byPool, poolId, () => ({ nodes: 0, disrupting: 0, away: 0 }));
  }
}

function isUsedAlpha({ claim, pods }: NodeView): boolean {
  return claim !== undefined && claimGeneration(claim) === "alpha" && pods.some(isReschedulable);
}

function counts(node: NodeView): boolean {
  // A rebooting node is not initialized for some time, but it still counts.
  const isRebooted = node.claim !== undefined && isRebooting(node.claim);
  if (!node.managed || !(node.initialized || isRebooted)) return false;
  return node.claim === undefined || !isTrue(node.claim, "InstanceTerminating");
}
