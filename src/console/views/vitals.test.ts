import { describe, expect, it } from "vitest";
import { type VitalReading, vitalPoint, vitalsView, withVital } from "./vitals.ts";

const FIRST: VitalReading = {
  atMs: 1_000,
  queued: 3,
  apiCalls: 100,
  apiErrors: 0,
  planned: { sum: 2, count: 2 },
  waited: { sum: 1, count: 4 },
  isLeader: true,
};

describe("the health figures of the controller", () => {
  it("are present values, rates per second, and means since the last point", () => {
    const now = {
      ...FIRST,
      atMs: 11_000,
      queued: 1,
      apiCalls: 150,
      apiErrors: 5,
      planned: { sum: 5, count: 4 },
    };
    expect(vitalPoint(FIRST, now)).toEqual({
      atMs: 11_000,
      queued: 1,
      leader: 1,
      apiCalls: 5,
      apiErrors: 0.5,
      plannedS: 1.5,
    });
  });

  it("have a gap when the process restarted or nothing was measured", () => {
    const anew = { atMs: 11_000, apiCalls: 2, planned: { sum: 1, count: 1 } };
    expect(vitalPoint(FIRST, anew)).toEqual({ atMs: 11_000 });
    expect(vitalPoint(FIRST, FIRST)).toBeUndefined();
    expect(vitalsView(undefined).head).toEqual({ isKnown: false });
  });

  it("are limited in number: the first and the newest points stay", () => {
    let points = withVital([], { atMs: 0 });
    for (let at = 1; at < 5_000; at++) points = withVital(points, { atMs: at });
    expect(points.length).toBeLessThanOrEqual(1_440);
    expect(points[0]?.atMs).toBe(0);
    expect(points.slice(-100).map(({ atMs }) => atMs)).toEqual(
      Array.from({ length: 100 }, (_, index) => 4_900 + index),
    );
  });
});
