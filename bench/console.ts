/**
 * `npm run bench -- console [--nodes 5000] [--pods 10] [--seconds 60] [--page map] [--events rollout]`: runs
 * `karpenter console` in a process of its own on a cluster of this size, and opens it in Chromium. Measures the time to
 * the first picture, CPU, memory, and the longest blocks of the event loop. First the cluster is idle, then it has
 * 1,000 pod events per second, of a kind of `console/pod-events.ts`. The share of a core is measured while the probe
 * does not watch the loop, because its timers would cost more than an idle console.
 */
import type { ChildProcess } from "node:child_process";
import { readFileSync } from "node:fs";
import { scriptFlags } from "../scripts/script-flags.ts";
import { openBrowser, type BrowserPage } from "./console/browser.ts";
import { POD_EVENTS } from "./console/pod-events.ts";
import { startConsole } from "./console/started.ts";
import { cells } from "./table.ts";

const EVENTS_A_SECOND = 1_000;

interface Sample {
  /** The longest block of the loop. Absent: the probe was not watching the loop. */
  readonly heldMs?: number;
  /** Processor time of the main thread within the longest block. */
  readonly heldCpuMs?: number;
  readonly cpuMs: number;
  readonly rss: number;
}

/** Runs this bench. The header of this file has its flags and figures. */
export async function console_(args: readonly string[]): Promise<void> {
  const { values } = scriptFlags(import.meta.url, {
    args: [...args],
    options: {
      nodes: { type: "string", default: "5000" },
      pods: { type: "string", default: "10" },
      seconds: { type: "string", default: "60" },
      page: { type: "string", default: "map" },
      events: { type: "string", default: "rollout" },
    },
  });
  const started = await startConsole(values);
  try {
    await look(started.url, { ...values, ...started });
  } finally {
    started.stop();
  }
}

interface Span {
  readonly probe: string;
  readonly served: ChildProcess;
  readonly lastsMs: number;
}

interface Look {
  readonly nodes: string;
  readonly seconds: string;
  readonly page: string;
  readonly events: string;
  readonly probe: string;
  readonly server: ChildProcess;
  readonly served: ChildProcess;
}

async function look(
  url: string,
  { nodes, seconds, page: name, events, probe, server, served }: Look,
): Promise<void> {
  if (POD_EVENTS[events] === undefined)
    throw new Error(`--events ${events}: wanted ${Object.keys(POD_EVENTS).join(" or ")}`);
  const browser = await openBrowser();
  const rows: string[][] = [];
  try {
    const firstPage = await browser.newPage();
    const opening = { url, nodes, served };
    rows.push(...firstRows(await opened(firstPage, opening), "nobody looked before"));
    const page = await browser.newPage();
    rows.push(...firstRows(await opened(page, opening), "watches open"));
    await firstPage.close();
    await page.goto(`${new URL(url).origin}/#${name}`);
    const lastsMs = Number(seconds) * 1_000;
    await page.waitForTimeout(15_000);
    rows.push(...(await during(page, { probe, served, lastsMs }, "calm")));
    server.stdin?.write(`${EVENTS_A_SECOND} ${events}\n`);
    await page.waitForTimeout(10_000);
    const load = `${EVENTS_A_SECOND} pod events a second (${events})`;
    rows.push(...(await during(page, { probe, served, lastsMs }, load)));
  } finally {
    await browser.close();
  }
  console.log([["what", "measured"], ["-", "-"], ...rows].map(cells).join("\n"));
}

/** Milliseconds from opening the address until all nodes are on the map, and until all pods are. */
interface FirstPicture {
  readonly nodesMs: number;
  readonly podsMs: number;
  /** Processor time of the console until all nodes are on the map. Undefined: this system does not tell. */
  readonly nodesCpuMs: number | undefined;
}

async function opened(
  page: BrowserPage,
  { url, nodes, served }: Pick<Look, "nodes" | "served"> & { readonly url: string },
): Promise<FirstPicture> {
  const begunCpuMs = processorMs(served);
  const begunMs = performance.now();
  const since = (): number => Math.round(performance.now() - begunMs);
  await page.goto("about:blank");
  await page.goto(url);
  const sees = (hasText: string) =>
    page.locator(".strip", { hasText }).waitFor({ timeout: 60_000 });
  await sees(`${Number(nodes).toLocaleString("en-US")} node`);
  const nodesMs = since();
  const cpuMs = processorMs(served);
  const nodesCpuMs = cpuMs && begunCpuMs && cpuMs - begunCpuMs;
  await sees(" waiting");
  return { nodesMs, podsMs: since(), nodesCpuMs };
}

/** Milliseconds of a tick, in which Linux counts the processor time of a process. */
const TICK_MS = 10;

/** Processor time of all threads of the process, in milliseconds. Undefined: this system does not tell. */
function processorMs({ pid }: ChildProcess): number | undefined {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, "latin1").split(") ").at(-1)?.split(" ");
    return (Number(fields?.[11]) + Number(fields?.[12])) * TICK_MS;
  } catch {
    return undefined;
  }
}

function firstRows({ nodesMs, podsMs, nodesCpuMs }: FirstPicture, when: string): string[][] {
  return [
    [`first picture, ${when}`, `${nodesMs} ms`],
    [`first picture, ${when}: processor time of the console`, `${nodesCpuMs ?? "unknown"} ms`],
    [`with all pods, ${when}`, `${podsMs} ms`],
  ];
}

/** Half of the time measures processor time, the other half blocks of the loop: watching the loop takes time, too. */
async function during(
  page: BrowserPage,
  { probe, served, lastsMs }: Span,
  what: string,
): Promise<string[][]> {
  const samplesWhile = async (message: "rest" | "holds"): Promise<readonly Sample[]> => {
    served.send(message);
    await page.waitForTimeout(1_500);
    const skip = samplesOf(probe).length;
    await page.waitForTimeout(lastsMs / 2);
    return samplesOf(probe).slice(skip);
  };
  const resting = await samplesWhile("rest");
  const watching = await samplesWhile("holds");
  served.send("rest");
  const [first, last] = [resting[0], resting.at(-1)];
  if (first === undefined || last === undefined) throw new Error("the probe wrote nothing");
  const share = (last.cpuMs - first.cpuMs) / (1_000 * (resting.length - 1));
  const longest = (of: "heldMs" | "heldCpuMs"): string => {
    const sorted = watching.map((sample) => sample[of] ?? 0).sort((a, b) => b - a);
    return `${sorted
      .slice(0, 3)
      .map((ms) => ms.toFixed(0))
      .join(", ")} ms`;
  };
  const session = await page.context().newCDPSession(page);
  await session.send("HeapProfiler.collectGarbage");
  const { usedSize } = await session.send("Runtime.getHeapUsage");
  const mega = (bytes: number): string => `${Math.round(bytes / 2 ** 20)} MB`;
  return [
    [`${what}: share of a core`, `${(100 * share).toFixed(1)} %`],
    [`${what}: longest holds of the loop`, longest("heldMs")],
    [`${what}: processor time within the longest holds`, longest("heldCpuMs")],
    [`${what}: memory of the process, heap of the page`, `${mega(last.rss)}, ${mega(usedSize)}`],
  ];
}

function samplesOf(probe: string): Sample[] {
  const lines = readFileSync(probe, "utf8").trim().split("\n");
  return lines.map((line) => JSON.parse(line) as Sample);
}
