import { expect, it } from "vitest";
import { atOnce } from "../../base/steps.ts";
import type { Picture } from "../disruption/make-round.ts";
import { stayingNodes } from "./staying.ts";

it("the reasons why nodes stay are sought for 200 nodes; the others are named as not looked at", () => {
  const nodes = Array.from({ length: 203 }, (_, at) => ({ name: `n${at}` }));
  const found = atOnce(stayingNodes({ nodes, pools: [] } as unknown as Picture));
  expect(found.map((one) => one.nodes.length)).toEqual([200, 3]);
  expect(found[1]?.says).toContain("not looked at, only the first 200 nodes are");
});
