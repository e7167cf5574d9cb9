import { describe, expect, it } from "vitest";
import { schedulerConfig, schedulerConfigProblem } from "./scheduler-config.ts";

const ZONAL = {
  maxSkew: 1,
  topologyKey: "topology.kubernetes.io/zone",
  whenUnsatisfiable: "ScheduleAnyway",
};

const config = (...constraints: unknown[]) => ({
  podTopologySpread: { defaultConstraints: constraints },
});
const problemOf = (value: object) => schedulerConfigProblem(JSON.stringify(value));

describe("the default topology spread in SCHEDULER_CONFIG", () => {
  it("is the list of its constraints", () => {
    expect(schedulerConfig(JSON.stringify(config(ZONAL)))).toEqual([ZONAL]);
  });

  it("is refused with the field's path if it is invalid", () => {
    expect(problemOf(config(ZONAL))).toBeUndefined();
    expect(problemOf({})).toBeUndefined();
    const at = "podTopologySpread.defaultConstraints[0]";
    const problem = (change: object) => problemOf(config({ ...ZONAL, ...change }));
    expect(problem({ maxSkew: 0 })).toBe(`${at}.maxSkew: wanted a whole number above 0, got 0`);
    expect(problem({ topologyKey: "a b" })).toContain(`${at}.topologyKey: wanted a label key`);
    expect(problem({ whenUnsatisfiable: "Maybe" })).toContain(`${at}.whenUnsatisfiable`);
    expect(problem({ labelSelector: {} })).toContain(`${at}.labelSelector: leave it out`);
    expect(problem({ skew: 1 })).toBe(`${at}.skew: unknown field`);
    expect(problemOf(config(ZONAL, ZONAL))).toContain("is there already");
  });
});
