import { describe, expect, it } from "vitest";
import type { Edit } from "./edits.ts";
import { KnownFixes } from "./known-fixes.ts";

const lowered = (from: number, to: number, container = "main") =>
  ({ on: "pod", change: "request", resource: "cpu", container, from, to }) as const;
const limit: Edit = { on: "pool", poolId: "p", change: "limit", resource: "cpu", from: 1, to: 9 };

describe("fixes that were enough for other pods", () => {
  it("are tried with the pod's own current request", () => {
    const known = new KnownFixes();
    known.add([lowered(500, 386)]);
    expect(known.like([lowered(549, 1)])).toEqual([lowered(549, 386)]);
  });

  it("are not tried for a pod if they would lower its request no further, or not at all", () => {
    const known = new KnownFixes();
    known.add([lowered(500, 386)]);
    expect(known.like([lowered(549, 386)])).toBe(undefined);
    expect(known.like([lowered(386, 1)])).toBe(undefined);
  });

  it("are not tried for another container, or for a NodePool limit", () => {
    const known = new KnownFixes();
    known.add([lowered(500, 386)]);
    known.add([limit]);
    expect(known.like([lowered(549, 1, "other")])).toBe(undefined);
    expect(known.like([limit])).toBe(undefined);
    expect(known.like([])).toBe(undefined);
  });
});
