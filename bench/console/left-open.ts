/**
 * `npx tsx bench/console/left-open.ts [--nodes 5000] [--minutes 60] [--events rollout]`: leaves the console's map open
 * while 1,000 pod events arrive each second. Each minute it prints the page's heap after garbage collection. It also
 * prints the memory of the serving process, and its smallest heap in that minute.
 */
import { readFileSync } from "node:fs";
import { scriptFlags } from "../../scripts/script-flags.ts";
import { openBrowser } from "./browser.ts";
import { startConsole } from "./started.ts";

const { values } = scriptFlags(import.meta.url, {
  args: process.argv.slice(2),
  options: {
    nodes: { type: "string", default: "5000" },
    pods: { type: "string", default: "10" },
    minutes: { type: "string", default: "60" },
    events: { type: "string", default: "rollout" },
  },
});
const MINUTE_MS = 60_000;

const browser = await openBrowser();
const started = await startConsole(values);
try {
  const page = await browser.newPage();
  await page.goto(started.url);
  await page.locator(".strip", { hasText: " waiting" }).waitFor({ timeout: 180_000 });
  started.server.stdin?.write(`1000 ${values.events}\n`);
  const session = await page.context().newCDPSession(page);
  for (let minute = 0; minute <= Number(values.minutes); minute++) {
    await session.send("HeapProfiler.collectGarbage");
    const { usedSize } = await session.send("Runtime.getHeapUsage");
    const { rss, heap } = lastMinute();
    console.log(
      `${minute} min: page ${mega(usedSize)}, server ${mega(rss)}, its heap ${mega(heap)}`,
    );
    if (minute < Number(values.minutes)) await page.waitForTimeout(MINUTE_MS);
  }
} finally {
  await browser.close();
  started.stop();
}

interface Memory {
  readonly rss: number;
  readonly heap: number;
}

/** The last memory of the serving process, and its smallest heap within a minute, as its probe wrote them. */
function lastMinute(): Memory {
  const lines = readFileSync(started.probe, "utf8").trim().split("\n").slice(-60);
  const samples = lines.map((line) => JSON.parse(line) as Memory);
  return { rss: samples.at(-1)?.rss ?? 0, heap: Math.min(...samples.map(({ heap }) => heap)) };
}

function mega(bytes: number): string {
  return `${(bytes / 2 ** 20).toFixed(1)} MB`;
}
