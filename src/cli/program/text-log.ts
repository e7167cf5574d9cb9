/** A log for people: lines of text on standard error. */
import type { Clock } from "../../base/clock.ts";
import { type Printed, printedLines } from "../../base/printable.ts";
import { createLogger, type RootLogger } from "../../operator/logging/logger.ts";
import { BUILD } from "./build.ts";
import { toStderr } from "./output.ts";

/** `clock` gives the times in the log. */
export function textLog(clock: Clock): RootLogger {
  return createLogger({
    clock,
    level: "info",
    encoding: "console",
    commit: BUILD.commit,
    write: (line) => toStderr(logLine(line)),
  });
}

/**
 * The line with spaces between its parts. The logger separates them with tabs, and has made all other characters safe.
 * Exported for tests.
 */
export function logLine(line: string): Printed {
  return printedLines([line.replaceAll("\t", "  ")]);
}
