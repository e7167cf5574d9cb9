import { describe, expect, it } from "vitest";
import { toRfc3339 } from "../../base/clock.ts";
import { pod } from "../../testing/builders.ts";
import { NOW } from "../../testing/disruption.ts";
import type { Candidate } from "./candidates.ts";
import type { Command } from "./command.ts";
import { paybackOf } from "./payback.ts";

const MINUTE = 60_000;

interface Options {
  /** Minutes from the creation of the claim to its initialization. */
  readonly boot?: number;
  /** Grace periods of the pods, in seconds. null: the pod sets none. */
  readonly graces?: readonly (number | null)[];
  readonly most?: string;
}

/** A node that costs 100 an hour. */
function node({ boot, graces = [], most }: Options = {}): Candidate {
  const ready =
    boot === undefined
      ? []
      : [
          {
            type: "Initialized",
            status: "True",
            lastTransitionTime: toRfc3339(NOW + boot * MINUTE),
          },
        ];
  return {
    priceMicroUsd: 100,
    claim: {
      metadata: { name: "n", creationTimestamp: toRfc3339(NOW) },
      spec: most === undefined ? {} : { terminationGracePeriod: most },
      status: { conditions: ready },
    },
    reschedulablePods: graces.map((seconds) =>
      pod({ spec: seconds === null ? {} : { terminationGracePeriodSeconds: seconds } }),
    ),
  } as unknown as Candidate;
}

function payback(candidates: readonly Candidate[], ...prices: readonly number[]) {
  const replacements = prices.map((priceMicroUsd) => ({ cheapest: { priceMicroUsd } }));
  return paybackOf({ candidates, replacements } as unknown as Command);
}

const overlap = (...nodes: readonly Options[]) =>
  (payback(nodes.map(node), 50)?.overlapMs ?? 0) / MINUTE;

describe("old and new nodes run side by side", () => {
  it("for as long as the slowest node took to start, or three minutes if none is known", () => {
    expect([overlap({ boot: 5 }), overlap({ boot: 5 }, { boot: 7 })]).toEqual([5, 7]);
    expect([overlap({}), overlap({ boot: 0 }), overlap({ boot: 16 })]).toEqual([3, 3, 3]);
    expect(overlap({ boot: 15 })).toBe(15);
  });

  it("and for the longest drain, by pod grace period or terminationGracePeriod", () => {
    expect(overlap({ boot: 5, graces: [60, 120] })).toBe(7);
    expect(overlap({ boot: 5, graces: [null] })).toBe(5.5);
    expect(overlap({ boot: 5, graces: [600], most: "2m" })).toBe(7);
    expect(overlap({ boot: 5 }, { boot: 1, graces: [60] })).toBe(6);
  });
});

describe("the payback time of a command", () => {
  it("is the cost of the new nodes in the overlap, divided by the saving per hour", () => {
    expect(payback([node({ boot: 6 })], 50)?.earnedMs).toBe(6 * MINUTE);
    expect(payback([node({ boot: 6 }), node({ boot: 6 })], 80, 70)?.earnedMs).toBe(18 * MINUTE);
  });

  it("is infinite without a saving, and undefined without a replacement", () => {
    expect(payback([node()], 100)?.earnedMs).toBe(Number.POSITIVE_INFINITY);
    expect(payback([node()])).toBeUndefined();
  });
});
