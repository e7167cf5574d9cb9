/**
 * Counts broken nodes before one is repaired. A NodePool with too many broken nodes is not repaired, as in upstream.
 * karpenter-ts only: nodes that share a cause, such as an image, an instance type or a zone, are not repaired, either.
 * Their replacements would break, too, so a person must remove the cause.
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

/** The fewest broken nodes from which a common cause is concluded. Fewer may share a trait by chance. */
const LEAST_BROKEN = 3;
/** The fewest nodes without the trait that are needed for a comparison. */
const LEAST_OTHERS = 3;
/** How many times larger the share of broken nodes must be with the trait than without it. */
const TIMES_MORE = 4;

type CauseKind = "image" | "instance type" | "zone";

/** A trait with which most nodes are broken, while hardly any others are. */
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

/** Reasons against repair that follow from many nodes. */
export interface Survey {
  /** Counts of nodes and broken nodes, by pool id. */
  readonly pools: ReadonlyMap<string, Readonly<Tally>>;
  /** The common causes of broken nodes, the most likely one first. */
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

/** Counts the broken nodes, including those whose repair is not due yet. */
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
    const tallies: Tally[] = [all, tallyOf(pools, view.poolId, { nodes: 0, broken: 0 })];
    for (const { kind, value } of traitsOf(view))
      tallies.push(tallyOf(groups, `${kind}/${value}`, { kind, value, nodes: 0, broken: 0 }));
    for (const tally of tallies) {
      tally.nodes++;
      if (isBroken) tally.broken++;
    }
  });
  const causes = [...groups.values()].filter((one) => isCause(one, all));
  return { pools, causes: causes.sort(byClarity) };
}

/** Why the node is not repaired now, as far as that follows from many nodes. `pool`: the name of its pool. */
export function stopsFor(view: NodeView, pool: string, found: Survey): readonly string[] {
  const cause = causeOf(view, found.causes);
  return [
    ...(isPoolStopped(view.poolId ?? "", found)
      ? [`more than 20% of nodes in nodepool "${pool}" are unhealthy`]
      : []),
    ...(cause === undefined ? [] : [causeMessage(cause)]),
  ];
}

/** Whether more than a fifth of the nodes of the pool with this id are broken. */
export function isPoolStopped(poolId: string, { pools }: Survey): boolean {
  const own = pools.get(poolId);
  return own !== undefined && isTooMany(own.broken, own.nodes);
}

/** The most likely cause that the node shares with broken nodes. Undefined: there is none. */
export function causeOf(view: NodeView, causes: readonly CommonCause[]): CommonCause | undefined {
  if (causes.length === 0) return undefined;
  const traits = traitsOf(view);
  return causes.find(({ kind, value }) =>
    traits.some((one) => one.kind === kind && one.value === value),
  );
}

/** One sentence about the cause, with the remedy. */
export function causeMessage({ kind, value, nodes, broken }: CommonCause): string {
  const likely = `${grouped(broken)} of ${counted(nodes, "node")} with ${kind} ${value} are unhealthy and hardly any other: ${kind} ${value} is the likely cause`;
  return `${likely}, and replacements would break as well; mend it, or take it out of the NodePool`;
}

function tallyOf<T>(tallies: Map<string, T>, key: string, fresh: T): T {
  const known = within(tallies, key, () => fresh);
  return known;
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

/** Whether most nodes with the trait are broken, and few nodes without it. */
function isCause(own: Tally, all: Tally): boolean {
  const others = { nodes: all.nodes - own.nodes, broken: all.broken - own.broken };
  if (own.broken < LEAST_BROKEN || others.nodes < LEAST_OTHERS) return false;
  if (own.broken * 2 <= own.nodes) return false;
  return own.broken * others.nodes >= TIMES_MORE * others.broken * own.nodes;
}

function byClarity(a: CommonCause, b: CommonCause): number {
  return (
    b.broken * a.nodes - a.broken * b.nodes ||
    b.broken - a.broken ||
    compareText(`${a.kind}/${a.value}`, `${b.kind}/${b.value}`)
  );
}
