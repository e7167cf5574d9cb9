/** The map: every node, where it belongs, how full it is, what happens to it and what keeps it. */
import type { Fleet, FleetNode } from "../../core/answers/fleet.ts";
import type { MovesUnderWay } from "../../core/answers/moves-under-way.ts";
import { ViewNotes } from "../../core/state/view-notes.ts";
import type { View } from "./view.ts";

export interface MapHead {
  readonly nodes: number;
  readonly pods: number;
  readonly waiting: number;
  readonly priceMicroUsdPerHour: number;
  /** Nodes of ours whose price is not known: they are not in the sum. */
  readonly unpriced: number;
  /** Nodes that come up or leave. */
  readonly moving: number;
  /** Milli-cores, then bytes: requested, allocatable. */
  readonly cpu: Share;
  readonly memory: Share;
}

type Share = readonly [requested: number, allocatable: number];

/** Short names: there may be thousands of rows. */
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
  /** Of a leaving node: where its pods go, and how many. "": a node that is not asked for yet. 0: a replacement. */
  readonly to?: readonly (readonly [node: string, pods: number])[];
}

/** A row per node, by name. */
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

/** The row of a node. As long as the node is the same object, so is its row, and it is not sent again. */
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
