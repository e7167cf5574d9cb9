/** A whole `World` in memory for controller tests: the real mirrors and manager over fake doors. */

import { NODE } from "../apis/core/node.ts";
import type { NodeClaim } from "../apis/karpenter/nodeclaim.ts";
import { assert } from "../base/assert.ts";
import { deepEqual } from "../base/json.ts";
import type { LogFields, Logger } from "../base/log.ts";
import type { Sample } from "../base/metrics.ts";
import { Random } from "../base/random.ts";
import { VirtualClock } from "../base/virtual-clock.ts";
import { controllerMetrics } from "../controllers/all-metrics.ts";
import { openMirrors } from "../controllers/mirrors.ts";
import type { Settings, World } from "../controllers/world.ts";
import { DEFAULT_PLANNER } from "../core/planner/planner-options.ts";
import { createClusterState } from "../core/state/create-cluster-state.ts";
import type { Controller, Manager } from "../kube/controller.ts";
import type { EventToPublish } from "../kube/events.ts";
import { createManager } from "../kube/manager.ts";
import { LiveMirrors } from "../kube/mirrors.ts";
import { type FakeCloud, fakeCloud } from "./fake-cloud.ts";
import { type FakeKube, fakeKube } from "./fake-kube.ts";

export interface FakeWorld extends World {
  readonly clock: VirtualClock;
  readonly api: FakeKube;
  readonly cloud: FakeCloud;
  /** `info launched nodeclaim {…}`. */
  readonly lines: string[];
  readonly published: EventToPublish[];
  /** `name{label=value}` → sum or value. */
  readonly measured: Map<string, number>;
  /** What is read off the present, in the same form. */
  shown(): ReadonlyMap<string, number>;
  /** Runs these controllers until `stop`. */
  run(...controllers: readonly Controller[]): Promise<void>;
  stop(): Promise<void>;
  /** Lets the claim's machine join: a Ready node with its provider id. */
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
  restraint: {
    minSavingsPercent: 5,
    maxPaybackMs: 4 * 60 * 60_000,
    replacementRestMs: 60 * 60_000,
    maxMovesPerPodHour: 4,
  },
  clusterBudgets: [],
  expirationSpreadPercent: 0,
  surgeTimeoutMs: 10 * 60_000,
  pauseDisruption: false,
  expirationRespectsBudgets: false,
  forSpot: "onDemand",
  gates: {
    betaDrift: true,
    alphaDrift: false,
    nodeRepair: false,
    staticCapacity: false,
    nodeOverlay: false,
  },
};

/** `outside`: what outlives a process; a second world over the first one's is the first one restarted. */
export function fakeWorld(
  settings: Partial<Omit<Settings, "gates">> & { gates?: Partial<Settings["gates"]> } = {},
  outside?: Pick<FakeWorld, "clock" | "api" | "cloud">,
): FakeWorld {
  const clock = outside?.clock ?? new VirtualClock();
  const api = outside?.api ?? fakeKube(clock);
  const cloud = outside?.cloud ?? fakeCloud(clock);
  const lines: string[] = [];
  const published: EventToPublish[] = [];
  const measured = new Map<string, number>();
  const random = new Random("test");
  const log = recordingLog(lines, {});
  const mirrors = new LiveMirrors({ client: api, clock, random, log });
  const declared = controllerMetrics(cloud);
  const readers = new Set<readonly [string, () => Iterable<Sample>]>();
  const series = (name: string, labels: Readonly<Record<string, string>>): string => {
    const known = declared.find((one) => one.name === name)?.labels;
    assert(
      deepEqual(known?.toSorted(), Object.keys(labels).sort()),
      `metric ${name} is declared with the labels ${known?.join(", ")}`,
    );
    const values = Object.entries(labels).map(([label, value]) => `${label}=${value}`);
    return `${name}{${values.join(",")}}`;
  };
  const add = (name: string, labels: Readonly<Record<string, string>>, by = 1): void => {
    measured.set(series(name, labels), (measured.get(series(name, labels)) ?? 0) + by);
  };
  let manager: Manager | undefined;

  const world: FakeWorld = {
    clock,
    random,
    api,
    kube: mirrors.client,
    mirrors,
    cloud,
    events: { publish: (...events) => published.push(...events) },
    metrics: {
      count: add,
      observe: add,
      set: (name, labels, value) => measured.set(series(name, labels), value),
      read: (name, read) => {
        const reader = [name, read] as const;
        readers.add(reader);
        return () => readers.delete(reader);
      },
      forget: (name, labels) => {
        const wanted = Object.entries(labels).map(([label, value]) => `${label}=${value}`);
        for (const key of measured.keys()) {
          const named = key.startsWith(`${name}{`);
          if (named && wanted.every((one) => key.includes(one))) measured.delete(key);
        }
      },
    },
    log,
    settings: { ...SETTINGS, ...settings, gates: { ...SETTINGS.gates, ...settings.gates } },
    cluster: createClusterState(),
    lines,
    published,
    measured,
    shown: () => {
      const values = new Map<string, number>();
      for (const [name, read] of readers)
        for (const { shared, labels, value } of read())
          values.set(series(name, { ...shared, ...labels }), value);
      return values;
    },
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
      const { name } = claim.metadata;
      await api.create(NODE, {
        metadata: { name: `node-${name}`, labels: { "kubernetes.io/hostname": `node-${name}` } },
        spec: {
          providerID: claim.status?.providerID ?? "",
          taints: [{ key: "karpenter.sh/unregistered", effect: "NoExecute" }],
        },
        status: {
          capacity: claim.status?.capacity ?? {},
          allocatable: claim.status?.allocatable ?? {},
          conditions: [{ type: "Ready", status: "True" }],
        },
        ...patch,
      });
    },
  };
  return world;
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
