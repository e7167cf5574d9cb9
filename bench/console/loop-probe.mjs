/**
 * Loaded into the process that is measured. Once a second it writes the processor time and the memory to a file. After
 * the message `holds` it also writes the longest block of the event loop in that second. Its timers then cost 3 to 9 %
 * of a core, because each wakes the process; the message `rest` stops them. On a busy machine a block also waits for
 * the processor, so the processor time of the main thread within the longest block is written, too (Linux only).
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

/** Watches the loop until `stop`. `take` returns the longest block since the last call. */
function watchLoop(threadMs) {
  const resolution = 10;
  const delay = monitorEventLoopDelay({ resolution });
  delay.enable();
  let seenMs = threadMs();
  let heldCpuMs = 0;
  // The loop runs due timers in each of its turns, so this sees each block with at most one short turn more.
  const look = () => {
    const nowMs = threadMs();
    heldCpuMs = Math.max(heldCpuMs, nowMs - seenMs);
    seenMs = nowMs;
  };
  const timer = seenMs === undefined ? undefined : setInterval(look, LOOK_MS).unref();
  return {
    take: () => {
      const heldMs = Math.max(0, delay.max / 1e6 - resolution);
      const held = { heldMs, heldCpuMs };
      delay.reset();
      heldCpuMs = 0;
      return held;
    },
    stop: () => {
      delay.disable();
      clearInterval(timer);
    },
  };
}

if (file !== undefined) {
  const threadMs = threadClock();
  let loop;
  process.on("message", (message) => {
    loop?.stop();
    loop = message === "holds" ? watchLoop(threadMs) : undefined;
  });
  process.channel?.unref();
  setInterval(() => {
    const { user, system } = process.cpuUsage();
    const { rss, heapUsed: heap } = process.memoryUsage();
    const cpuMs = (user + system) / 1_000;
    const line = { ...loop?.take(), threadMs: threadMs(), cpuMs, rss, heap };
    appendFileSync(file, `${JSON.stringify(line)}\n`);
  }, 1_000).unref();
}
