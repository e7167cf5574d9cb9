/** The domains in which all pods of an affinity group fit. They are set on the topology groups while a pass plans. */
import type { MeetingPlace, TopologyGroup } from "./topology-group.ts";

export class Meetings {
  readonly #groups: TopologyGroup[] = [];

  /** Until {@link disperse} is called, the first pod of each group may go only where all pods of the group fit. */
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
