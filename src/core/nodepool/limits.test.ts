import { describe, expect, it } from "vitest";
import { limitExceeded, remainingLimits } from "./limits.ts";

describe("limits", () => {
  it("leave what is not used, only for resources with a limit", () => {
    expect(remainingLimits({ cpu: 4_000, nodes: 2 }, { cpu: 1_000, memory: 5 })).toEqual({
      cpu: 3_000,
      nodes: 2,
    });
  });

  it("are exceeded if more than the limit is used, not if exactly the limit is used", () => {
    expect(limitExceeded({ cpu: 4_000 }, { cpu: 4_000 })).toBe(undefined);
    expect(limitExceeded({ cpu: 4_000 }, { cpu: 4_500 })).toBe(
      "cpu resource usage of 4500m exceeds limit of 4",
    );
  });
});
