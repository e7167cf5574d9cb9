import { describe, expect, it } from "vitest";
import { Brake, brakeLimitProblem, HOLD_MS, parseBrakeLimit } from "./brake.ts";

const MINUTE_MS = 60_000;

describe("the safety brake", () => {
  const limit = { nodes: 5, percent: 10 };

  it("allows the larger of a count and a share in ten minutes, then nothing for an hour", () => {
    for (const [fleet, most] of [
      [1, 5],
      [50, 5],
      [59, 5],
      [60, 6],
      [1_000, 100],
    ] as const) {
      const brake = new Brake(limit);
      const taken = Array.from({ length: 200 }, (_, n) => brake.take(`n${n}`, n, fleet));
      expect(taken.filter(Boolean)).toHaveLength(most);
      expect(taken.slice(0, most).every(Boolean)).toBe(true);
      expect(brake.held).toHaveLength(200 - most);
      expect(brake.take("later", most + HOLD_MS - 1, fleet)).toBe(false);
      expect(brake.take("later", most + HOLD_MS, fleet)).toBe(true);
    }
  });

  it("stays off if terminations are spread over time", () => {
    const brake = new Brake(limit);
    for (let n = 0; n < 100; n++) expect(brake.take(`n${n}`, n * 2 * MINUTE_MS, 10)).toBe(true);
  });

  it("can be released by a person, notifies listeners, and resumes from another process", () => {
    const brake = new Brake({ nodes: 0, percent: 0 });
    let changes = 0;
    const stop = brake.listen(() => changes++);
    expect(brake.take("a", 0, 100)).toBe(false);
    expect([changes, brake.sinceMs]).toEqual([1, 0]);
    brake.release();
    expect([changes, brake.isOn(1), brake.held]).toEqual([2, false, []]);
    brake.resume(-HOLD_MS + 10);
    expect([brake.isOn(9), brake.isOn(10)]).toEqual([true, false]);
    stop();
    brake.take("a", 20, 100);
    expect(changes).toBe(4);
  });

  it("counts a termination once that is tried again", () => {
    const brake = new Brake({ nodes: 2, percent: 0 });
    expect([1, 2, 3].map((atMs) => brake.take("a", atMs, 1))).toEqual([true, true, true]);
    expect(["b", "c"].map((name) => brake.take(name, 4, 1))).toEqual([true, false]);
  });

  it("continues with valid counts of another process", () => {
    const brake = new Brake({ nodes: 3, percent: 0 });
    brake.recall([-9 * MINUTE_MS, -2 * MINUTE_MS]);
    expect(brake.counted(0)).toEqual([-9 * MINUTE_MS, -2 * MINUTE_MS]);
    expect(brake.take("a", MINUTE_MS, 1)).toBe(true);
    expect(brake.counted(MINUTE_MS)).toEqual([-2 * MINUTE_MS, MINUTE_MS]);
    expect(["b", "c"].map((name) => brake.take(name, MINUTE_MS, 1))).toEqual([true, false]);
  });

  it("parses its limit, and rejects invalid limits", () => {
    expect(parseBrakeLimit("5,10%")).toEqual({ nodes: 5, percent: 10 });
    expect(parseBrakeLimit("0")).toEqual({ nodes: 0, percent: 0 });
    expect(parseBrakeLimit(" 20% ")).toEqual({ nodes: 0, percent: 20 });
    for (const text of ["", "a", "-1", "5.5", "101%", "5,", "10%%", "5;10%"])
      expect(brakeLimitProblem(text), text).toContain("5,10%");
  });
});
