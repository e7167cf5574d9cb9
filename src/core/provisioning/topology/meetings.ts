/** Where pods that must be together can all be. It is set on their topology groups while a pass plans. */
import type { MeetingPlace, TopologyGroup } from "./topology-group.ts";

export class Meetings {
  readonly #groups: TopologyGroup[] = [];

  /** Until {@link disperse} the first pod of each group goes only where all pods of the group can be. */
  gather(meetings: ReadonlyMap<TopologyGroup, MeetingPlace>): void {
    for (const [group, meeting] of meetings) {
      if (group.meeting === undefined) this.#groups.push(group);
      group.meeting = meeting;
    }
  }

  disperse(): void {
    for (const group of this.#groups) group.meeting = undefined;
    this.#groups.length = 0;
  }
}
