import { expect, it } from "vitest";
import type { Pod } from "../../apis/core/pod.ts";
import type { PlannedClaim } from "../../core/provisioning/result.ts";
import { Apart } from "./refused.ts";

/** A planned claim with one pod of each kind. Only its pods are read here. */
function claim(kinds: number): PlannedClaim {
  const pods = Array.from({ length: kinds }, (_, index) => {
    const name = `p-${String(index).padStart(2, "0")}`;
    return {
      metadata: { namespace: "default", name },
      spec: { containers: [{ name, image: "pause" }] },
    } as unknown as Pod;
  });
  return { pods } as unknown as PlannedClaim;
}

it("pods of a refused NodeClaim are all planned again in later passes, however many kinds", () => {
  const apart = new Apart();
  const seen = new Set<string>();
  for (const others of [0, 3, 0, 10]) {
    for (const kind of apart.kindsOf([claim(25)])) for (const pod of kind) seen.add(pod);
    apart.kindsOf(others === 0 ? [] : [claim(others)]);
  }
  expect(seen.size).toBe(25);
});

it("pods that were alone on a refused NodeClaim are not planned again", () => {
  const apart = new Apart();
  expect(apart.kindsOf([claim(1), claim(3)])).toEqual([["default/p-01"], ["default/p-02"]]);
});

it("pods of one template are serialized once to compare them", () => {
  let written = 0;
  const containers = Object.assign([{ name: "main", image: "pause" }], {
    toJSON: () => {
      written++;
      return [];
    },
  });
  const spec = Object.freeze({ containers: Object.freeze(containers) });
  const alike = Array.from({ length: 10 }, (_, index) => ({
    metadata: { namespace: "default", name: `a-${index}` },
    spec,
  }));
  const { pods } = claim(1);
  const mixed = { pods: [...pods, ...alike] } as unknown as PlannedClaim;
  expect(new Apart().kindsOf([mixed]).map(({ length }) => length)).toEqual([10, 1]);
  expect(written).toBe(1);
});
