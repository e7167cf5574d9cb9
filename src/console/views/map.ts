/** The map: every node with its pool and zone, its usage, what is happening to it and what blocks that. */
import type { Fleet, FleetNode } from "../../core/answers/fleet.ts";
import type { MovesUnderWay } from "../../core/answers/moves-under-way.ts";
import { ViewNotes } from "../../core/state/view-notes.ts";
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
  readonly cpu: Share;
  readonly memory: Share;
}

type Share = readonly [requested: number, allocatable: number];

/** Field names are short because there may be thousands of rows. */
export interface MapRow {
  readonly pool?: string;
  readonly type?: string;
  readonly zone?: string;
  readonly capacity?: string;
  readonly state: FleetNode["state"];
  readonly since?: string;
  readonly created?: string;
  /** Micro-dollars an hour; absent: not known. */
  readonly price?: number;
  readonly cpu: Share;
  readonly memory: Share;
  readonly pods: number;
  readonly held?: string;
  readonly drifted?: true;
  /**
   * For a node that is being removed: which nodes get its pods, and how many. The name "" is a node that does
   * not exist yet. The number 0 means that the node is a replacement.
   */
  readonly to?: readonly (readonly [node: string, pods: number])[];
}

/** One row for each node, sorted by name. */
export function mapView(
  { nodes, totals }: Fleet,
  moves: MovesUnderWay = new Map(),
): View<MapHead, MapRow> {
  return {
    head: {
      nodes: totals.nodes,
      pods: totals.pods,
      waiting: totals.waiting,
      priceMicroUsdPerHour: totals.priceMicroUsdPerHour,
      unpriced: totals.unpriced,
      moving: nodes.filter(({ state }) => state !== "running" && state !== "unmanaged").length,
      cpu: share(totals, "cpu"),
      memory: share(totals, "memory"),
    },
    rows: new Map(nodes.map((node) => [node.name, movingRow(node, moves)])),
  };
}

function movingRow(node: FleetNode, moves: MovesUnderWay): MapRow {
  const to = moves.get(node.name);
  return to === undefined ? mapRow(node) : { ...mapRow(node), to: [...to] };
}

const known = new ViewNotes<MapRow>();

/** The row of a node. The same node object gives the same row, which is then not sent again. */
function mapRow(node: FleetNode): MapRow {
  let row = known.get(node);
  if (row === undefined) {
    row = freshRow(node);
    known.set(node, row);
  }
  return row;
}

function freshRow(node: FleetNode): MapRow {
  const { nodePool, instanceType, zone, capacityType, createdAt, priceMicroUsdPerHour } = node;
  const { state, since, pods, held, drifted } = node;
  return {
    ...(nodePool === undefined ? {} : { pool: nodePool }),
    ...(instanceType === undefined ? {} : { type: instanceType }),
    ...(zone === undefined ? {} : { zone }),
    ...(capacityType === undefined ? {} : { capacity: capacityType }),
    state,
    ...(since === undefined ? {} : { since }),
    ...(createdAt === undefined ? {} : { created: createdAt }),
    ...(priceMicroUsdPerHour === undefined ? {} : { price: priceMicroUsdPerHour }),
    cpu: share(node, "cpu"),
    memory: share(node, "memory"),
    pods,
    ...(held === undefined ? {} : { held }),
    ...(drifted === undefined ? {} : { drifted }),
  };
}

function share(
  { requested, allocatable }: Pick<FleetNode, "requested" | "allocatable">,
  resource: "cpu" | "memory",
): Share {
  return [requested[resource] ?? 0, allocatable[resource] ?? 0];
}
