import { expect, it } from "vitest";
import { VirtualClock } from "../../base/virtual-clock.ts";
import { createLogger } from "../../operator/logging/logger.ts";
import { logLine } from "./text-log.ts";

it("separates the parts of a log line with spaces, and keeps a tab of a value as an escape", () => {
  const lines: string[] = [];
  const log = createLogger({
    clock: new VirtualClock(0),
    level: "info",
    encoding: "console",
    commit: "abc",
    write: (line) => lines.push(logLine(line)),
  });
  log.warn("refused\ta request", { path: "/api" });
  expect(lines).toHaveLength(1);
  expect(lines[0]).toMatch(/Z {2}WARN {2}\S+ {2}refused\\ta request {2}\{/);
});
