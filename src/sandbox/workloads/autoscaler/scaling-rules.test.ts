/**
 * The windows, policies and bounds that turn the replicas that metrics ask for into the replicas that are set.
 */
import { describe, expect, it } from "vitest";
import {
  afterScaling,
  type Behavior,
  decideScale,
  firstMemory,
  type ScalingMemory,
} from "./scaling-rules.ts";

const BOUNDS = { least: 1, most: 100 };

function decide(
  current: number,
  desired: number,
  behavior?: Behavior,
  memory: ScalingMemory = { recommendations: [], ups: [], downs: [] },
  nowMs = 1_000_000,
) {
  return decideScale({ current, desired, ...BOUNDS, nowMs }, behavior, memory);
}

describe("scaling without a behavior", () => {
  it.each([
    [1, 9, 4, "ScaleUpLimit"],
    [3, 9, 6, "ScaleUpLimit"],
    [80, 150, 100, "TooManyReplicas"],
    [5, 0, 1, "TooFewReplicas"],
    [5, 3, 3, "DesiredWithinRange"],
  ])("from %i to %i sets %i replicas: %s", (current, desired, replicas, reason) => {
    const decision = decide(current, desired);
    expect(decision.replicas).toBe(replicas);
    expect(decision.limited.reason).toBe(reason);
    expect(decision.limited.status).toBe(reason === "DesiredWithinRange" ? "False" : "True");
  });

  it("uses the highest recommendation of five minutes", () => {
    const memory = firstMemory(8, 0);
    const early = decide(8, 3, undefined, memory, 300_000);
    expect(early.replicas).toBe(8);
    expect(early.ableToScale.reason).toBe("ScaleDownStabilized");
    expect(decide(8, 3, undefined, early.memory, 300_001).replicas).toBe(3);
  });
});

describe("scaling with a behavior", () => {
  const policies = (type: "Pods" | "Percent", value: number, periodSeconds = 60) => ({
    stabilizationWindowSeconds: 0,
    policies: [{ type, value, periodSeconds }],
  });

  it("adds no more pods than a policy allows, including those added in its period", () => {
    const behavior: Behavior = { scaleUp: policies("Pods", 3) };
    const first = decide(4, 20, behavior);
    expect(first.replicas).toBe(7);
    const change = { current: 4, desired: 7, nowMs: 1_000_000 };
    const memory = afterScaling(first.memory, behavior, change);
    expect(decide(7, 20, behavior, memory, 1_030_000).replicas).toBe(7);
    expect(decide(7, 20, behavior, memory, 1_060_000).replicas).toBe(10);
  });

  it("takes the highest or lowest limit of the policies, or none", () => {
    const scaleDown = {
      stabilizationWindowSeconds: 0,
      policies: [
        { type: "Pods" as const, value: 1, periodSeconds: 60 },
        { type: "Percent" as const, value: 50, periodSeconds: 60 },
      ],
    };
    const down = (selectPolicy?: "Max" | "Min" | "Disabled") =>
      decide(9, 1, { scaleDown: { ...scaleDown, ...(selectPolicy ? { selectPolicy } : {}) } });
    expect(down("Max").replicas).toBe(4);
    expect(down("Min").replicas).toBe(8);
    expect(down("Disabled").replicas).toBe(9);
    expect(down("Disabled").limited.reason).toBe("ScaleDownLimit");
  });

  it("scales up to the lowest recommendation of its window", () => {
    const scaleUp = { ...policies("Percent", 1_000), stabilizationWindowSeconds: 120 };
    const memory: ScalingMemory = { ...firstMemory(4, 900_000), ups: [], downs: [] };
    const waiting = decide(4, 8, { scaleUp }, memory);
    expect(waiting.replicas).toBe(4);
    expect(waiting.ableToScale.reason).toBe("ScaleUpStabilized");
    expect(decide(4, 8, { scaleUp }, waiting.memory, 1_020_000).replicas).toBe(8);
  });

  it("scales down after five minutes if it names no window", () => {
    const { stabilizationWindowSeconds: _, ...scaleDown } = policies("Percent", 100);
    expect(decide(8, 2, { scaleDown }, firstMemory(8, 900_000)).replicas).toBe(8);
    expect(decide(8, 2, { scaleDown }, firstMemory(8, 700_000)).replicas).toBe(2);
  });
});
