/**
 * A complete `World` in memory for controller tests: the real mirrors and manager with a fake API server and
 * a fake cloud.
 */

import { type Crd, CUSTOM_RESOURCE_DEFINITION } from "../apis/core/custom-resource-definition.ts";
import { NODE, type Node } from "../apis/core/node.ts";
import type { NodeClaim } from "../apis/karpenter/nodeclaim.ts";
import type { LogFields, Logger } from "../base/log.ts";
import { Random } from "../base/random.ts";
import { VirtualClock } from "../base/virtual-clock.ts";
import { controllerMetrics } from "../controllers/all-metrics.ts";
import { openMirrors } from "../controllers/mirrors.ts";
import type { Settings, World } from "../controllers/world.ts";
import { DEFAULT_PLANNER } from "../core/planner/planner-options.ts";
import { Brake } from "../core/safety/brake.ts";
import { createClusterState } from "../core/state/create-cluster-state.ts";
import type { EventToPublish } from "../kube/events/events.ts";
import type { Controller, Manager } from "../kube/manager/controller.ts";
import { createManager } from "../kube/manager/manager.ts";
import { LiveMirrors } from "../kube/mirror/mirrors.ts";
import { type FakeCloud, fakeCloud } from "./fake-cloud.ts";
import { type FakeKube, fakeKube } from "./fake-kube.ts";
import { fakeMetrics } from "./fake-metrics.ts";

/** A World of fakes, for tests of controllers. */
export interface FakeWorld extends World {
  readonly clock: VirtualClock;
  readonly api: FakeKube;
  readonly cloud: FakeCloud;
  /** Log lines, such as `info launched nodeclaim {…}`. */
  readonly lines: string[];
  readonly published: EventToPublish[];
  /** The sum or value of each metric, as `name{label=value}` → number. */
  readonly measured: Map<string, number>;
  /** Gauges that are computed when they are read, in the form of {@link measured}. */
  shown(): ReadonlyMap<string, number>;
  /** Runs these controllers until `stop`. */
  run(...controllers: readonly Controller[]): Promise<void>;
  stop(): Promise<void>;
  /** Creates the Node of a claim's instance: Ready, with its provider id. */
  join(claim: NodeClaim, patch?: Record<string, unknown>): Promise<void>;
}

const SETTINGS: Settings = {
  batchIdleMs: 1_000,
  batchMaxMs: 10_000,
  preferencePolicy: "Respect",
  minValuesPolicy: "Strict",
  planner: DEFAULT_PLANNER,
  cpuRequestsMilli: 1_000,
  clusterName: "test",
  repack: { planner: DEFAULT_PLANNER, minSavingsPercent: 5 },
  splits: true,
  restraint: {
    minSavingsPercent: 5,
    maxPaybackMs: 4 * 60 * 60_000,
    replacementRestMs: 60 * 60_000,
    maxMovesPerPodHour: 4,
  },
  clusterBudgets: [],
  expiry: { spreadPercent: 0, respectsBudgets: false },
  initializationTimeoutMs: 30 * 60_000,
  surgeTimeoutMs: 10 * 60_000,
  involuntaryLimit: { nodes: 5, percent: 10 },
  surgeNamespaces: ["*"],
  pauseDisruption: false,
  observeOnly: false,
  forSpot: "onDemand",
  terminateFirst: { drift: false, repair: false },
  gates: {
    betaDrift: true,
    alphaDrift: false,
    nodeRepair: false,
    legacyNodeRepair: false,
    rebootForRepair: false,
    staticCapacity: false,
    nodeOverlay: false,
    capacityBuffer: false,
    podDeletionCost: false,
  },
};

/**
 * Makes a world. `outside` is what outlives a process: the API server, the cloud and the clock. A second world with the
 * first one's `outside` is a restart of the first.
 */
export function fakeWorld(
  settings: Partial<Omit<Settings, "gates">> & { gates?: Partial<Settings["gates"]> } = {},
  outside?: Pick<FakeWorld, "clock" | "api" | "cloud">,
): FakeWorld {
  const clock = outside?.clock ?? new VirtualClock();
  const api = outside?.api ?? fakeKube(clock);
  const cloud = outside?.cloud ?? fakeCloud(clock);
  const lines: string[] = [];
  const published: EventToPublish[] = [];
  const random = new Random("test");
  const log = recordingLog(lines, {});
  const mirrors = new LiveMirrors({ client: api, clock, random, log });
  const metrics = fakeMetrics(controllerMetrics(cloud));
  let manager: Manager | undefined;

  const world: FakeWorld = {
    clock,
    random,
    api,
    kube: mirrors.client,
    mirrors,
    cloud,
    events: { publish: (...events) => published.push(...events) },
    metrics: metrics.meter,
    log,
    settings: { ...SETTINGS, ...settings, gates: { ...SETTINGS.gates, ...settings.gates } },
    cluster: createClusterState(),
    brake: new Brake(settings.involuntaryLimit ?? SETTINGS.involuntaryLimit),
    clockSkewMs: () => undefined,
    lines,
    published,
    measured: metrics.measured,
    shown: metrics.shown,
    run: async (...controllers) => {
      openMirrors(world);
      manager = createManager({ mirrors, clock, random, log });
      for (const controller of controllers) manager.add(controller);
      const started = manager.start();
      await clock.settle();
      await started;
      await clock.settle();
    },
    stop: async () => {
      await manager?.stop();
      mirrors.close();
    },
    join: async (claim, patch = {}) => {
      await api.create(NODE, { ...joined(claim), ...patch });
    },
  };
  return world;
}

/** Adds the definition of NodeClaims. Without it no Node without a claim is terminated. */
export async function defineNodeClaims({ api }: Pick<FakeWorld, "api">): Promise<void> {
  const definition = { metadata: { name: "nodeclaims.karpenter.sh" } } as Crd;
  await api.create(CUSTOM_RESOURCE_DEFINITION, definition);
}

/** The Node of a claim's instance, Ready and not registered yet. */
function joined({ metadata: { name }, status }: NodeClaim): Node {
  return {
    metadata: { name: `node-${name}`, labels: { "kubernetes.io/hostname": `node-${name}` } },
    spec: {
      providerID: status?.providerID ?? "",
      taints: [{ key: "karpenter.sh/unregistered", effect: "NoExecute" }],
    },
    status: {
      capacity: status?.capacity ?? {},
      allocatable: status?.allocatable ?? {},
      conditions: [{ type: "Ready", status: "True" }],
    },
  };
}

function recordingLog(lines: string[], bound: LogFields): Logger {
  const say = (level: string) => (message: string, fields?: LogFields) => {
    lines.push(`${level} ${message} ${JSON.stringify({ ...bound, ...fields })}`);
  };
  return {
    debug: say("debug"),
    info: say("info"),
    warn: say("warn"),
    error: say("error"),
    with: (fields) => recordingLog(lines, { ...bound, ...fields }),
    named: () => recordingLog(lines, bound),
  };
}
