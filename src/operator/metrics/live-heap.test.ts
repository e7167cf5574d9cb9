import { setTimeout as sleep } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, it } from "vitest";
import { liveHeapBytes } from "./live-heap.ts";

const MIB = 2 ** 20;

/** Allocates 24 MiB. */
const numbers = (): number[] => new Array<number>(3 * MIB).fill(0.5);

it("liveHeapBytes counts what the last full garbage collection left, and no garbage since", async () => {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  liveHeapBytes();
  collect();
  await sleep(5);
  const before = liveHeapBytes();
  let garbage = numbers();
  expect(process.memoryUsage().heapUsed).toBeGreaterThan(before + 20 * MIB);
  expect(garbage[0]).toBe(0.5);
  garbage = [];
  collect();
  await sleep(5);
  expect(Math.abs(liveHeapBytes() - before)).toBeLessThan(10 * MIB);
  const kept = numbers();
  collect();
  await sleep(5);
  expect(liveHeapBytes()).toBeGreaterThan(before + 20 * MIB);
  expect(kept[0]).toBe(0.5);
});
