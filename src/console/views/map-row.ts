/** The rows of the map: a node, or a group of nodes. */
import type { FleetNode } from "../../core/answers/fleet.ts";

/** Requested and allocatable amount of a resource, in milli-cores or bytes. */
export type RequestedOf = readonly [requested: number, allocatable: number];

/** A node, or a group of nodes. Field names are short, because a page may get thousands of rows. */
export interface MapRow {
  readonly pool?: string;
  readonly type?: string;
  readonly zone?: string;
  readonly capacity?: string;
  readonly state: FleetNode["state"];
  readonly since?: string;
  readonly created?: string;
  /** The price in micro-dollars an hour. Absent: it is not known. */
  readonly price?: number;
  readonly cpu: RequestedOf;
  readonly memory: RequestedOf;
  readonly pods: number;
  /** Number of pods of CapacityBuffers for which the node keeps room. Absent: none. */
  readonly room?: number;
  readonly held?: string;
  readonly drifted?: true;
  /** Only for a group: its number of nodes, and the number of nodes in each state, the most frequent state first. */
  readonly nodes?: number;
  readonly states?: Readonly<Partial<Record<FleetNode["state"], number>>>;
  /**
   * Only for a leaving node: the nodes that take its pods, with the number of pods. The name is "" for a node that has
   * no claim yet. 0 pods: the node is a replacement.
   */
  readonly to?: readonly (readonly [node: string, pods: number])[];
}

/**
 * The row of each node. It is not a field of the node: JavaScript reads objects several times slower if they
 * have different fields.
 */
const known = new WeakMap<FleetNode, MapRow>();

/** The row of a node. As long as the node is the same object, so is its row, and it is not sent again. */
export function mapRow(node: FleetNode): MapRow {
  let row = known.get(node);
  if (row === undefined) {
    row = freshRow(node);
    known.set(node, row);
  }
  return row;
}

function freshRow(node: FleetNode): MapRow {
  const row: Record<string, unknown> = {};
  const set = (field: keyof MapRow, value: unknown): void => {
    if (value !== undefined) row[field] = value;
  };
  set("pool", node.nodePool);
  set("type", node.instanceType);
  set("zone", node.zone);
  set("capacity", node.capacityType);
  set("state", node.state);
  set("since", node.since);
  set("created", node.createdAt);
  set("price", node.priceMicroUsdPerHour);
  set("cpu", share(node, "cpu"));
  set("memory", share(node, "memory"));
  set("pods", node.pods);
  set("held", node.held);
  set("drifted", node.drifted);
  return row as unknown as MapRow;
}

/** The requested share of the allocatable amount of a resource. */
export function share(
  { requested, allocatable }: Pick<FleetNode, "requested" | "allocatable">,
  resource: "cpu" | "memory",
): RequestedOf {
  return [requested[resource] ?? 0, allocatable[resource] ?? 0];
}
