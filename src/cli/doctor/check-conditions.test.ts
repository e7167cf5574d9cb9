/** The doctor's checks of conditions and budgets of NodePools and node classes. Without a cluster. */
import { describe, expect, it } from "vitest";
import type { Condition, KubeObject } from "../../apis/meta.ts";
import { CLASSES_AREA, checkConditions, POOLS_AREA } from "./check-conditions.ts";

type Given = Pick<Condition, "type" | "status"> & Partial<Condition>;

const READY: Given = { type: "Ready", status: "True" };
const TYPO = {
  nodes: "0",
  schedule: "0 6 * * *",
  timeZone: "Europe/Berln",
  duration: "16h",
};

/** What the doctor says of a NodePool with these conditions and budgets, without that it is ready. */
function found(conditions: readonly Given[], budgets: readonly object[] = []) {
  const pool = {
    kind: "NodePool",
    metadata: { name: "p" },
    spec: { disruption: { budgets } },
    status: { conditions },
  };
  const items = checkConditions(POOLS_AREA, [pool as unknown as KubeObject]);
  return items.filter(({ state }) => state !== "ready");
}

describe("karpenter doctor about conditions", () => {
  it("names each NodePool with a budget that cannot be read, once, with or without a condition", () => {
    const condition: Given = {
      type: "DisruptionAllowed",
      status: "False",
      reason: "BudgetNotReadable",
      message: "as the budget says",
    };
    for (const conditions of [
      [READY],
      [READY, condition],
      [condition, { ...READY, status: "False" as const }],
    ]) {
      const items = found(conditions, [{ nodes: "10%" }, TYPO]).filter(
        ({ says }) => !says.startsWith("It is not ready"),
      );
      expect(items).toMatchObject([{ item: "p", state: "todo" }]);
      expect(items[0]?.says).toContain("spec.disruption.budgets[1]");
      expect(items[0]?.says).toContain("Europe/Berln");
      expect(items[0]?.remedy).toBe("mend spec.disruption.budgets of NodePool p");
    }
    expect(found([READY], [{ nodes: "10%" }])).toEqual([]);
    expect(found([READY, condition])).toMatchObject([
      { state: "todo", says: "DisruptionAllowed is False: as the budget says" },
    ]);
  });

  it("names every condition that says that something is wrong, though the object is ready", () => {
    const message = "the last nodes did not register";
    expect(found([READY, { type: "NodeRegistrationHealthy", status: "False", message }])).toEqual([
      {
        area: "NodePools",
        item: "p",
        state: "todo",
        says: `NodeRegistrationHealthy is False: ${message}`,
        remedy: `mend what its condition NodeRegistrationHealthy (${message}) names; kubectl describe nodepool p shows all`,
      },
    ]);
    expect(
      found([READY, { type: "RepairStopped", status: "True", message: "too many" }]),
    ).toMatchObject([{ state: "todo", says: "RepairStopped is True: too many" }]);
    const classes = checkConditions(CLASSES_AREA, [
      {
        kind: "EC2NodeClass",
        metadata: { name: "c" },
        status: { conditions: [READY, { type: "Anything", status: "False", reason: "Why" }] },
      } as unknown as KubeObject,
    ]);
    expect(classes).toMatchObject([
      { state: "ready" },
      { item: "c", state: "todo", says: "Anything is False: Why" },
    ]);
  });

  it("names a cause once if Ready names it, and nothing that is usual", () => {
    const notReady: Given[] = [
      { type: "NodeClassReady", status: "False", message: "gone" },
      { type: "Ready", status: "False", message: "NodeClassReady=False" },
    ];
    expect(found(notReady)).toMatchObject([
      { says: "It is not ready: NodeClassReady=False: gone" },
    ]);
    const usual: Given[] = [
      READY,
      { type: "NodeRegistrationHealthy", status: "Unknown" },
      { type: "Drifted", status: "True", message: "1 node" },
      { type: "DisruptionAllowed", status: "True", reason: "Budgets" },
    ];
    expect(found(usual)).toEqual([]);
  });

  it("tells of a pause and of closed budgets without a task", () => {
    for (const reason of ["Paused", "Budgets"])
      expect(
        found([READY, { type: "DisruptionAllowed", status: "False", reason, message: "so" }]),
      ).toMatchObject([{ state: "differs", says: "DisruptionAllowed is False: so" }]);
  });
});
