import { describe, expect, it } from "vitest";
import type { Budget } from "../../apis/karpenter/nodepool.ts";
import { fromRfc3339, toRfc3339 } from "../../base/clock.ts";
import { budgetStandingOf, nextAllowed, whoseBudgets, windowOf } from "./calendar.ts";

const at = (text: string) => fromRfc3339(text) as number;

function window(budget: Partial<Budget>, now: string) {
  const found = windowOf({ nodes: "0", ...budget }, at(now));
  return found?.changesAtMs === undefined
    ? found
    : `${found.active ? "closes" : "opens"} ${toRfc3339(found.changesAtMs)}`;
}

describe("the window of a scheduled budget", () => {
  const nights = { schedule: "0 22 * * *", duration: "8h" };

  it.each([
    ["2026-01-05T12:00:00Z", nights, "opens 2026-01-05T22:00:00Z"],
    ["2026-01-05T22:00:00Z", nights, "closes 2026-01-06T06:00:00Z"],
    ["2026-01-06T05:59:59Z", nights, "closes 2026-01-06T06:00:00Z"],
    ["2026-01-06T06:00:00Z", nights, "opens 2026-01-06T22:00:00Z"],
    // Clocks go back on 25 October, so this window is one hour longer in UTC.
    [
      "2026-10-24T12:00:00Z",
      { schedule: "CRON_TZ=Europe/Zurich 0 22 * * *", duration: "8h" },
      "opens 2026-10-24T20:00:00Z",
    ],
    [
      "2026-10-24T12:00:00Z",
      { schedule: "0 22 * * *", timeZone: "Europe/Zurich", duration: "8h" },
      "opens 2026-10-24T20:00:00Z",
    ],
    // Two windows that overlap count as one.
    [
      "2026-01-05T00:30:00Z",
      { schedule: "0 0,1 * * *", duration: "90m" },
      "closes 2026-01-05T02:30:00Z",
    ],
  ])("at %s of %j: %s", (now, budget, expected) => {
    expect(window(budget, now)).toBe(expected);
  });

  it("never closes without a gap between its hits, and is undefined for an invalid schedule", () => {
    expect(window({ schedule: "@hourly", duration: "1h" }, "2026-01-05T00:30:00Z")).toEqual({
      active: true,
    });
    expect(window({ schedule: "often", duration: "1h" }, "2026-01-05T00:30:00Z")).toBeUndefined();
  });
});

describe("the next allowed disruption", () => {
  const next = (budgets: readonly Budget[], disrupting = 0, cluster: readonly Budget[] = []) => {
    const found = nextAllowed(
      [
        { budgets, nodes: 10, disrupting },
        { budgets: cluster, nodes: 20, disrupting },
      ],
      "Underutilized",
      at("2026-01-05T12:00:00Z"),
    );
    return found.when === "at" ? toRfc3339(found.atMs) : found.when;
  };

  it.each([
    ["no budget", [], 0, "now"],
    ["a share", [{ nodes: "10%" }], 0, "now"],
    ["a share that is used up", [{ nodes: "10%" }], 1, "busy"],
    ["nothing at all", [{ nodes: "0" }], 0, "never"],
    ["nothing for another reason", [{ nodes: "0", reasons: ["Drifted" as const] }], 0, "now"],
    [
      "nothing by day",
      [{ nodes: "0", schedule: "0 9 * * *", duration: "8h" }],
      0,
      "2026-01-05T17:00:00Z",
    ],
    [
      "nothing by day, and two nodes are not ready",
      [{ nodes: "0", schedule: "0 9 * * *", duration: "8h" }, { nodes: "1" }],
      2,
      "2026-01-05T17:00:00Z",
    ],
    [
      "nothing by day, one in the evening, and two nodes that will be ready by then",
      [
        { nodes: "0", schedule: "0 9 * * *", duration: "8h" },
        { nodes: "1", schedule: "0 17 * * *", duration: "3h" },
      ],
      2,
      "2026-01-05T17:00:00Z",
    ],
    ["a budget that cannot be read", [{ nodes: "few" }], 0, "broken"],
  ])("with %s", (_, budgets, disrupting, expected) => {
    expect(next(budgets, disrupting)).toBe(expected);
  });

  it("is never if windows of several budgets follow each other without a gap", () => {
    const gapless: Budget = {
      nodes: "0",
      schedule: "CRON_TZ=Europe/Zurich 15 * * * *",
      duration: "1h",
    };
    const others: Budget = {
      nodes: "0",
      schedule: "CRON_TZ=Australia/Lord_Howe 40 */2 * * *",
      duration: "30m",
    };
    expect(next([gapless], 0, [{ nodes: "30%" }, others])).toBe("never");
  });

  it("is when the windows of the pool and of the cluster both allow it", () => {
    const closed = (hour: number): readonly Budget[] => [
      { nodes: "0", schedule: `0 ${hour} * * *`, duration: "4h" },
    ];
    expect(next(closed(10), 0, closed(13))).toBe("2026-01-05T17:00:00Z");
    expect(next([], 0, [{ nodes: "0" }])).toBe("never");
    expect(next([{ nodes: "10%" }], 1, [{ nodes: "50%" }])).toBe("busy");
  });
});

