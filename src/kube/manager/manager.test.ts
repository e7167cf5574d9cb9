import { expect, it, describe as suite } from "vitest";
import { describe } from "./manager.ts";

class CloudError extends Error {
  override readonly name = "CloudError";
  readonly action = "DescribeSubnets";
  readonly code = "Throttling";
}

class StepError extends Error {
  override readonly name = "StepError";
}

suite("what is logged of an error", () => {
  it("names the call and the code", () => {
    expect(describe(new CloudError("slow down"))).toBe("DescribeSubnets: Throttling: slow down");
    expect(describe(new CloudError("Throttling: slow down"))).toBe(
      "DescribeSubnets: Throttling: slow down",
    );
  });

  it("goes on with the cause, unless the message has said it", () => {
    const cause = new CloudError("slow down");
    expect(describe(new StepError("launching", { cause }))).toBe(
      "launching: DescribeSubnets: Throttling: slow down",
    );
    expect(describe(new StepError("launching, slow down", { cause }))).toBe("launching, slow down");
  });

  it("shows where a bug happened", () => {
    expect(describe(new StepError("launching", { cause: new TypeError("x") }))).toMatch(
      /^launching: TypeError: x\n {4}at /,
    );
    expect(describe("odd")).toBe("odd");
  });
});
