import { expect, test } from "vitest";
import { Meetings } from "./meetings.ts";
import type { MeetingPlace, TopologyGroup } from "./topology-group.ts";

const place: MeetingPlace = { domains: undefined, isFor: () => true, holdsMost: () => true };

test("meeting places are taken off their groups again, also if one was set twice", () => {
  const meetings = new Meetings();
  const [once, twice] = [{ meeting: undefined }, { meeting: undefined }] as [
    TopologyGroup,
    TopologyGroup,
  ];
  meetings.gather(new Map([once, twice].map((group) => [group, place])));
  meetings.gather(new Map([[twice, { ...place }]]));
  expect([once.meeting, twice.meeting]).toEqual([place, place]);
  meetings.disperse();
  expect([once.meeting, twice.meeting]).toEqual([undefined, undefined]);
});
