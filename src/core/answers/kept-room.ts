/**
 * Finds which nodes keep room for the pods of CapacityBuffers, for answers about a picture: the state of the cluster at
 * one moment. A buffer's pods are placeholders that are never bound, so each planning pass plans them again. Each keeps
 * the node that an earlier pass planned for it, as in the live controller.
 */
import type { Pod } from "../../apis/core/pod.ts";
import { keyOf } from "../../apis/meta.ts";
import { within } from "../../base/within.ts";
import { isBufferPod } from "../buffers/pods.ts";
import { type RoomKept, roomAmong } from "../buffers/room.ts";
import type { AwaitedSeats } from "../disruption/awaited.ts";
import type { Picture } from "../disruption/make-round.ts";
import { createSimulator } from "../disruption/simulate.ts";
import type { PodsOnNode } from "../provisioning/result.ts";

/** Key of a buffer's pod → name of the node that keeps room for it. */
type KeptRoom = ReadonlyMap<string, string>;

/** The room that these placements keep for buffers. */
export function keptRoomIn(placements: readonly PodsOnNode[]): KeptRoom {
  return new Map(
    placements.flatMap(({ nodeName, pods }) =>
      pods.filter(isBufferPod).map((pod) => [keyOf(pod), nodeName] as const),
    ),
  );
}

/** The room that the nodes of the picture keep for buffers. */
export function keptRoomOf({ scheduling, nodes }: Picture): KeptRoom {
  const { sticky, pods } = scheduling;
  if (sticky === undefined) return new Map();
  const there = new Set(nodes.map(({ name }) => name));
  return new Map(
    pods.filter(isBufferPod).flatMap((pod) => {
      const node = sticky.get(keyOf(pod));
      return node === undefined || !there.has(node) ? [] : [[keyOf(pod), node] as const];
    }),
  );
}

/** Node name → number of buffers' pods for which the node keeps room. */
export function roomCounts(kept: KeptRoom): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const node of kept.values()) counts.set(node, (counts.get(node) ?? 0) + 1);
  return counts;
}

/** The same picture with this room, and no other, kept for buffers. Returns the picture itself if it has no buffers. */
export function withKeptRoom(picture: Picture, rooms: KeptRoom): Picture {
  const buffered = picture.scheduling.pods.filter(isBufferPod);
  if (buffered.length === 0) return picture;
  const sticky = new Map(picture.scheduling.sticky);
  const byNode = new Map<string, Pod[]>();
  for (const pod of buffered) {
    const node = rooms.get(keyOf(pod));
    if (node === undefined) sticky.delete(keyOf(pod));
    else {
      sticky.set(keyOf(pod), node);
      within(byNode, node, (): Pod[] => []).push(pod);
    }
  }
  const scheduling = { ...picture.scheduling, sticky };
  const room = new Map([...byNode].map(([node, pods]) => [node, roomAmong(pods)]));
  const others = picture.seats instanceof SeatsWithRoom ? picture.seats.others : picture.seats;
  return {
    ...picture,
    scheduling,
    simulator: createSimulator(scheduling),
    room,
    seats: new SeatsWithRoom(others, room),
  };
}

/** How much room one CapacityBuffer asks for, and how much it has. */
export interface BufferRoom {
  /** `namespace/name`. */
  readonly buffer: string;
  readonly pods: number;
  /** Number of its pods for which a node keeps room. */
  readonly placed: number;
}

/** All buffers of the picture with the room that they have, sorted by name. */
export function bufferRoom(picture: Picture): readonly BufferRoom[] {
  const { pods } = picture.scheduling;
  const rooms = keptRoomOf(picture);
  const placed = new Map(
    roomAmong(pods.filter((pod) => rooms.has(keyOf(pod)))).map((one) => [one.buffer, one.pods]),
  );
  return roomAmong(pods).map((one) => ({ ...one, placed: placed.get(one.buffer) ?? 0 }));
}

/** Answers about seats of stored pods by `others`, and about the room of CapacityBuffers by the room given here. */
class SeatsWithRoom implements AwaitedSeats {
  readonly others: AwaitedSeats | undefined;
  readonly #room: ReadonlyMap<string, readonly RoomKept[]>;

  constructor(others: AwaitedSeats | undefined, room: ReadonlyMap<string, readonly RoomKept[]>) {
    this.others = others;
    this.#room = room;
  }

  awaitedAt(target: string, nowMs: number): ReturnType<AwaitedSeats["awaitedAt"]> {
    return this.others?.awaitedAt(target, nowMs);
  }

  hostsBufferPods(target: string): boolean {
    return this.#room.has(target);
  }
}
