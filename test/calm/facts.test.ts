/** The witness reports events that are repeated too often, and accepts one fewer. */
import { describe, expect, it } from "vitest";
import { eventOf, tooOften } from "./facts.ts";

const MINUTE = 60_000;

describe("an event or a message", () => {
  const times = (count: number, text: string) => Array.from({ length: count }, () => text);

  it("may be repeated once a minute, and not more often", () => {
    const others = times(9, "b");
    expect(tooOften([...times(11, "a"), ...others], 10 * MINUTE)).toBeUndefined();
    expect(tooOften([...others, ...times(12, "a")], 10 * MINUTE)).toBe("12 times in 10 min: a");
    expect(tooOften([], 10 * MINUTE)).toBeUndefined();
  });

  it("counts as repeated when its count rises, or when the same words are written about the same object", () => {
    const body = { reason: "R", message: "m", involvedObject: { name: "one" } };
    expect(eventOf("", body)).toBe("R of one: m");
    expect(eventOf("", { ...body, involvedObject: { name: "two" } })).not.toBe(eventOf("", body));
    expect(eventOf("one.18a3", { count: 2 })).toBe("one.18a3");
  });
});
