// The samples of the controller's metrics that the console draws.
import { expect, it } from "vitest";
import { SILENT } from "../src/base/log.ts";
import { VirtualClock } from "../src/base/virtual-clock.ts";
import { keepVitals } from "../src/cli/console/kept-vitals.ts";
import { createMetrics } from "../src/operator/metrics/metrics.ts";

it("a failed reading leaves a gap in the console's chart, and later readings follow", async () => {
  const clock = new VirtualClock();
  const lines: string[] = [];
  const metrics = createMetrics([], "1", "abc");
  let isBroken = false;
  const warn = (message: string, fields = {}) =>
    void lines.push(`${message} ${JSON.stringify(fields)}`);
  const doors = { clock, machine: clock, log: { ...SILENT, warn } };
  const kept = keepVitals(() => {
    if (isBroken) throw new Error("no metrics now");
    return metrics;
  }, doors);
  const seconds = () => kept.points().map(({ atMs }) => (atMs - beganMs) / 1_000);
  const beganMs = clock.now();
  await clock.advance(15_000);
  isBroken = true;
  await clock.advance(15_000);
  isBroken = false;
  await clock.advance(30_000);
  expect(seconds()).toEqual([15, 60]);
  // These metrics count no API calls, so the point has no error rate.
  expect(kept.points()[0]).not.toHaveProperty("apiErrors");
  expect(lines.join("\n")).toContain("no metrics now");
  kept.close();
});
