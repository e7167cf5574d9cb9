import { describe, expect, it } from "vitest";
import { finalized, transitions } from "./status-events.ts";

function claim(status: "True" | "Unknown", finalizers: readonly string[] = []) {
  return {
    kind: "NodeClaim",
    metadata: { name: "a", finalizers, deletionTimestamp: "2026-01-05T08:00:00Z" },
    status: { conditions: [{ type: "Launched", status, reason: "Launched", message: "" }] },
  };
}

describe("status events", () => {
  it("are made for a condition whose status changed, and for nothing else", () => {
    expect(transitions(claim("Unknown"), claim("True")).map(({ message }) => message)).toEqual([
      "Status condition transitioned, Type: Launched, Status: Unknown -> True, Reason: Launched",
    ]);
    expect(transitions(claim("True"), claim("True"))).toEqual([]);
    expect(transitions({ metadata: { name: "a" } }, claim("True"))).toEqual([]);
  });

  it("are made for a removed finalizer, also if the object is deleted with it", () => {
    const before = claim("True", ["karpenter.sh/termination"]);
    expect(finalized(before, claim("True")).map(({ message }) => message)).toEqual([
      "Finalized karpenter.sh/termination",
    ]);
    expect(finalized(before, undefined)).toHaveLength(1);
    expect(finalized(before, before)).toEqual([]);
  });
});
