import { describe, expect, it } from "vitest";
import { fakeWorld } from "../../testing/fake-world.ts";
import { createBatcher } from "./batcher.ts";

describe("a batch", () => {
  it("ends in time, even if the clock is set back", async () => {
    const world = fakeWorld();
    const batcher = createBatcher(world);
    expect([batcher.waitMs, batcher.openMs]).toEqual([undefined, 0]);
    batcher.trigger("first");
    await world.clock.advance(200);
    world.clock.setBack(3_600_000);
    expect([batcher.waitMs, batcher.openMs]).toEqual([800, 200]);
    batcher.trigger("second");
    await world.clock.advance(1_000);
    expect([batcher.waitMs, batcher.openMs]).toEqual([0, 1_200]);
    batcher.close();
    expect([batcher.waitMs, batcher.openMs]).toEqual([undefined, 0]);
  });
});
