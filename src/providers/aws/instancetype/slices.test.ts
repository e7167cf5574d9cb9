import { describe, expect, it } from "vitest";
import { VirtualClock } from "../../../base/virtual-clock.ts";
import { mapInSlices } from "./slices.ts";

describe("a long list", () => {
  it("is worked off in order, and lets others have their turn", async () => {
    const clock = new VirtualClock();
    const numbers = Array.from({ length: 300 }, (_, n) => n);
    const turns: number[] = [];
    let at = 0;
    clock.after(0, () => turns.push(at));
    const doubled = mapInSlices(clock, numbers, (n) => {
      at = n;
      return 2 * n;
    });
    clock.after(0, () => turns.push(at));
    await clock.advance(0);
    expect(await doubled).toEqual(numbers.map((n) => 2 * n));
    expect(turns).toEqual([63, 127]);
  });
});
