import { describe, expect, it } from "vitest";
import type { Candidate } from "../../core/disruption/candidates.ts";
import { pod } from "../../testing/builders.ts";
import {
  type BudgetBlock,
  blocked,
  blockedByBudget,
  graceOf,
  heldByBudget,
  replacementFailed,
} from "./events.ts";

const NOW = Date.UTC(2026, 0, 5, 8, 0, 0);
const annotated = (value: string) =>
  pod({
    annotations: { "karpenter.sh/do-not-disrupt": value },
    status: { startTime: "2026-01-05T07:00:00Z" },
  });

describe("events of disruption", () => {
  it.each([
    ["2h", "DoNotDisruptUntil", "grace period will elapse at 2026-01-05T09:00:00Z"],
    ["30m", "DoNotDisruptGracePeriodElapsed", "pod is now disruptable"],
    ["soon", "InvalidDoNotDisruptAnnotation", '"soon" is no duration, ignoring annotation'],
  ])("explain the annotation do-not-disrupt: %s", (value, reason, text) => {
    const [event] = graceOf(annotated(value), NOW);
    expect(event?.reason).toBe(reason);
    expect(event?.message).toContain(text);
  });

  it("do not exist for pods without a do-not-disrupt duration", () => {
    expect(graceOf(pod(), NOW)).toEqual([]);
    expect(graceOf(annotated("true"), NOW)).toEqual([]);
  });

  it("say when a blocking budget next allows a disruption, if that is known", () => {
    const ending = (next: BudgetBlock["next"], whose: BudgetBlock["whose"] = "pool") =>
      blockedByBudget(pod(), "v1", { reason: "Empty", next, whose }).message.split(
        "due to blocking budget",
      )[1];
    expect(ending({ when: "never" })).toBe("");
    expect(ending({ when: "at", atMs: NOW })).toBe(
      ", next allowed disruption: 2026-01-05T08:00:00Z",
    );
    expect(ending({ when: "busy" })).toContain("on their way out");
    expect(ending({ when: "broken" })).toContain("one that cannot be read");
    expect(ending({ when: "at", atMs: NOW }, "cluster")).toBe(
      " of the cluster (disruption-budgets), next allowed disruption: 2026-01-05T08:00:00Z",
    );
  });

  it("say on the node that a budget blocks it, unless other disruptions use that up", () => {
    const said = (next: BudgetBlock["next"], whose: BudgetBlock["whose"] = "pool") =>
      heldByBudget([pod()], "v1", { reason: "Drifted", next, whose }).map(({ message }) => message);
    expect(said({ when: "at", atMs: NOW })).toEqual([
      "Budgets allow no disruption for reason Drifted until 2026-01-05T08:00:00Z",
    ]);
    expect(said({ when: "never" })).toEqual(["Budgets allow no disruption for reason Drifted"]);
    expect(said({ when: "broken" })).toEqual([
      "Budgets allow no disruption for reason Drifted, for one of them cannot be read",
    ]);
    expect(said({ when: "never" }, "cluster")).toEqual([
      "The cluster's budgets (disruption-budgets) allow no disruption for reason Drifted",
    ]);
    expect(said({ when: "busy" })).toEqual([]);
    expect(said({ when: "now" })).toEqual([]);
  });

  it("say until when a NodePool with a failed replacement gets no other", () => {
    const candidate = { claim: pod(), node: {}, generation: "v1" } as unknown as Candidate;
    const said = (waits: readonly (readonly [string, number])[]) =>
      replacementFailed([candidate], new Map(waits)).map(({ message }) => message);
    expect(said([])).toEqual(["Its replacement did not come up"]);
    expect(
      said([
        ["nodepool/b", NOW + 60_000],
        ["nodepool/a", NOW],
      ]),
    ).toEqual([
      "Its replacement did not come up; unless another does, no other of nodepool/a is asked for until 2026-01-05T08:00:00Z, none of nodepool/b is asked for until 2026-01-05T08:01:00Z",
    ]);
  });

  it("have the reason of the object's API generation", () => {
    const reasons = (["alpha", "beta", "v1"] as const).map(
      (generation) => blocked([pod()], generation, "node is nominated")[0]?.reason,
    );
    expect(reasons).toEqual(["DeprovisioningBlocked", "DisruptionBlocked", "DisruptionBlocked"]);
    expect(blocked([pod()], "v1", "node is nominated")[0]?.message).toBe("Node is nominated");
  });
});
