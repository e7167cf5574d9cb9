/**
 * Rounds of the real disruption controller over one cluster size of `sweep.ts`, in a process of its own. A turn is the
 * time between two iterations of the event loop, in CPU time of the thread. No command is carried out: each waits for
 * its validation, which then refuses it.
 */
import { constants, type PerformanceEntry, PerformanceObserver } from "node:perf_hooks";
import type { Kind, KubeObject } from "../src/apis/meta.ts";
import type { Clock } from "../src/base/clock.ts";
import { Random } from "../src/base/random.ts";
import type * as Backoffs from "../src/controllers/disruption/backoff.ts";
import type * as Disruption from "../src/controllers/disruption/controller.ts";
import type { CommandQueue } from "../src/controllers/disruption/command-queue.ts";
import type { World } from "../src/controllers/world.ts";
import type * as Ledgers from "../src/core/disruption/ledger.ts";
import type * as Planner from "../src/core/planner/planner-options.ts";
import type * as State from "../src/core/state/create-cluster-state.ts";
import { built } from "./consolidation.ts";
import { DAEMON_SET, drawCluster, type Filling } from "./sweep-cluster.ts";
import { threadMs } from "./thread-ms.ts";

const { createClusterState } = await built<typeof State>("core/state/create-cluster-state.js");
const { disruption } = await built<typeof Disruption>("controllers/disruption/controller.js");
const { Backoff } = await built<typeof Backoffs>("controllers/disruption/backoff.js");
const { Ledger } = await built<typeof Ledgers>("core/disruption/ledger.js");
const { DEFAULT_PLANNER } = await built<typeof Planner>("core/planner/planner-options.js");

const START_MS = Date.parse("2026-01-02T00:00:00Z");
/** Turns longer than this are reported, with their place and the part that was garbage collection. */
const LONG_MS = 50;
const KINDS: Readonly<Record<number, string>> = {
  [constants.NODE_PERFORMANCE_GC_MINOR]: "minor",
  [constants.NODE_PERFORMANCE_GC_MAJOR]: "major",
  [constants.NODE_PERFORMANCE_GC_INCREMENTAL]: "incremental",
};

const count = Number(process.argv[2]);
const { input, natives, pdbs, join, change } = drawCluster(count, process.argv[3] as Filling);
const cluster = createClusterState();
cluster.updateDaemonSet(DAEMON_SET);
for (let index = 0; index < count; index++) join(cluster, index);
globalThis.gc?.();

let startedMs = threadMs();
/** When the turn began, in wall time, because garbage collections are reported in wall time. */
let sinceMs = performance.now();
let faultsBefore = 0;
let longestMs = 0;
let laterMs = 0;
type Collection = PerformanceEntry & { readonly detail: { readonly kind: number } };
/** Long turns. They are printed at the end of a round, because garbage collections are reported with a delay. */
const long: { readonly tookMs: number; readonly fromMs: number; readonly toMs: number; readonly faults: number; readonly to: string }[] = [];
const collections: Collection[] = [];
new PerformanceObserver((list) => { collections.push(...(list.getEntries() as readonly PerformanceEntry[] as readonly Collection[])); }).observe({ entryTypes: ["gc"] });

function beginTurn(): void {
  sinceMs = performance.now();
  faultsBefore = pageFaults();
  startedMs = threadMs();
}

/** Page faults of all threads. On a virtual machine the first access to memory can cost more than the work with it. */
function pageFaults(): number {
  return process.resourceUsage().minorPageFault;
}

function endTurn(): void {
  const tookMs = threadMs() - startedMs;
  longestMs = Math.max(longestMs, tookMs);
  if (tookMs > LONG_MS) long.push({ tookMs, fromMs: sinceMs, toMs: performance.now(), faults: pageFaults() - faultsBefore, to: whereNow() });
}

/** Prints long turns, with the part that was garbage collection, and the page faults in them. */
async function tellLong(): Promise<void> {
  for (let look = 0; look < 2; look++) await new Promise((resolve) => setImmediate(resolve));
  for (const { tookMs, fromMs, toMs, faults, to } of long) {
    const within = collections.filter(({ startTime }) => startTime >= fromMs && startTime <= toMs);
    const kinds = within.map(({ duration, detail }) => `${KINDS[detail.kind] ?? "other"} ${duration.toFixed(0)}`);
    const [took, wall] = [tookMs, toMs - fromMs].map((ms) => ms.toFixed(0));
    console.log(`  a turn of ${took} ms (${wall} by the wall; garbage: ${kinds.join(", ") || "none"}; ${faults} pages touched first), to ${to}`);
  }
  long.length = 0;
  collections.length = 0;
}

