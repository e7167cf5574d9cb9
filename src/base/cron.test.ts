import { describe, expect, it } from "vitest";
import { cronProblem, nextAfter, parseCron } from "./cron.ts";

const MONDAY = Date.UTC(2026, 0, 5, 8, 30, 15);

describe("cron schedules", () => {
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

  it.each([
    // Nine in Zurich is eight in UTC in winter, and seven in summer.
    ["CRON_TZ=Europe/Zurich 0 9 * * *", "2026-01-05T08:30:15", "2026-01-06T08:00:00"],
    ["TZ=Europe/Zurich 0 9 * * *", "2026-07-05T06:30:00", "2026-07-05T07:00:00"],
    ["CRON_TZ=Asia/Kolkata @daily", "2026-01-05T08:30:15", "2026-01-05T18:30:00"],
    // On 2026-03-29, 02:00 becomes 03:00. So 02:30 does not occur, and the next day begins at 22:00 UTC.
    ["CRON_TZ=Europe/Zurich 30 2 * * *", "2026-03-28T12:00:00", "2026-03-30T00:30:00"],
    ["CRON_TZ=Europe/Zurich 0 0 30 3 *", "2026-03-28T12:00:00", "2026-03-29T22:00:00"],
    // On 2026-10-25, 03:00 becomes 02:00. So 02:30 occurs twice.
    ["CRON_TZ=Europe/Zurich 30 2 * * *", "2026-10-24T12:00:00", "2026-10-25T00:30:00"],
    ["CRON_TZ=Europe/Zurich 30 2 * * *", "2026-10-25T00:30:00", "2026-10-25T01:30:00"],
    ["CRON_TZ=Europe/Zurich 0 0 26 10 *", "2026-10-24T12:00:00", "2026-10-25T23:00:00"],
    ["CRON_TZ=America/St_Johns 15 * * * *", "2026-01-05T08:30:00", "2026-01-05T08:45:00"],
  ])("%s after %s comes at %s", (text, after, expected) => {
    const cron = parseCron(text) as NonNullable<ReturnType<typeof parseCron>>;
    const at = nextAfter(cron, Date.parse(`${after}Z`));
    expect(new Date(at as number).toISOString().slice(0, 19)).toBe(expected);
  });

  it.each([
    "CRON_TZ=Nowhere/Land * * * * *",
    "CRON_TZ=UTC",
    "",
    "* * * *",
    "60 * * * *",
    "a * * * *",
    "5-1 * * * *",
    "*/0 * * * *",
    "@never",
    // Every JavaScript object inherits this name, but it is no abbreviation of a schedule.
    "constructor",
  ])("reject %j", (text) => {
    expect(parseCron(text)).toBeUndefined();
  });

  it.each([
    ["0 9 * * mon-fri", undefined],
    ["61 9 * * *", '"61" is no minute: 0 to 59'],
    ["0 9 * * 7", '"7" is no day of the week: 0 to 6, or sun to sat'],
    ["0 9 * jam *", '"jam" is no month: 1 to 12, or jan to dec'],
    ["0 0 9 * * *", /^it has 6 fields where five are wanted: minute, hour/],
    ["CRON_TZ=UTC", /^it has 0 field/],
    ["constructor", /^it has 1 field/],
    ["@dayly", /^there is no "@dayly"; there are @yearly, .*@daily/],
    [
      "CRON_TZ=Mars/Base 0 9 * * *",
      /^there is no time zone "Mars\/Base"; one is written as CRON_TZ=/,
    ],
    ["TZ= 0 9 * * *", /^there is no time zone ""/],
  ])("explain what is wrong with %j: %s", (text, problem) => {
    if (typeof problem === "string" || problem === undefined)
      expect(cronProblem(text)).toBe(problem);
    else expect(cronProblem(text)).toMatch(problem);
  });

  it("have no next time for a date that never occurs", () => {
    const cron = parseCron("0 0 30 2 *");
    expect(nextAfter(cron as NonNullable<typeof cron>, MONDAY)).toBeUndefined();
  });
});
