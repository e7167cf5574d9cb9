import { expect, test } from "vitest";
import { Meetings } from "./meetings.ts";
import type { MeetingPlace, TopologyGroup } from "./topology-group.ts";

const place: MeetingPlace = { domains: undefined, isFor: () => true, holdsMost: () => true };

test("a meeting place is taken off its group again, also if it was set twice", () => {
  const meetings = new Meetings();
  const group = { meeting: undefined } as TopologyGroup;
  meetings.gather(new Map([[group, place]]));
  meetings.gather(new Map([[group, { ...place }]]));
  expect(group.meeting).toBeDefined();
  meetings.disperse();
  expect(group.meeting).toBe(undefined);
});
