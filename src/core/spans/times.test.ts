import { describe, expect, it } from "vitest";
import { nodeClaim } from "../../testing/builders.ts";
import { sharper, trueSinceMs } from "./times.ts";

const AT = Date.UTC(2026, 0, 5);

describe("when a condition became true", () => {
  it("is the observed time if that is within two seconds after the recorded one", () => {
    expect([sharper(AT, AT), sharper(AT, AT + 1_999)]).toEqual([AT, AT + 1_999]);
    expect([sharper(AT, AT + 2_000), sharper(AT, AT - 1)]).toEqual([AT, AT]);
  });

  it("is the only known one of the recorded and the observed time", () => {
    expect([sharper(AT, undefined), sharper(undefined, AT)]).toEqual([AT, AT]);
    expect(sharper(undefined, undefined)).toBeUndefined();
  });

  it("is undefined while the condition is not True", () => {
    const claim = (status: "True" | "False") => {
      const lastTransitionTime = new Date(AT).toISOString();
      return nodeClaim({
        status: { conditions: [{ type: "Launched", status, lastTransitionTime }] },
      });
    };
    expect(trueSinceMs(claim("True"), "Launched", { Launched: AT + 5 })).toBe(AT + 5);
    expect(trueSinceMs(claim("True"), "Launched", {})).toBe(AT);
    expect(trueSinceMs(claim("False"), "Launched", { Launched: AT })).toBeUndefined();
    expect(trueSinceMs(claim("True"), "Registered", {})).toBeUndefined();
  });
});
