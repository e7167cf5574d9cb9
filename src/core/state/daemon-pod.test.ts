import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { pod } from "../../testing/builders.ts";
import { LivePods } from "./daemon-pod.ts";

const INSTANTS = [undefined, "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"];

describe("the live pods of a DaemonSet", () => {
  it("know the newest pod after any changes, the first by name among equals", () => {
    const change = fc.record({
      name: fc.constantFrom("a", "b", "c", "d"),
      isGone: fc.boolean(),
      at: fc.constantFrom(...INSTANTS),
      isAsked: fc.boolean(),
    });
    fc.assert(
      fc.property(fc.array(change, { maxLength: 20 }), (changes) => {
        const live = new LivePods();
        const now = new Map<string, ReturnType<typeof pod>>();
        for (const { name, isGone, at, isAsked } of changes) {
          if (isGone) expect(live.delete(name)).toBe(now.delete(name));
          else {
            const { metadata, ...rest } = pod({ name });
            const one = { ...rest, metadata: { ...metadata, creationTimestamp: at ?? "" } };
            now.set(name, one);
            live.set(name, one);
          }
          if (!isAsked) continue;
          const [newest] = [...now.values()].sort((a, b) => {
            const [x, y] = [a.metadata.creationTimestamp ?? "", b.metadata.creationTimestamp ?? ""];
            if (x !== y) return x > y ? -1 : 1;
            return a.metadata.name < b.metadata.name ? -1 : 1;
          });
          expect(live.newest()).toBe(newest);
        }
      }),
      { seed: 7, numRuns: 200 },
    );
  });
});
