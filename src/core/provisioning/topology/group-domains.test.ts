import { expect, test } from "vitest";
import { RequirementSpace } from "../../scheduling/requirement-space.ts";
import { Topology } from "./topology.ts";
import type { GroupDomains, TopologyGroup } from "./topology-group.ts";

const place: GroupDomains = { domains: undefined, isFor: () => true, holdsMost: () => true };

test("the end of a plan removes the domains of each affinity group, even if they were set twice", () => {
  const topology = new Topology(new RequirementSpace(new Set()), [], []);
  topology.begin();
  const [once, twice] = [{ groupDomains: undefined }, { groupDomains: undefined }] as [
    TopologyGroup,
    TopologyGroup,
  ];
  topology.limitFirstPods(new Map([once, twice].map((group) => [group, place])));
  topology.limitFirstPods(new Map([[twice, { ...place }]]));
  expect([once.groupDomains, twice.groupDomains]).toEqual([place, place]);
  topology.end();
  expect([once.groupDomains, twice.groupDomains]).toEqual([undefined, undefined]);
});
