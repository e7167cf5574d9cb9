import { expect, test } from "vitest";
import type { Taint } from "../../apis/core/node.ts";
import { forbiddingTaints } from "./taints.ts";

const DEDICATED: Taint = { key: "dedicated", value: "gpu", effect: "NoSchedule" };
const DRAINING: Taint = { key: "draining", effect: "NoExecute" };
const SPARE: Taint = { key: "spare", effect: "PreferNoSchedule" };

test("a pod is kept off by the taints that it does not tolerate, but not by PreferNoSchedule", () => {
  const taints = [DEDICATED, SPARE, DRAINING];
  expect(forbiddingTaints(undefined, taints)).toEqual([DEDICATED, DRAINING]);
  expect(forbiddingTaints([{ key: "draining", operator: "Exists" }], taints)).toEqual([DEDICATED]);
  expect(forbiddingTaints([{ operator: "Exists" }], taints)).toEqual([]);
});
