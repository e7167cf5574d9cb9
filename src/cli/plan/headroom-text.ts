/** Text about the room that CapacityBuffers keep. Their pods are never listed as real pods. */
import { counted } from "../../base/counted.ts";
import { usd } from "../../core/answers/command-answer.ts";
import type { RoomKept } from "../../core/buffers/room.ts";
import { perMonth } from "../program/figures.ts";
import type { PlannedHeadroom } from "./headroom.ts";

/** One line for each buffer. */
export function headroomLines({
  headroom = [],
}: {
  readonly headroom?: readonly PlannedHeadroom[];
}): readonly string[] {
  return headroom.map(({ buffer, pods, placed, priceMicroUsdPerHour: price, reason }) => {
    const left = pods - placed;
    const money =
      price === 0
        ? "no new node"
        : `${usd(price)} an hour, ${perMonth(price)} a month of the above`;
    const why = reason === undefined ? "" : `: ${reason}`;
    const lacking = left === 0 ? "" : `; no place for ${left}${why}`;
    return `headroom: buffer ${buffer}, ${counted(pods, "pod")}, ${money}${lacking}`;
  });
}

/** The kept room for each buffer, such as `room for 3 of shop/spare`. */
export function roomText(rooms: readonly RoomKept[]): readonly string[] {
  const counts = new Map<string, number>();
  for (const { buffer, pods } of rooms) counts.set(buffer, (counts.get(buffer) ?? 0) + pods);
  return [...counts].map(([buffer, pods]) => `room for ${pods} of ${buffer}`);
}
