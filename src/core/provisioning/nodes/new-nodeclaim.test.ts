import { expect, test } from "vitest";
import { atOnce } from "../../../base/steps.ts";
import { instanceType, pod, poolInput, schedulingInput } from "../../../testing/builders.ts";
import { Requirements } from "../../scheduling/requirements.ts";
import type { Template } from "../pools/pool-template.ts";
import { prepare } from "../solve.ts";
import { NewNodeClaim } from "./new-nodeclaim.ts";

test("has room for pods that may be in one of two zones, if one of the zones has a type for them", () => {
  const small = instanceType({ name: "small", cpu: 2, zones: ["zone-a"] });
  const large = instanceType({ name: "large", cpu: 8, zones: ["zone-b"] });
  const pools = [poolInput({}, [small, large])];
  const { base } = atOnce(prepare(schedulingInput({ pods: [pod({})], pools })));
  const [template] = base.templates as readonly [Template];
  const claim = new NewNodeClaim(0, template, template.usable, base.context);
  const [a, b] = ["zone-a", "zone-b"].map((zone) =>
    base.context.space.intern(Requirements.fromLabels({ "topology.kubernetes.io/zone": zone })),
  ) as [number, number];
  const requests = { cpu: 6_000 };
  expect(claim.hasRoomFor(requests, [[a, b]])).toBe(true);
  expect(claim.hasRoomFor(requests, [[a]])).toBe(false);
  expect(claim.hasRoomFor(requests, [[a], [b]])).toBe(false);
});
