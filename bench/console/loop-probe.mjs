/**
 * Loaded into the process that is measured. Once a second it writes the longest block of the event loop, and the
 * memory, to a file.
 */
import { appendFileSync } from "node:fs";
import { monitorEventLoopDelay } from "node:perf_hooks";

const file = process.env.LOOP_PROBE;
if (file !== undefined) {
  const resolution = 10;
  const delay = monitorEventLoopDelay({ resolution });
  delay.enable();
  setInterval(() => {
    const heldMs = Math.max(0, delay.max / 1e6 - resolution);
    const { user, system } = process.cpuUsage();
    const { rss } = process.memoryUsage();
    appendFileSync(file, `${JSON.stringify({ heldMs, cpuMs: (user + system) / 1_000, rss })}\n`);
    delay.reset();
  }, 1_000).unref();
}
