import { describe, expect, it } from "vitest";
import { Random } from "../../../base/random.ts";
import { HostCounts } from "./host-counts.ts";

const sorted = (entries: Iterable<readonly [number, number]>) =>
  [...entries].sort(([a], [b]) => a - b);

describe("counts of pods by host", () => {
  it("equal those of a Map without hosts that have no pods", () => {
    const random = new Random("hosts");
    for (const hosts of [3, 40, 200]) {
      const [counts, expected] = [new HostCounts(), new Map<number, number>()];
      for (let step = 0; step < 1_000; step++) {
        const host = random.int(hosts) * (step % 2 === 0 ? 1 : 64);
        const count = random.int(3) - 1;
        counts.set(host, count);
        if (count === 0) expected.delete(host);
        else expected.set(host, count);
        if (step % 100 > 0) continue;
        expect(counts.size).toBe(expected.size);
        expect(sorted(counts.entries())).toEqual(sorted(expected));
      }
      const all = [...new Array(hosts * 64).keys()];
      expect(all.find((host) => counts.get(host) !== (expected.get(host) ?? 0))).toBe(undefined);
    }
  });
});
