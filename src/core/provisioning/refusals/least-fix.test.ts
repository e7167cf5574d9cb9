import { describe, expect, it } from "vitest";
import { pod } from "../../../testing/builders.ts";
import type { Edit } from "./edits.ts";
import { leastFix } from "./least-fix.ts";

const limit = (to: number) =>
  ({ on: "pool", poolId: "p", change: "limit", resource: "nodes", from: 1, to }) as const;
const allow = { on: "pool", poolId: "p", change: "allow", key: "k", value: "v" } as const;

const limitOf = (edits: readonly Edit[]) =>
  edits.find((one) => one.change === "limit") as ReturnType<typeof limit> | undefined;

describe("a fix that is made smaller", () => {
  it("leaves out what it can do without, and raises a limit as little as will do", () => {
    const isEnough = (edits: readonly Edit[]) => (limitOf(edits)?.to ?? 0) >= 4;
    expect(leastFix([allow, limit(10)], pod(), isEnough)).toEqual([limit(4)]);
  });

  it("leaves out what only the higher limit needed", () => {
    const isEnough = (edits: readonly Edit[]) => {
      const to = limitOf(edits)?.to ?? 0;
      return to === 4 || (to > 4 && edits.includes(allow));
    };
    expect(leastFix([allow, limit(10)], pod(), isEnough)).toEqual([limit(4)]);
  });

  it("finds a limit by halving where amounts are far apart", () => {
    let asked = 0;
    const isEnough = (edits: readonly Edit[]) => {
      asked++;
      return (limitOf(edits)?.to ?? 0) >= 700;
    };
    expect(leastFix([limit(1_000)], pod(), isEnough)).toEqual([limit(700)]);
    expect(asked).toBeLessThan(15);
  });
});
