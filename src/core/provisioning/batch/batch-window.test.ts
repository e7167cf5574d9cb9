import { describe, expect, it } from "vitest";
import { BatchWindow } from "./batch-window.ts";

describe("BatchWindow", () => {
  const open = () => new BatchWindow({ idleMs: 1_000, maxMs: 10_000 });

  it("closes after a second of quiet", () => {
    const window = open();
    expect(window.closesAtMs).toBe(undefined);
    window.trigger("a", 100);
    window.trigger("b", 900);
    expect(window.closesAtMs).toBe(1_900);
  });

  it("stays open ten seconds at most", () => {
    const window = open();
    for (let at = 0; at < 10_000; at += 500) window.trigger(String(at), at);
    expect(window.closesAtMs).toBe(10_000);
  });

  it("is not held open by a pod that triggers again", () => {
    const window = open();
    window.trigger("a", 0);
    window.trigger("a", 900);
    expect(window.closesAtMs).toBe(1_000);
    window.close();
    window.trigger("a", 5_000);
    expect(window.closesAtMs).toBe(6_000);
  });
});
