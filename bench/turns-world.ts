/**
 * What the controllers of `turns.ts` run against: real clients over its API server, and a cloud that knows all
 * instances.
 */
import type { NodeClaim } from "../src/apis/karpenter/nodeclaim.ts";
import { Random } from "../src/base/random.ts";
import type * as Clocks from "../src/base/system-clock.ts";
import type * as AllMetrics from "../src/controllers/all-metrics.ts";
import type { World } from "../src/controllers/world.ts";
import type * as Planner from "../src/core/planner/planner-options.ts";
import type * as State from "../src/core/state/create-cluster-state.ts";
import type * as Metrics from "../src/operator/metrics/metrics.ts";
import { built } from "./consolidation.ts";
import { CLASS, type TurnsCluster } from "./turns-cluster.ts";
import type { Server } from "./turns-server.ts";

const { createClusterState } = await built<typeof State>("core/state/create-cluster-state.js");
const { SystemClock } = await built<typeof Clocks>("base/system-clock.js");
const { createMetrics } = await built<typeof Metrics>("operator/metrics/metrics.js");
const { controllerMetrics } = await built<typeof AllMetrics>("controllers/all-metrics.js");
const { DEFAULT_PLANNER } = await built<typeof Planner>("core/planner/planner-options.js");
const { openMirrors } = await built<{ openMirrors: (given: World) => void }>("controllers/mirrors.js");

export interface TurnsWorld {
  readonly world: World;
  readonly metrics: Metrics.MetricsRegistry;
  /** Makes the last `instances` instances disappear from the cloud. */
  readonly lose: (instances: number) => void;
}

export function turnsWorld({ claims, input }: TurnsCluster, server: Server): TurnsWorld {
  let instances: readonly NodeClaim[] = claims.map(asInstance);
  const cloud = {
    nodeClassKinds: [CLASS],
    wellKnownLabels: input.options.wellKnownLabels,
    repairPolicies: [{ conditionType: "Ready", conditionStatus: "False", tolerationMs: 0 }],
    getInstanceTypes: async () => input.pools[0]?.instanceTypes ?? [],
    isDrifted: async () => undefined,
    isTakenBack: () => false,
    list: async () => instances,
    get: async (id: string) => instances.find(({ status }) => status?.providerID === id),
  } as unknown as World["cloud"];
  const metrics = createMetrics(controllerMetrics(cloud), "bench", "");
  const world = {
    clock: new SystemClock(),
    random: new Random("turns"),
    kube: server.client,
    mirrors: server.mirrors,
    cloud,
    events: { publish: ignore },
    metrics,
    log,
    cluster: createClusterState(),
    settings,
    clockSkewMs: () => 0,
  } as unknown as World;
  openMirrors(world);
  const lose = (count: number): void => {
    instances = instances.slice(0, -count);
  };
  return { world, metrics, lose };
}

/** The claim as the cloud returns it, without a name. */
function asInstance({ metadata: { name: _, ...metadata }, ...claim }: NodeClaim): NodeClaim {
  return { ...claim, metadata: { ...metadata, name: "" } };
}

const ignore = () => undefined;
const log = {
  debug: ignore,
  info: ignore,
  warn: ignore,
  error: (...told: readonly unknown[]) => console.log("error", ...told),
  with: () => log,
  named: () => log,
};
const settings = {
  preferencePolicy: "Respect",
  minValuesPolicy: "Strict",
  planner: DEFAULT_PLANNER,
  cpuRequestsMilli: 1_000,
  restraint: {
    minSavingsPercent: 5,
    maxPaybackMs: 4 * 3_600_000,
    replacementRestMs: 3_600_000,
    maxMovesPerPodHour: 4,
  },
  clusterBudgets: [],
  expiry: { spreadPercent: 0, respectsBudgets: false },
  initializationTimeoutMs: 0,
  surgeTimeoutMs: 0,
  pauseDisruption: false,
  observeOnly: false,
  forSpot: "onDemand",
  splits: true,
  terminateFirst: { drift: false, repair: false },
  gates: { betaDrift: true, alphaDrift: true, nodeRepair: true, staticCapacity: true, nodeOverlay: false },
};
