import { describe, expect, it } from "vitest";
import { VirtualClock } from "../base/virtual-clock.ts";
import { reviewDoor } from "./door.ts";

function door(review: (token: string) => Promise<boolean> = async (token) => token === "good") {
  const clock = new VirtualClock();
  let drawn = 0;
  return { clock, door: reviewDoor({ review, clock, draw: () => `session-${drawn++}` }) };
}

describe("the access check of a console in a cluster", () => {
  it("admits the users that the API server allows, and gives them a value that is not the token", async () => {
    const { door: known } = door();
    expect(await known.enter("bad")).toBeUndefined();
    expect(await known.enter("")).toBeUndefined();
    const value = await known.enter("good");
    expect([known.isKnown("good"), known.isKnown(value ?? "")]).toEqual([false, true]);
  });

  it("asks the API server again after 15 minutes", async () => {
    const { clock, door: known } = door();
    const value = (await known.enter("good")) ?? "";
    await clock.advance(15 * 60_000 - 1);
    expect(known.isKnown(value)).toBe(true);
    await clock.advance(1);
    expect(known.isKnown(value)).toBe(false);
  });

  it("keeps at most 64 sessions and ends the oldest one first", async () => {
    const { door: known } = door();
    const first = (await known.enter("good")) ?? "";
    for (let at = 0; at < 64; at++) await known.enter("good");
    expect([known.isKnown(first), known.isKnown("session-64")]).toEqual([false, true]);
  });

  it("runs at most four reviews at the same time", async () => {
    let asked = 0;
    const { door: known } = door(() => {
      asked += 1;
      return new Promise(() => undefined);
    });
    const entering = Array.from({ length: 10 }, () => known.enter("good"));
    expect(asked).toBe(4);
    expect(await entering[9]).toBeUndefined();
  });
});
