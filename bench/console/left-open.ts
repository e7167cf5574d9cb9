/**
 * `npx tsx bench/console/left-open.ts [--nodes 5000] [--minutes 60] [--events rollout]`: leaves the console's map open
 * while 1,000 pod events arrive each second. Prints the page's heap after garbage collection, and the memory of the
 * serving process.
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
const SAMPLES = 10;

const browser = await openBrowser();
const started = await startConsole(values);
try {
  const page = await browser.newPage();
  await page.goto(started.url);
  await page.locator(".strip", { hasText: " waiting" }).waitFor({ timeout: 180_000 });
  started.server.stdin?.write(`1000 ${values.events}\n`);
  const session = await page.context().newCDPSession(page);
  for (let at = 0; at <= SAMPLES; at++) {
    await session.send("HeapProfiler.collectGarbage");
    const { usedSize } = await session.send("Runtime.getHeapUsage");
    const minutes = ((at / SAMPLES) * Number(values.minutes)).toFixed(0);
    console.log(`${minutes} min: page ${mega(usedSize)}, server ${mega(memoryOf())}`);
    if (at < SAMPLES) await page.waitForTimeout((Number(values.minutes) * 60_000) / SAMPLES);
  }
} finally {
  await browser.close();
  started.stop();
}

/** The memory of the serving process, as its probe wrote it last. */
function memoryOf(): number {
  const last = readFileSync(started.probe, "utf8").trim().split("\n").at(-1) ?? "{}";
  return (JSON.parse(last) as { rss: number }).rss;
}

function mega(bytes: number): string {
  return `${Math.round(bytes / 2 ** 20)} MB`;
}
