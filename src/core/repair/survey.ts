/**
 * Counts broken nodes, and finds what they have in common. A NodePool with too many broken nodes is not repaired, as in
 * upstream. karpenter-ts only: if nodes with one image, instance type or zone are broken far more often than other
 * nodes, they are not repaired. Their replacements would break, too, so a person must remove the cause.
 */
import { INSTANCE_TYPE_LABEL_KEY, TOPOLOGY_ZONE_LABEL_KEY } from "../../apis/karpenter/labels.ts";
import { counted, grouped } from "../../base/counted.ts";
import { eachInSteps, type Steps } from "../../base/steps.ts";
import { compareText } from "../../base/text-order.ts";
import { within } from "../../base/within.ts";
import type { RepairPolicy } from "../cloudprovider/repair-policy.ts";
import type { NodeView } from "../state/node-view.ts";
import { isTooMany } from "./breaker.ts";
import { type BrokenCondition, brokenConditionsOf } from "./broken-conditions.ts";
import { rebootEndMs } from "./reboots.ts";

/** With fewer broken nodes, no common cause is concluded: a few nodes may share an image by chance. */
const LEAST_BROKEN = 3;
/** With fewer nodes that lack the image, type or zone, there are too few to compare with. */
const LEAST_OTHERS = 3;
/** With the image, type or zone, the share of broken nodes must be this many times as large as without it. */
const TIMES_MORE = 4;

type CauseKind = "image" | "instance type" | "zone";

/**
 * An image, instance type or zone with which most nodes are broken. Their share of broken nodes is at least
 * `TIMES_MORE` times the share of all other nodes.
 */
export interface CommonCause {
  readonly kind: CauseKind;
  readonly value: string;
  readonly nodes: number;
  readonly broken: number;
}

interface Tally {
  nodes: number;
  broken: number;
}

function noneBroken(): Tally {
  return { nodes: 0, broken: 0 };
}

/** What a count of all nodes says about repairs. */
export interface Survey {
  /** The number of nodes and of broken nodes, by pool id. */
  readonly pools: ReadonlyMap<string, Readonly<Tally>>;
  /** The likely causes that broken nodes have in common, the most likely one first. */
  readonly causes: readonly CommonCause[];
}

/** All broken conditions of the node, including those that are not due yet. */
export function brokenConditionsIn(
  { node, claim }: Pick<NodeView, "node" | "claim">,
  policies: readonly RepairPolicy[],
): readonly BrokenCondition[] {
  if (node === undefined || claim === undefined) return [];
  return brokenConditionsOf(node, policies, rebootEndMs(claim));
}

/**
 * Counts all nodes with a NodePool. A node counts as broken as soon as it has a broken condition, even if its repair is
 * not due yet.
 */
export function* survey(
  nodes: readonly NodeView[],
  policies: readonly RepairPolicy[],
): Steps<Survey> {
  const pools = new Map<string, Tally>();
  const groups = new Map<string, Tally & { readonly kind: CauseKind; readonly value: string }>();
  const all: Tally = { nodes: 0, broken: 0 };
  yield* eachInSteps(nodes, (view) => {
    if (view.node === undefined || view.poolId === undefined) return;
    const isBroken = brokenConditionsIn(view, policies).length > 0;
    const tallies: Tally[] = [all, within(pools, view.poolId, noneBroken)];
    for (const { kind, value } of traitsOf(view))
      tallies.push(within(groups, `${kind}/${value}`, () => ({ kind, value, ...noneBroken() })));
    for (const tally of tallies) {
      tally.nodes++;
      if (isBroken) tally.broken++;
    }
  });
  const causes = [...groups.values()].filter((one) => isCause(one, all));
  return { pools, causes: causes.sort(byBrokenShare) };
}

/**
 * Why the node is not repaired now: too many nodes of its NodePool are broken, or broken nodes have a common cause.
 * Empty: neither is so. `pool`: the name of its NodePool.
 */
export function stopsFor(view: NodeView, pool: string, found: Survey): readonly string[] {
  const cause = causeOf(view, found.causes);
  return [
    ...(isPoolStopped(view.poolId ?? "", found)
      ? [`more than 20% of nodes in nodepool "${pool}" are unhealthy`]
      : []),
    ...(cause === undefined ? [] : [causeMessage(cause)]),
  ];
}

/** Whether too many nodes of this pool are broken (breaker.ts), so none of them is repaired. */
export function isPoolStopped(poolId: string, { pools }: Survey): boolean {
  const own = pools.get(poolId);
  return own !== undefined && isTooMany(own.broken, own.nodes);
}

/** The most likely of these causes that the node has. Undefined: it has none of them. */
export function causeOf(view: NodeView, causes: readonly CommonCause[]): CommonCause | undefined {
  if (causes.length === 0) return undefined;
  const traits = traitsOf(view);
  return causes.find(({ kind, value }) =>
    traits.some((one) => one.kind === kind && one.value === value),
  );
}

/** The cause as a sentence for events, with what a person must do. */
export function causeMessage({ kind, value, nodes, broken }: CommonCause): string {
  const likely = `${grouped(broken)} of ${counted(nodes, "node")} with ${kind} ${value} are unhealthy, at least ${TIMES_MORE} times the share of other nodes: ${kind} ${value} is the likely cause`;
  return `${likely}, and replacements would break as well; mend it, or take it out of the NodePool`;
}

function traitsOf({
  claim,
  labels,
}: NodeView): readonly { readonly kind: CauseKind; readonly value: string }[] {
  const traits: readonly (readonly [CauseKind, string | undefined])[] = [
    ["image", claim?.status?.imageID],
    ["instance type", labels[INSTANCE_TYPE_LABEL_KEY]],
    ["zone", labels[TOPOLOGY_ZONE_LABEL_KEY]],
  ];
  return traits.flatMap(([kind, value]) => (value ? [{ kind, value }] : []));
}

/**
 * Whether most nodes with the trait are broken, and their share is at least `TIMES_MORE` times that of nodes without
 * it. False also if there are too few nodes to tell. `own`: nodes with the trait. `all`: all nodes.
 */
function isCause(own: Tally, all: Tally): boolean {
  const others = { nodes: all.nodes - own.nodes, broken: all.broken - own.broken };
  if (own.broken < LEAST_BROKEN || others.nodes < LEAST_OTHERS) return false;
  if (own.broken * 2 <= own.nodes) return false;
  return own.broken * others.nodes >= TIMES_MORE * others.broken * own.nodes;
}

/** Sorts likely causes by the share of nodes that are broken, then by their number, the largest first. */
function byBrokenShare(a: CommonCause, b: CommonCause): number {
  return (
    b.broken * a.nodes - a.broken * b.nodes ||
    b.broken - a.broken ||
    compareText(`${a.kind}/${a.value}`, `${b.kind}/${b.value}`)
  );
}
