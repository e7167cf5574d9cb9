/**
 * Groups of nodes, for clusters of more nodes than a page can draw: a row for each NodePool, capacity type, zone and
 * type, with sums and counts. The nodes of a group are listed when a viewer opens it.
 */

import { grouped } from "../../base/counted.ts";
import { eachInSteps, type Steps } from "../../base/steps.ts";
import { compareText } from "../../base/text-order.ts";
import type { Fleet, FleetNode } from "../../core/answers/fleet.ts";
import { type MapRow, mapRow } from "./map-row.ts";

/** The facts by which nodes are grouped. The first fact says most about a node. */
const PARTS = ["pool", "capacity", "zone", "type"] as const;

/** What the rows of a map are grouped by. */
export type GroupPart = (typeof PARTS)[number];

/** Maximum number of groups. With more groups than this, nodes are grouped by fewer facts. */
const MOST_GROUPS = 2_000;
/** Nodes handled in one step. Adding one to its group takes less than a microsecond. */
const NODES_PER_STEP = 1_024;
/** Maximum number of nodes in one answer. A narrower filter finds the others. */
const MOST_LISTED = 200;

/** Rows by key: the parts of the group, as `general/spot/zone-a/m5.large`. */
export interface NodeGroups {
  readonly by: readonly GroupPart[];
  readonly rows: ReadonlyMap<string, MapRow>;
}

/** Groups nodes by as many properties as possible without exceeding `most` groups. */
export function* groupsInSteps(nodes: readonly FleetNode[], most = MOST_GROUPS): Steps<NodeGroups> {
  for (let count = PARTS.length; ; count--) {
    const sums = new Map<string, Sum>();
    yield* eachInSteps(nodes, NODES_PER_STEP, (node) => {
      const key = keyOf(node, count);
      const sum = sums.get(key) ?? emptySum();
      sums.set(key, sum);
      add(sum, node);
    });
    if (sums.size > most && count > 1) continue;
    const keys = [...sums.keys()].sort(compareText);
    const by = PARTS.slice(0, count);
    return { by, rows: new Map(keys.map((key) => [key, rowOf(key, by, sums.get(key) as Sum)])) };
  }
}

/**
 * The key of a node's group. Its parts are joined by `/`, which neither label values nor names of NodePools
 * contain.
 */
function keyOf({ nodePool, capacityType, zone, instanceType }: FleetNode, count: number): string {
  const parts = [nodePool, capacityType, zone, instanceType];
  return parts
    .slice(0, count)
    .map((part) => part ?? "")
    .join("/");
}

interface Sum {
  readonly cpu: [requested: number, allocatable: number];
  readonly memory: [requested: number, allocatable: number];
  readonly states: Map<MapRow["state"], number>;
  nodes: number;
  pods: number;
  price: number;
  priced: number;
  held: number;
  drifted: number;
}

function emptySum(): Sum {
  return {
    cpu: [0, 0],
    memory: [0, 0],
    states: new Map(),
    nodes: 0,
    pods: 0,
    price: 0,
    priced: 0,
    held: 0,
    drifted: 0,
  };
}

function add(sum: Sum, node: FleetNode): void {
  const { requested, allocatable, priceMicroUsdPerHour: price } = node;
  sum.nodes += 1;
  sum.pods += node.pods;
  for (const name of ["cpu", "memory"] as const) {
    sum[name][0] += requested[name] ?? 0;
    sum[name][1] += allocatable[name] ?? 0;
  }
  sum.states.set(node.state, (sum.states.get(node.state) ?? 0) + 1);
  if (price !== undefined) {
    sum.price += price;
    sum.priced += 1;
  }
  if (node.held !== undefined) sum.held += 1;
  if (node.drifted === true) sum.drifted += 1;
}

function rowOf(key: string, by: readonly GroupPart[], sum: Sum): MapRow {
  const parts = key.split("/");
  const named = by.flatMap((part, at) => (parts[at] ? [[part, parts[at]] as const] : []));
  const states = [...sum.states].sort(([a, x], [b, y]) => y - x || compareText(a, b));
  return {
    ...Object.fromEntries(named),
    state: states[0]?.[0] ?? "running",
    nodes: sum.nodes,
    states: Object.fromEntries(states),
    ...(sum.priced === 0 ? {} : { price: sum.price }),
    cpu: sum.cpu,
    memory: sum.memory,
    pods: sum.pods,
    ...(sum.held === 0 ? {} : { held: `${grouped(sum.held)} of ${grouped(sum.nodes)} nodes` }),
    ...(sum.drifted === 0 ? {} : { drifted: true as const }),
  };
}

/** Which nodes a viewer asks for: those of a group, and those that match a filter. */
export interface NodeQuestion {
  /** A key of {@link NodeGroups.rows}. Undefined: nodes of all groups. */
  readonly group?: string | undefined;
  /** The node's name or one of its shown properties contains each of these words. "": all nodes. */
  readonly filter: string;
}

/** Some nodes, by name, and how many there are. */
export interface ListedNodes {
  readonly total: number;
  readonly rows: Readonly<Record<string, MapRow>>;
}

/** The first of the matching nodes, and the number of all matching nodes. */
export function* listedNodesInSteps(
  { nodes }: Pick<Fleet, "nodes">,
  { group, filter }: NodeQuestion,
  most = MOST_LISTED,
): Steps<ListedNodes> {
  const words = filter.toLowerCase().split(/\s+/);
  const parts = group?.split("/").length ?? 0;
  const rows: Record<string, MapRow> = {};
  let total = 0;
  yield* eachInSteps(nodes, NODES_PER_STEP, (node) => {
    if (group !== undefined && keyOf(node, parts) !== group) return;
    if (filter !== "" && !isNamed(node, words)) return;
    total += 1;
    if (total <= most) rows[node.name] = mapRow(node);
  });
  return { total, rows };
}

function isNamed(node: FleetNode, words: readonly string[]): boolean {
  const { name, nodePool, instanceType, zone, capacityType, state, held } = node;
  const text = [name, nodePool, instanceType, zone, capacityType, state, held]
    .join(" ")
    .toLowerCase();
  return words.every((word) => text.includes(word));
}
