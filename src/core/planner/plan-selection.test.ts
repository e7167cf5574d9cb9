import { describe, expect, it } from "vitest";
import { atOnce } from "../../base/steps.ts";
import { pod } from "../../testing/builders.ts";
import type { SchedulingResult } from "../provisioning/result.ts";
import type { Batch } from "../provisioning/solve.ts";
import type { AcceptanceRule } from "./acceptance.ts";
import { PlanSelection } from "./plan-selection.ts";
import { DEFAULT_PLANNER, type PlannerOptions } from "./planner-options.ts";
import { LARGEST_REPLANNED_BATCH } from "./settings.ts";

const RULE: AcceptanceRule = {
  ...{ saves: "setting", strandsNoMorePods: false, mayPlaceMore: false },
};
const OPTIONS: PlannerOptions = { ...DEFAULT_PLANNER, nodeMicroUsdPerHour: 0, minSaving: 0.1 };

function batch(pods: number, hasReserved = false): Batch {
  const templates = [{ table: { offerings: { hasReserved } } }];
  return { queued: Array(pods).fill({}), classes: new Set(), base: { templates } } as never;
}

/** A plan of one node at this price. `left` pods have no place. */
function plan(priceMicroUsd: number, left = 0): SchedulingResult {
  const claim = { cheapest: { priceMicroUsd }, pool: { weight: 0 }, pods: [] };
  const unschedulable = Array.from({ length: left }, (_, at) => ({ pod: pod({ name: `${at}` }) }));
  const newClaims = priceMicroUsd === 0 ? [] : [claim];
  return { newClaims, existing: [], unschedulable, excludedByLimits: [] } as never;
}

function selection({ pods = 100, options = OPTIONS, reserved = false } = {}) {
  const one = new PlanSelection(batch(pods, reserved), options);
  const offer = (
    price: number,
    source: "greedy" | "packing" = "packing",
    known?: SchedulingResult,
  ) => atOnce(one.offer(source, plan(price), RULE, known));
  return { one, offer };
}

describe("a selection of plans", () => {
  it("keeps the cheapest plan that saves enough, and its source", () => {
    const { one, offer } = selection();
    expect([one.hasPlan, one.source]).toEqual([false, undefined]);
    offer(100, "greedy");
    expect([one.hasPlan, one.source]).toEqual([true, "greedy"]);
    offer(91);
    expect(one.source).toBe("greedy");
    offer(90);
    expect([one.source, one.best]).toEqual(["packing", plan(90)]);
    expect(one.record.considered).toEqual([
      { source: "greedy", microUsdPerHour: 100, pending: 0 },
      { source: "packing", microUsdPerHour: 91, pending: 0, rejectedBy: "savesEnough" },
      { source: "packing", microUsdPerHour: 90, pending: 0 },
    ]);
  });

  it("requires the same saving in a batch that is too small to be packed", () => {
    const small = selection({ pods: 99 });
    small.offer(100, "greedy");
    small.offer(91);
    expect(small.one.source).toBe("greedy");
    small.offer(90);
    expect(small.one.source).toBe("packing");
  });

  it("rejects a plan that beats an earlier one but costs more than the best", () => {
    const { one, offer } = selection();
    offer(100, "greedy");
    offer(80);
    offer(85, "packing", plan(100));
    expect(one.best).toEqual(plan(80));
    offer(79, "packing", plan(100));
    expect(one.best).toEqual(plan(79));
  });

  it("lists each improvement of the best plan once, and clears the list for a new source", () => {
    const { one, offer } = selection();
    offer(100, "greedy");
    const improve = (name: "dropNode" | "moveNode", price: number, known: number) =>
      atOnce(one.offerImproved(name as never, plan(price), RULE, plan(known)));
    improve("dropNode", 90, 100);
    improve("moveNode", 80, 90);
    improve("dropNode", 70, 80);
    improve("moveNode", 69, 70);
    expect(one.record.improvements).toEqual(["moveNode", "dropNode"]);
    expect(one.best).toEqual(plan(70));
    expect(one.record.considered.at(-1)).toMatchObject({ rejectedBy: "savesEnough" });
    offer(10);
    expect(one.record.improvements).toEqual([]);
    one.noteStopped("packing");
    expect(one.record.considered.at(-1)).toEqual({ source: "packing" });
  });
});

describe("a batch", () => {
  it("is packed by price from a minimum number of pods on, unless reservations matter", () => {
    const mayPack = (pods: number, more = {}) => selection({ pods, ...more }).one.mayPack;
    expect([mayPack(99), mayPack(100)]).toEqual([false, true]);
    expect(mayPack(100, { reserved: true })).toBe(false);
    expect(mayPack(100, { options: { ...OPTIONS, policy: "greedy" } })).toBe(false);
  });

  it("is planned again only if it is small and has new nodes or pending pods", () => {
    const mayReplan = (pods: number, best: SchedulingResult) => {
      const { one } = selection({ pods });
      atOnce(one.offer("greedy", best, RULE));
      return [one.mayReplan, one.mayRearrange];
    };
    expect(mayReplan(LARGEST_REPLANNED_BATCH, plan(1))).toEqual([true, true]);
    expect(mayReplan(LARGEST_REPLANNED_BATCH + 1, plan(1))).toEqual([false, false]);
    expect(mayReplan(1, plan(0, 1))).toEqual([true, false]);
    expect(mayReplan(1, plan(0))).toEqual([false, false]);
  });

  it("is not rearranged if pods must keep their zones, or reservations matter", () => {
    const mayRearrange = (more: Parameters<typeof selection>[0]) => {
      const { one, offer } = selection(more);
      offer(1, "greedy");
      return one.mayRearrange;
    };
    const domainNow = () => undefined;
    expect(mayRearrange({ options: { ...OPTIONS, domainNow } })).toBe(false);
    expect(mayRearrange({ reserved: true })).toBe(false);
  });
});
