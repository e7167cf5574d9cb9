import { describe, expect, it } from "vitest";
import { nextAfter, parseCron } from "./cron.ts";

const MONDAY = Date.UTC(2026, 0, 5, 8, 30, 15);

describe("cron", () => {
  it.each([
    ["* * * * *", "2026-01-05T08:31:00"],
    ["0 9 * * mon-fri", "2026-01-05T09:00:00"],
    ["*/20 * * * *", "2026-01-05T08:40:00"],
    ["5/15 8 * * *", "2026-01-05T08:35:00"],
    ["0 0 1 * *", "2026-02-01T00:00:00"],
    ["0 12 13 * 5", "2026-01-09T12:00:00"],
    ["0 12 13 * *", "2026-01-13T12:00:00"],
    ["0 0 29 2 ?", "2028-02-29T00:00:00"],
    ["@hourly", "2026-01-05T09:00:00"],
    ["@weekly", "2026-01-11T00:00:00"],
    ["0 8,10 * JAN *", "2026-01-05T10:00:00"],
  ])("%s comes next at %s", (text, expected) => {
    const cron = parseCron(text);
    expect(cron).toBeDefined();
    const at = nextAfter(cron as NonNullable<typeof cron>, MONDAY);
    expect(new Date(at as number).toISOString().slice(0, 19)).toBe(expected);
  });

  it.each(["", "* * * *", "60 * * * *", "a * * * *", "5-1 * * * *", "*/0 * * * *", "@never"])(
    "refuses %j",
    (text) => {
      expect(parseCron(text)).toBeUndefined();
    },
  );

  it("gives a date that never comes up", () => {
    const cron = parseCron("0 0 30 2 *");
    expect(nextAfter(cron as NonNullable<typeof cron>, MONDAY)).toBeUndefined();
  });
});