describe("the budgets that block disruption", () => {
  const NOON = at("2026-01-05T12:00:00Z");
  const until = (hours: number): readonly Budget[] => [
    { nodes: "0", schedule: "0 9 * * *", duration: `${hours}h` },
  ];
  const one = (budgets: readonly Budget[], disrupting = 0) => ({ budgets, nodes: 1, disrupting });

  it.each([
    ["only the pool's", one(until(8)), one([]), "pool"],
    ["only the cluster's", one([]), one(until(8)), "cluster"],
    ["both for as long", one(until(8)), one(until(8)), "pool"],
    ["the cluster's for longer", one(until(8)), one(until(9)), "cluster"],
    ["the pool's for longer", one([{ nodes: "0" }]), one(until(9)), "pool"],
    ["the pool's, which cannot be read", one([{ nodes: "few" }]), one([{ nodes: "0" }]), "pool"],
    // The pool's only disrupted node will be gone within a minute. Then only the cluster's budgets block.
    [
      "the cluster's, while the pool's are used up",
      one([{ nodes: "1" }], 1),
      one(until(8)),
      "cluster",
    ],
    ["both used up", one([{ nodes: "1" }], 1), one([{ nodes: "1" }], 1), "pool"],
  ] as const)("%s", (_, own, ofCluster, whose) => {
    expect(whoseBudgets({ own, ofCluster }, "Drifted", NOON)).toBe(whose);
  });
});

describe("the budget condition of a NodePool", () => {
  const NOON = at("2026-01-05T12:00:00Z");
  const byDay = { nodes: "0", schedule: "0 9 * * *", duration: "8h" };
  const standing = (
    budgets: readonly Budget[],
    clusterBudgets: readonly Budget[] = [],
    paused?: string,
    expires = false,
  ) => budgetStandingOf({ budgets, clusterBudgets, paused, expires }, NOON);
  const held = (...about: Parameters<typeof standing>) => standing(...about).held;

  it("is undefined while disruption is allowed, with the time of the next change", () => {
    expect(held([{ nodes: "10%" }])).toBeUndefined();
    const nightly = { ...byDay, schedule: "0 22 * * *" };
    expect(standing([nightly])).toEqual({
      held: undefined,
      changesAtMs: at("2026-01-05T22:00:00Z"),
    });
  });

  it("says when the next disruption is allowed, by reason if that differs", () => {
    const message = "next allowed disruption: 2026-01-05T17:00:00Z";
    expect(held([byDay])).toEqual({ status: "False", reason: "Budgets", message });
    expect(held([], [byDay])).toEqual({
      status: "False",
      reason: "Budgets",
      message: `${message}, by the cluster's budgets (disruption-budgets)`,
    });
    expect(held([byDay], [byDay])?.message).toBe(message);
    expect(held([], [{ nodes: "0" }])?.message).toMatch(/^the cluster's budgets .* no schedule/);
    expect(held([{ ...byDay, reasons: ["Drifted"] }])).toEqual({
      status: "True",
      reason: "Budgets",
      message: `Empty: allowed now; Drifted: ${message}; Underutilized: allowed now`,
    });
    expect(held([{ nodes: "0" }])).toMatchObject({
      status: "False",
      message: expect.stringContaining("no schedule"),
    });
  });

  it("includes expiry if that respects budgets", () => {
    const all = { nodes: "0", reasons: ["Empty", "Drifted", "Underutilized"] } as const;
    const none = "budgets allow no disruption, and no schedule ever ends that";
    expect(held([all])).toEqual({ status: "False", reason: "Budgets", message: none });
    expect(held([all], [], undefined, true)).toEqual({
      status: "True",
      reason: "Budgets",
      message: `Empty: ${none}; Drifted: ${none}; Underutilized: ${none}; Expired: allowed now`,
    });
    expect(held([{ nodes: "0" }], [], undefined, true)).toMatchObject({ message: none });
  });

  it("reports a pause or an invalid budget", () => {
    expect(held([byDay], [], "paused by hand")).toMatchObject({
      reason: "Paused",
      message: "paused by hand",
    });
    expect(held([{ nodes: "few" }])).toMatchObject({
      reason: "BudgetNotReadable",
      message:
        'spec.disruption.budgets[0].nodes: "few" is neither a count nor a percentage; write one such as 5 or 10%',
    });
  });
});
