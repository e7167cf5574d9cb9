import { describe, expect, it } from "vitest";
import { disruptionBudgets, disruptionBudgetsProblem } from "./disruption-budgets.ts";

describe("the cluster's disruption budgets", () => {
  it("are read like a NodePool's, in YAML or JSON, a count also as a number", () => {
    const yaml = `
      - nodes: 3
      - { nodes: "0", schedule: "CRON_TZ=Europe/Zurich 0 8 * * mon-fri", duration: 10h, reasons: [Drifted] }`;
    expect(disruptionBudgetsProblem(yaml)).toBeUndefined();
    expect(disruptionBudgets(yaml)).toMatchObject([{ nodes: "3" }, { reasons: ["Drifted"] }]);
    expect(disruptionBudgets('[{"nodes":"10%"}]')).toEqual([{ nodes: "10%" }]);
    expect(disruptionBudgets("")).toEqual([]);
  });

  it.each([
    ["nodes: 3", "must be a list of budgets, such as [{nodes: 10%}]"],
    ["[{}]", "budgets[0].nodes: must be a count or a percentage"],
    [
      "[{nodes: few}]",
      'budgets[0].nodes: "few" is neither a count nor a percentage; write one such as 5 or 10%',
    ],
    ["[{nodes: 1, pods: 2}]", "budgets[0].pods: there is no such field"],
    [
      "[{nodes: few}, {nodes: 1, schedule: soon, duration: 1h}]",
      'budgets[0].nodes: "few" is neither a count nor a percentage; write one such as 5 or 10%; budgets[1].schedule: "soon" cannot be read: it has 1 field where five are wanted: minute, hour, day of the month, month, day of the week',
    ],
    [
      "[{}, {nodes: 1, pods: 2}]",
      "budgets[0].nodes: must be a count or a percentage; budgets[1].pods: there is no such field",
    ],
    ["[{nodes: 1, duration: 1h}]", "budgets[0]: schedule and duration come together"],
    ['[{nodes: 1, schedule: "@daily", duration: 8}]', "budgets[0].duration: 8 must be a text"],
    [
      "[{nodes: 1, reasons: [Old]}]",
      "budgets[0].reasons: must be of Underutilized, Empty, Drifted, Unhealthy",
    ],
    [
      "[{nodes: 1, schedule: 0 9 * * mon-fry, duration: 1h}]",
      'budgets[0].schedule: "0 9 * * mon-fry" cannot be read: "mon-fry" is no day of the week: 0 to 6, or sun to sat',
    ],
  ])("%s is refused with its field: %s", (text, problem) => {
    expect(disruptionBudgetsProblem(text)).toBe(problem);
  });
});
