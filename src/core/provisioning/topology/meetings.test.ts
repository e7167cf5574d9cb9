import { expect, test } from "vitest";
import { RequirementSpace } from "../../scheduling/requirement-space.ts";
import { Topology } from "./topology.ts";
import type { MeetingPlace, TopologyGroup } from "./topology-group.ts";

const place: MeetingPlace = { domains: undefined, isFor: () => true, holdsMost: () => true };

test("the end of gathering removes the meeting place of each topology group, even if it was set twice", () => {
  const topology = new Topology(new RequirementSpace(new Set()), [], []);
  topology.begin();
  const [once, twice] = [{ meeting: undefined }, { meeting: undefined }] as [
    TopologyGroup,
    TopologyGroup,
  ];
  topology.gather(new Map([once, twice].map((group) => [group, place])));
  topology.gather(new Map([[twice, { ...place }]]));
  expect([once.meeting, twice.meeting]).toEqual([place, place]);
  topology.end();
  expect([once.meeting, twice.meeting]).toEqual([undefined, undefined]);
});
