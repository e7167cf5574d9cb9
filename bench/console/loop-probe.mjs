/**
 * Loaded into the process that is measured. Once a second it writes the longest block of the event loop, and the
 * memory, to a file. On a busy machine a block also waits for the processor, so the processor time of the main thread
 * within the longest block is written, too (Linux only).
 */
import { appendFileSync, closeSync, openSync, readSync } from "node:fs";
import { monitorEventLoopDelay } from "node:perf_hooks";

const file = process.env.LOOP_PROBE;
/** Milliseconds between two looks at the processor time. A shorter block is counted as this long at most. */
const LOOK_MS = 5;

/** Processor time of the main thread in milliseconds. Undefined: this system does not tell. */
function threadClock() {
  let descriptor;
  try {
    descriptor = openSync("/proc/thread-self/schedstat", "r");
  } catch {
    return () => undefined;
  }
  process.once("exit", () => closeSync(descriptor));
  const bytes = Buffer.alloc(64);
  return () => {
    const length = readSync(descriptor, bytes, 0, bytes.length, 0);
    return Number(bytes.toString("latin1", 0, length).split(" ")[0]) / 1e6;
  };
}

if (file !== undefined) {
  const resolution = 10;
  const delay = monitorEventLoopDelay({ resolution });
  delay.enable();
  const threadMs = threadClock();
  let seenMs = threadMs();
  let heldCpuMs = 0;
  // The loop runs due timers in each of its turns, so this sees each block with at most one short turn more.
  if (seenMs !== undefined)
    setInterval(() => {
      const nowMs = threadMs();
      heldCpuMs = Math.max(heldCpuMs, nowMs - seenMs);
      seenMs = nowMs;
    }, LOOK_MS).unref();
  setInterval(() => {
    const heldMs = Math.max(0, delay.max / 1e6 - resolution);
    const { user, system } = process.cpuUsage();
    const { rss } = process.memoryUsage();
    const line = { heldMs, heldCpuMs, threadMs: threadMs(), cpuMs: (user + system) / 1_000, rss };
    appendFileSync(file, `${JSON.stringify(line)}\n`);
    delay.reset();
    heldCpuMs = 0;
  }, 1_000).unref();
}
