/**
 * The map: every node with its pool and zone, its usage, what happens to it and what blocks its disruption. If there
 * are very many nodes, only groups of them are sent: a page takes seconds to draw 100,000 rows, and nobody can tell
 * them apart.
 */
import { atOnce, eachInSteps, type Steps } from "../../base/steps.ts";
import type { Fleet, FleetNode } from "../../core/answers/fleet.ts";
import type { MovesUnderWay } from "../../core/answers/moves-under-way.ts";
import { type MapRow, mapRow, type RequestedOf, share } from "./map-row.ts";
import { type GroupPart, groupsInSteps } from "./node-groups.ts";
import type { View } from "./view.ts";

export interface MapHead {
  readonly nodes: number;
  readonly pods: number;
  readonly waiting: number;
  readonly priceMicroUsdPerHour: number;
  /** Karpenter's nodes without a known price. They are not in the sum. */
  readonly unpriced: number;
  /** Nodes that are not ready yet, or that are being removed. */
  readonly moving: number;
  /** Requested and allocatable amounts: cpu in milli-cores, memory in bytes. */
  readonly cpu: RequestedOf;
  readonly memory: RequestedOf;
  /** The facts by which nodes are grouped into rows. Absent: each row is one node. */
  readonly groupedBy?: readonly GroupPart[];
  /** Kinds that are still being listed, so that their numbers are 0. Absent: none. */
  readonly loading?: readonly string[];
}

/** If there are more nodes than this, groups are sent. */
const MOST_NODES = 20_000;
/** Nodes handled in one step. Most of their rows exist already, so a step is short. */
const NODES_PER_STEP = 1_024;

/** Makes the view like {@link mapViewInSteps}, in one step. Exported for tests. */
export function mapView(fleet: Fleet, beside?: BesideFleet): View<MapHead, MapRow> {
  return atOnce(mapViewInSteps(fleet, beside));
}

/** What the rows show in addition to the fleet, by node name. */
export interface BesideFleet {
  readonly moves?: MovesUnderWay;
  /** Number of pods of CapacityBuffers for which the node keeps room. */
  readonly room?: ReadonlyMap<string, number>;
  /** Kinds that are still being listed. */
  readonly loading?: readonly string[] | undefined;
}

/** One row for each node, sorted by name; if there are very many nodes, one row for each group. */
export function* mapViewInSteps(
  { nodes, totals }: Fleet,
  beside: BesideFleet = {},
  mostNodes = MOST_NODES,
): Steps<View<MapHead, MapRow>> {
  const groups = nodes.length > mostNodes ? yield* groupsInSteps(nodes) : undefined;
  const rows = new Map<string, MapRow>();
  let moving = 0;
  yield* eachInSteps(nodes, NODES_PER_STEP, (node) => {
    if (node.state !== "running" && node.state !== "unmanaged") moving += 1;
    if (groups === undefined) rows.set(node.name, wholeRow(node, beside));
  });
  return {
    head: {
      nodes: totals.nodes,
      pods: totals.pods,
      waiting: totals.waiting,
      priceMicroUsdPerHour: totals.priceMicroUsdPerHour,
      unpriced: totals.unpriced,
      moving,
      cpu: share(totals, "cpu"),
      memory: share(totals, "memory"),
      ...(groups === undefined ? {} : { groupedBy: groups.by }),
      ...(beside.loading === undefined ? {} : { loading: beside.loading }),
    },
    rows: groups?.rows ?? rows,
  };
}

/**
 * The row of one node. It stays the same object if the node has no planned moves and keeps no room for
 * CapacityBuffers.
 */
function wholeRow(node: FleetNode, { moves, room }: BesideFleet): MapRow {
  const row = mapRow(node);
  const to = moves?.get(node.name);
  const kept = room?.get(node.name);
  if (to === undefined && kept === undefined) return row;
  return {
    ...row,
    ...(kept === undefined ? {} : { room: kept }),
    ...(to === undefined ? {} : { to: [...to] }),
  };
}
