/** Where pods that need each other can meet, set on their groups while a pass plans for them. */
import type { MeetingPlace, TopologyGroup } from "./topology-group.ts";

export class Meetings {
  readonly #groups: TopologyGroup[] = [];

  /** From here on to {@link disperse} the first pod of each group goes where all of them can be. */
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
