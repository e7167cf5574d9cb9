import { describe, expect, it } from "vitest";
import { type Logger, SILENT } from "./log.ts";
import { LogLimiter } from "./log-limiter.ts";
import { VirtualClock } from "./virtual-clock.ts";

function limited(perMinute: number) {
  const lines: string[] = [];
  const log: Logger = {
    ...SILENT,
    warn: (message) => lines.push(`warn ${message}`),
    error: (message) => lines.push(`error ${message}`),
  };
  const clock = new VirtualClock(0);
  return { lines, clock, limiter: new LogLimiter(log, clock, perMinute) };
}

describe("rate-limited log lines", () => {
  it("are written up to the limit, then counted in one line at the end of the minute", async () => {
    const { lines, clock, limiter } = limited(2);
    for (let i = 0; i < 414; i++) limiter.tell("warn", "url", "URL refused");
    expect(lines).toEqual(["warn URL refused", "warn URL refused"]);
    await clock.advance(60_000);
    expect(lines.slice(2)).toEqual(["warn URL refused: and 412 more in the last minute"]);
    // In the next minute, lines are written again.
    limiter.tell("warn", "url", "URL refused");
    expect(lines.slice(3)).toEqual(["warn URL refused"]);
    await clock.advance(600_000);
    expect(lines).toHaveLength(4);
  });

  it("are limited separately for each kind", () => {
    const { lines, limiter } = limited(1);
    limiter.tell("warn", "a", "A");
    limiter.tell("warn", "a", "A");
    limiter.tell("error", "b", "B");
    expect(lines).toEqual(["warn A", "error B"]);
  });

  it("are counted once when the limiter closes", async () => {
    const { lines, clock, limiter } = limited(1);
    limiter.tell("warn", "a", "A");
    limiter.tell("warn", "a", "A");
    limiter.close();
    await clock.advance(120_000);
    expect(lines).toEqual(["warn A", "warn A: and 1 more in the last minute"]);
  });
});
