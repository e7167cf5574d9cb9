/** How much room nodes keep for CapacityBuffers. */
import type { Pod } from "../../apis/core/pod.ts";
import { bufferKeyOf, isBufferPod } from "./pods.ts";

/** Room for pods of one buffer on one node. */
export interface RoomKept {
  /** The key of the buffer, `namespace/name`. */
  readonly buffer: string;
  readonly pods: number;
}

/** The buffers to which these pods belong, with the number of pods of each. */
export function roomAmong(pods: readonly Pod[]): readonly RoomKept[] {
  const counts = new Map<string, number>();
  for (const pod of pods.filter(isBufferPod))
    counts.set(bufferKeyOf(pod), (counts.get(bufferKeyOf(pod)) ?? 0) + 1);
  return [...counts]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([buffer, count]) => ({ buffer, pods: count }));
}
