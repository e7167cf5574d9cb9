/**
 * `npx tsx dashboard/test/time-bar-memory.ts`: measures how much memory the recorded moments of the time bar take.
 * The built page gets more moments of an invented cluster than it keeps. Its heap is measured before and after,
 * each time after garbage collection.
 */
import { readFileSync } from "node:fs";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { chromium } from "playwright-core";
import { findChromium } from "./chromium.ts";

const BUILT = new URL("../../data/dashboard/", import.meta.url);
const TYPES = { html: "text/html", js: "text/javascript", css: "text/css", svg: "image/svg+xml" };
const NODES = [300, 5_000];
/** Number of moments that are sent: more than the page keeps. */
const MOMENTS = 1_000;
/** Shares of the nodes that change from one moment to the next. */
const CHANGED = [0.01, 0.4];
const MIB = 2 ** 20;

let stream: ServerResponse | undefined;
const server = createServer(({ url = "/" }, response) => {
  const path = url.split("?")[0] ?? "";
  if (path === "/api/about")
    return response.end(JSON.stringify({ name: "test", mode: "cluster", acts: [] }));
  if (path === "/api/stream") {
    stream = response.writeHead(200, { "content-type": "text/event-stream" });
    stream.write(":\n\n");
    return undefined;
  }
  const file = path === "/" ? "index.html" : path.slice(1);
  const type = TYPES[(file.split(".").at(-1) ?? "") as keyof typeof TYPES] ?? "text/plain";
  response.writeHead(200, { "content-type": type });
  return response.end(readFileSync(new URL(file, BUILT)));
});

function send(event: string, data: object): void {
  stream?.write(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`);
}

function row(index: number, moment: number): object {
  return {
    pool: `pool-${index % 8}`,
    type: "m5.2xlarge",
    zone: `us-west-2${"abc"[index % 3]}`,
    capacity: index % 3 === 0 ? "on-demand" : "spot",
    state: "running",
    since: "2026-01-01T00:00:00Z",
    created: "2026-01-01T00:00:00Z",
    price: 384_000,
    cpu: [(index * 37 + moment) % 8_000, 7_910],
    memory: [index * 1_000, 31_000_000_000],
    pods: 10,
  };
}

function head(nodes: number): object {
  const share = [1, 2];
  const sums = { priceMicroUsdPerHour: 1, unpriced: 0, moving: 0, cpu: share, memory: share };
  return { nodes, pods: nodes * 10, waiting: 0, ...sums };
}

function sendMoment(nodes: number, moment: number, share: number): void {
  const count = moment === 0 ? nodes : Math.ceil(nodes * share);
  const first = moment === 0 ? 0 : (moment * count) % nodes;
  const set = Object.fromEntries(
    Array.from({ length: count }, (_, at) => (first + at) % nodes).map((index) => [
      `ip-10-0-${index >> 8}-${index & 255}.us-west-2.compute.internal`,
      row(index, moment),
    ]),
  );
  send("clock", { nowMs: Date.UTC(2026, 0, 1) + moment * 10_000 });
  send("map", { ...(moment === 0 ? { whole: true, head: head(nodes) } : {}), set, del: [] });
}

const executablePath = findChromium();
if (executablePath === undefined) throw new Error("no Chromium: apt-get install chromium");
await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
try {
  for (const [nodes, share] of NODES.flatMap((count) =>
    CHANGED.map((one) => [count, one] as const),
  )) {
    const page = await browser.newPage({ viewport: { width: 1_280, height: 800 } });
    const session = await page.context().newCDPSession(page);
    const heapMib = async () => {
      await session.send("HeapProfiler.collectGarbage");
      return (await session.send("Runtime.getHeapUsage")).usedSize / MIB;
    };
    await page.goto(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
    await page.getByText("● live").waitFor();
    sendMoment(nodes, 0, 1);
    await page.locator(".strip", { hasText: "nodes" }).waitFor();
    await page.waitForTimeout(1_000);
    const before = await heapMib();
    for (let moment = 1; moment <= MOMENTS; moment++) {
      sendMoment(nodes, moment, share);
      // Pauses, so that the page can process each moment.
      if (moment % 10 === 0) await page.waitForTimeout(20);
    }
    await page.waitForTimeout(3_000);
    const kept =
      Number(await page.getByRole("slider", { name: "Go back to" }).getAttribute("max")) + 1;
    const after = await heapMib();
    const all = [before, after, after - before].map((mib) => mib.toFixed(1));
    console.log(
      `${nodes} nodes, ${share * 100} % change, ${kept} moments kept: ${all[0]} -> ${all[1]} MiB, time bar ${all[2]} MiB`,
    );
    await page.close();
  }
} finally {
  await browser.close();
  server.closeAllConnections();
  server.close();
}