/** The function of the controller that had the turn. */
function whereNow(): string {
  const lines = (new Error().stack ?? "").split("\n").filter((line) => line.includes("/controllers/"));
  return lines.slice(0, 2).map((line) => line.replace(/^\s+at (async )?/, "").replace(/\(.*\/controllers\//, "(")).join(" < ");
}

/** The controller's clock. It counts CPU time of the thread, as all figures here. */
const clock: Clock = {
  now: () => Math.floor(START_MS + laterMs + threadMs()),
  elapsedMs: () => Math.floor(threadMs()),
  after: () => ({ cancel: () => undefined }),
  sleep: async () => {
    endTurn();
    await new Promise((resolve) => setImmediate(resolve));
    beginTurn();
  },
  turnMs: () => threadMs() - startedMs,
};

const { claims, volumes, classes, csiNodes } = input.volumes;
const listed = new Map<string, readonly KubeObject[]>([
  ["NodePool", natives],
  ["PodDisruptionBudget", pdbs],
  ["Namespace", input.namespaces],
  ["PersistentVolumeClaim", claims],
  ["PersistentVolume", volumes],
  ["StorageClass", classes],
  ["CSINode", csiNodes],
]);
function mirrorOf({ kind }: Kind) {
  const all = listed.get(kind) ?? [];
  return { list: () => all, get: (key: string) => all.find(({ metadata }) => metadata.name === key), byIndex: () => [], on: () => () => undefined };
}

const told = { events: 0 };
const ignore = () => undefined;
const log = { debug: ignore, info: ignore, warn: ignore, error: ignore, with: () => log, named: () => log };
const restraint = { minSavingsPercent: 5, maxPaybackMs: 4 * 3_600_000, replacementRestMs: 3_600_000, maxMovesPerPodHour: 4 };
const world = {
  clock,
  random: new Random("sweep"),
  mirrors: { of: mirrorOf },
  cloud: {
    nodeClassKinds: [{ group: natives[0]?.spec.template.spec.nodeClassRef.group, kind: natives[0]?.spec.template.spec.nodeClassRef.kind }],
    wellKnownLabels: input.options.wellKnownLabels,
    getInstanceTypes: async () => input.pools[0]?.instanceTypes ?? [],
    quotaRoom: () => new Map(),
  },
  events: { publish: (...events: readonly unknown[]) => { told.events += events.length; } },
  metrics: { count: ignore, set: ignore, observe: ignore, forget: ignore, read: () => ignore },
  log,
  settings: {
    preferencePolicy: "Respect",
    minValuesPolicy: "Strict",
    planner: DEFAULT_PLANNER,
    repack: { planner: DEFAULT_PLANNER, minSavingsPercent: 5 },
    restraint,
    clusterBudgets: [],
    expiry: { spreadPercent: 0, respectsBudgets: false },
    initializationTimeoutMs: 0,
    surgeTimeoutMs: 0,
    pauseDisruption: false,
    observeOnly: false,
    forSpot: "onDemand",
    splits: true,
    terminateFirst: { drift: false, repair: false },
    gates: { betaDrift: true, alphaDrift: false, nodeRepair: false, staticCapacity: false, nodeOverlay: false },
  },
  cluster,
  clockSkewMs: () => 0,
} as unknown as World;
const begun: string[] = [];
const queue = {
  nodeNames: new Set<string>(),
  isRunning: () => false,
  backoff: new Backoff(),
  start: async ({ via, candidates }: Parameters<CommandQueue["start"]>[0]) => {
    begun.push(`${via} of ${candidates.length}`);
    throw new Error("nothing is carried out");
  },
  ledger: new Ledger(restraint),
} as unknown as CommandQueue;

const controller = disruption(world, queue);
/** Runs one reconcile of the disruption controller, and prints its figures. */
async function round(name: string): Promise<void> {
  longestMs = 0;
  const before = { ...told };
  const firstMs = threadMs();
  beginTurn();
  begun.length = 0;
  await controller.reconcile({ kind: "", name: "disruption" });
  endTurn();
  const figures = [threadMs() - firstMs, longestMs, told.events - before.events].map((one) => one.toFixed(0).padStart(12));
  console.log([name.padEnd(40), ...figures, begun.join(", ")].join("  "));
  await tellLong();
  laterMs += 16_000;
}

console.log(`${count} nodes, rounds`.padEnd(40), "   thread ms", "longest turn", "     events");
await round("the first");
await round("its command's second look");
for (let index = 0; index < count; index += 100) change(cluster, index);
await round("one node in a hundred has changed");
await round("its command's second look");
await round("nothing has changed");
globalThis.gc?.();
