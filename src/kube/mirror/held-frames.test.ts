import { expect, it } from "vitest";
import { HeldFrames } from "./held-frames.ts";

it("keeps frames of any length while the buffer grows, and uses it again", () => {
  const frames = new HeldFrames();
  for (const round of [1, 2]) {
    const given = [3, 0, 65_536, 100_000, 7].map((length) => Buffer.alloc(length, round));
    const places = given.map((frame) => frames.add(frame));
    expect(places.map((place) => Buffer.from(frames.at(place)))).toEqual(given);
    frames.clear();
  }
});
