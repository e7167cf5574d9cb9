import { expect, it } from "vitest";
import { VirtualClock } from "../../base/virtual-clock.ts";
import { tellSlowTime } from "./slow-time.ts";

it("says once that the computer is too slow, and once that it is no longer", async () => {
  const real = new VirtualClock(0);
  const clock = { lostMs: 0, speed: 2 };
  const said: string[] = [];
  const stop = tellSlowTime(clock, real, (line) => said.push(line));
  const after10s = async (lostMs: number) => {
    clock.lostMs += lostMs;
    await real.advance(10_000);
    return said.splice(0);
  };
  expect(await after10s(4_000)).toEqual([]);
  expect(await after10s(9_000)).toEqual([
    "this computer is too slow for speed 2: simulated time runs at speed 0.2",
  ]);
  expect(await after10s(8_000)).toEqual([]);
  expect(await after10s(2_000)).toEqual([]);
  expect(await after10s(0)).toEqual(["simulated time runs at speed 2 again"]);
  stop();
  expect(await after10s(9_000)).toEqual([]);
});
