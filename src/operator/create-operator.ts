/**
 * Builds the program from its parts (transport, clock, cloud, controllers) as one value that can be started and
 * stopped. A real cluster and the sandbox run exactly this code; only the transport, the clock and the AWS API differ.
 */
import { CAPACITY_BUFFER } from "../apis/autoscaling/capacity-buffer.ts";
import { NODE_CLAIM } from "../apis/karpenter/nodeclaim.ts";
import { NODE_OVERLAY } from "../apis/karpenter/nodeoverlay.ts";
import type { Kind } from "../apis/meta.ts";
import type { Clock } from "../base/clock.ts";
import type { Logger } from "../base/log.ts";
import type { MetricSpec, Metrics } from "../base/metrics.ts";
import { mustNotFail } from "../base/must-not-fail.ts";
import type { Random } from "../base/random.ts";
import { allControllers } from "../controllers/all.ts";
import { controllerMetrics } from "../controllers/all-metrics.ts";
import { deleteClaim } from "../controllers/ending/delete-claim.ts";
import { openMirrors } from "../controllers/mirrors.ts";
import { SpanNotes, type SpanSink } from "../controllers/spans/span-notes.ts";
import type { Settings, World } from "../controllers/world.ts";
import type { CloudProvider, EndImpaired } from "../core/cloudprovider/cloud-provider.ts";
import { repairPoliciesProblem } from "../core/cloudprovider/repair-policy.ts";
import { type PlannerOptions, plannerOptions } from "../core/planner/planner-options.ts";
import { Brake, DEFAULT_BRAKE_LIMIT, parseBrakeLimit } from "../core/safety/brake.ts";
import { createClusterState } from "../core/state/create-cluster-state.ts";
import type { KubeClient } from "../kube/client/client.ts";
import { createKubeClient } from "../kube/client/kube-client.ts";
import type { EventRecorder } from "../kube/events/events.ts";
import { createRecorder } from "../kube/events/recorder.ts";
import { electLeader, type Leadership } from "../kube/lease.ts";
import type { Controller, Manager } from "../kube/manager/controller.ts";
import { createManager } from "../kube/manager/manager.ts";
import { KUBE_METRICS } from "../kube/metrics.ts";
import type { Mirrors } from "../kube/mirror/mirror.ts";
import { LiveMirrors } from "../kube/mirror/mirrors.ts";
import type { AwaitRoom } from "../kube/transport/call-room.ts";
import { meteredTransport } from "../kube/transport/metered-transport.ts";
import { withServerClock } from "../kube/transport/server-clock.ts";
import type { Transport } from "../kube/transport/transport.ts";
import { compileDeviceSelector } from "../readers/device-selectors.ts";
import { type TellablePrices, tellFacts } from "./facts/tell-facts.ts";
import type { RootLogger } from "./logging/logger.ts";
import { loggingConfig } from "./logging/logging-config.ts";
import { createReconcileScope } from "./logging/reconcile-scope.ts";
import { createMetrics, type MetricsRegistry } from "./metrics/metrics.ts";
import {
  isObserver,
  markedEvents,
  OBSERVER_COMPONENT,
  observedCloud,
  observing,
} from "./observe-only.ts";
import { disruptionBudgets } from "./settings/disruption-budgets.ts";
import type { OptionDefinition } from "./settings/option-definition.ts";
import { OPTIONS } from "./settings/options.ts";
import {
  isAwsGateOn,
  isGateOn,
  type Options,
  parseOptions,
  unknownGates,
} from "./settings/parse-options.ts";
import { schedulerConfig } from "./settings/scheduler-config.ts";
import { surgeNamespaces } from "./settings/surge-namespaces.ts";
import { type GatedKind, type StartUp, watchStartUp } from "./start-up/start-up.ts";

/** The clients, mirrors and functions that a provider gets when it is created. */
export interface ProviderDoors {
  readonly kube: KubeClient;
  readonly mirrors: Mirrors;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly events: EventRecorder;
  readonly metrics: Metrics;
  readonly endImpaired: EndImpaired;
}

/** A cloud provider with its controllers and metrics. */
export interface Provider {
  readonly cloud: CloudProvider;
  /** The controllers of the provider's node class. */
  readonly controllers: readonly Controller[];
  /** Metrics that the provider itself records. */
  readonly metrics?: readonly MetricSpec[];
  /** Prices that change over time. Absent: they never change. */
  readonly prices?: TellablePrices;
  /** Stops the provider's background work, after the controllers have stopped. */
  readonly stop?: () => void;
}

/** The dependencies of {@link createOperator}. */
export interface OperatorDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly transport: Transport;
  /** Lets reconciles wait while `transport` has many calls in progress. Absent: they begin at once. */
  readonly awaitRoom?: AwaitRoom | undefined;
  /**
   * A separate transport for the Lease, so that renewals do not wait behind other requests. Absent: `transport` is
   * used.
   */
  readonly leaseTransport?: Transport;
  readonly log: RootLogger;
  readonly options: Options;
  readonly createProvider: (doors: ProviderDoors) => Provider;
  readonly version: string;
  readonly commit: string;
  /** The namespace in which the controller runs and in which its Lease is. */
  readonly namespace: string;
  /** The name of this replica, which no other replica has. */
  readonly identity: string;
  /** Where traces are exported to. Absent: there are no traces. */
  readonly spans?: SpanSink | undefined;
}

/** All controllers of Karpenter, ready to run. */
export interface Operator {
  readonly metrics: MetricsRegistry;
  /** Whether nothing is missing: this replica leads, or could lead at once. */
  readonly ready: boolean;
  /** What is missing for readiness, as short phrases. */
  waitsFor(): readonly string[];
  /** Resolves when this replica leads and its controllers run. */
  start(): Promise<void>;
  stop(): Promise<void>;
  /** Resolves when this replica lost the leadership. The process should exit then. */
  readonly lost: Promise<void>;
}

/** Names of controllers that only report: metrics, and events about conditions. */
const OBSERVER = /^(metrics|operatorpkg)\./;

/** Builds the operator without starting anything. */
export function createOperator(given: OperatorDeps): Operator {
  const { clock, random, log, options } = given;
  const deps = options.observeOnly ? { ...given, transport: observing(given.transport) } : given;
  warnOfSettings(options, log);
  const metrics = createMetrics(KUBE_METRICS, deps.version, deps.commit);
  const server = withServerClock(meteredTransport(deps.transport, clock, metrics), clock);
  const mirrors = new LiveMirrors({
    client: createKubeClient(server.transport),
    clock,
    random: random.fork("operator/mirrors"),
    log,
  });
  const doors = doorsOf(deps, mirrors, metrics);
  // All mirrors are opened before the provider opens any, because the first call sets a mirror's options.
  openMirrors(doors);
  const provider = deps.createProvider({ ...doors, endImpaired: endImpairedIn(() => world) });
  const { controllers, metrics: more = [], prices } = provider;
  const cloud = options.observeOnly ? observedCloud(provider.cloud) : provider.cloud;
  metrics.declare([...controllerMetrics(cloud), ...more]);
  const settings = settingsOf(options);
  checkRepairPolicies(settings, cloud);
  const world: World = {
    ...doors,
    random: random.fork("operator/world"),
    cloud,
    settings,
    cluster: createClusterState(),
    brake: new Brake(settings.involuntaryLimit),
    clockSkewMs: server.skewMs,
    ...(deps.spans === undefined ? {} : { spans: new SpanNotes(deps.spans, clock) }),
  };
  openMirrors(world);
  const telling = tellFacts({ ...deps, kube: mirrors.client, prices });
  const all = [...allControllers(world), ...controllers, telling];
  const manager = managerOf(deps, mirrors, metrics, all);

  let leadership: Leadership | undefined;
  let startUp: StartUp | undefined;
  let stopped = false;
  let onLost: () => void = () => undefined;
  const lost = new Promise<void>((resolve) => {
    onLost = resolve;
  });
  const waitsFor = () => waitsOf(stopped ? undefined : startUp, leadership);
  return {
    metrics,
    lost,
    get ready() {
      return waitsFor().length === 0;
    },
    waitsFor,
    start: async () => {
      startUp = startUpOf(deps, { options, cloud, mirrors });
      if (options.leaderElect && !options.disableLeaderElection && !options.observeOnly) {
        leadership = standForLead(deps, metrics);
        await leadership.acquired;
        mustNotFail(leadership.lost.then(onLost), "giving up the lead");
      }
      await manager.start();
    },
    stop: async () => {
      stopped = true;
      startUp?.stop();
      await manager.stop();
      provider.stop?.();
      await leadership?.release();
      mirrors.close();
    },
  };
}

/** Throws an Error if repair policies contradict each other, before any node is repaired. */
function checkRepairPolicies({ gates }: Settings, { repairPolicies }: CloudProvider): void {
  if (!gates.nodeRepair || gates.legacyNodeRepair) return;
  const problem = repairPoliciesProblem(repairPolicies);
  if (problem !== undefined) throw new Error(`cannot repair nodes: ${problem}`);
}

/** The feature gates that use a kind of their own. */
const GATED: readonly GatedKind[] = [
  { gate: "CapacityBuffer", kind: CAPACITY_BUFFER as Kind },
  { gate: "NodeOverlay", kind: NODE_OVERLAY as Kind },
];

function startUpOf(
  deps: OperatorDeps,
  { options, cloud, mirrors }: { options: Options; cloud: CloudProvider; mirrors: LiveMirrors },
): StartUp {
  // The API groups of NodePools, NodeClaims and the node classes of the provider.
  const groups = new Set([NODE_CLAIM, ...cloud.nodeClassKinds].map(({ group }) => group));
  return watchStartUp({
    ...deps,
    client: createKubeClient(deps.transport),
    groups: [...groups],
    gated: GATED.filter(({ gate }) => isGateOn(options, gate)),
    unlisted: () => mirrors.behind(),
    listed: mirrors.synced(),
  });
}

/** Why the operator is not ready. A standby is ready like the leader, unless it could never lead. */
function waitsOf(startUp: StartUp | undefined, leadership: Leadership | undefined): string[] {
  if (startUp === undefined) return ["its start"];
  const trouble = leadership?.trouble;
  return [...startUp.waitsFor(), ...(trouble === undefined ? [] : [trouble])];
}

/** The client, clock, log and so on that the provider and the controllers share. */
function doorsOf(
  { clock, random, log, options }: OperatorDeps,
  mirrors: LiveMirrors,
  metrics: MetricsRegistry,
): Omit<ProviderDoors, "endImpaired"> {
  const kube = mirrors.client;
  const recorder = createRecorder({
    client: kube,
    clock,
    random: random.fork("operator/events"),
    log: log.named("events"),
    component: options.observeOnly ? OBSERVER_COMPONENT : "karpenter",
  });
  const events = options.observeOnly ? markedEvents(recorder) : recorder;
  return { kube, mirrors, clock, random: random.fork("operator/provider"), log, events, metrics };
}

/**
 * The function with which a provider deletes the claim of an impaired node. It reads the world only when it is called,
 * because the world is created after the provider.
 */
function endImpairedIn(world: () => World): EndImpaired {
  return async (claim, prepare) =>
    (await deleteClaim(world(), claim, "impaired", { prepare })) === "ended";
}

function managerOf(
  { clock, random, log, options, namespace, awaitRoom }: OperatorDeps,
  mirrors: LiveMirrors,
  metrics: MetricsRegistry,
  controllers: readonly Controller[],
): Manager {
  const manager = createManager({
    mirrors,
    clock,
    random: random.fork("operator/manager"),
    log,
    metrics,
    awaitRoom,
    scope: createReconcileScope(random.fork("operator/reconciles")),
  });
  for (const controller of controllers) {
    if (options.observeOnly && !isObserver(controller.name)) continue;
    if (options.disableClusterStateObservability && OBSERVER.test(controller.name)) continue;
    manager.add(controller);
  }
  // The ConfigMap must not change a log level that a flag or environment variable set.
  if (!options.changed.includes("logLevel"))
    manager.add(loggingConfig({ mirrors, log, namespace, name: options.configLoggingName }));
  return manager;
}

/** Competes with the other replicas for the Lease, over a separate connection. */
function standForLead(deps: OperatorDeps, metrics: MetricsRegistry): Leadership {
  const { clock, log, identity, options } = deps;
  const transport = deps.leaseTransport ?? deps.transport;
  const name = options.leaderElectionName;
  const leadership = electLeader({
    client: createKubeClient(meteredTransport(transport, clock, metrics)),
    clock,
    log,
    name,
    namespace: options.leaderElectionNamespace || deps.namespace,
    identity,
  });
  metrics.read("leader_election_master_status", () => [
    { labels: { name }, value: leadership.leading ? 1 : 0 },
  ]);
  return leadership;
}

/** Converts the options to the controllers' settings. */
export function settingsOf(options: Options): Settings {
  const planner = plannerOptions({
    policy: options.plannerPolicy,
    effort: options.plannerEffort,
    nodeUsdPerHour: options.plannerNodeCost,
    minSavingPercent: options.plannerMinSaving,
    minPods: options.plannerMinPods,
  });
  return {
    batchIdleMs: options.batchIdleDuration,
    batchMaxMs: options.batchMaxDuration,
    preferencePolicy: options.preferencePolicy === "Ignore" ? "Ignore" : "Respect",
    minValuesPolicy: options.minValuesPolicy === "BestEffort" ? "BestEffort" : "Strict",
    planner,
    defaultSpread: schedulerConfig(options.schedulerConfig),
    ...(options.readVpaRecommendations ? { readsRecommendations: true } : {}),
    ...(options.ignoreDraRequests ? {} : { compileSelector: compileDeviceSelector }),
    cpuRequestsMilli: options.cpuRequests <= 0 ? 1_000 : options.cpuRequests,
    clusterName: options.clusterName,
    repack: repackOf(options, planner),
    splits: options.consolidationSplit,
    restraint: {
      minSavingsPercent: options.consolidationMinSavings,
      maxPaybackMs: options.consolidationMaxPayback,
      replacementRestMs: options.consolidationReplacementRest,
      maxMovesPerPodHour: options.consolidationMaxPodMoves,
    },
    clusterBudgets: disruptionBudgets(options.disruptionBudgets),
    expiry: {
      spreadPercent: options.expirationSpread,
      respectsBudgets: options.expirationRespectsBudgets,
    },
    initializationTimeoutMs: options.initializationTimeout,
    surgeTimeoutMs: options.surgeTimeout,
    involuntaryLimit: parseBrakeLimit(options.involuntaryDisruptionLimit) ?? DEFAULT_BRAKE_LIMIT,
    surgeNamespaces: surgeNamespaces(options.surgeNamespaces),
    pauseDisruption: options.pauseDisruption,
    observeOnly: options.observeOnly,
    forSpot: forSpotOf(options),
    gates: {
      betaDrift: isGateOn(options, "Drift"),
      alphaDrift: options.alphaDrift,
      nodeRepair: isGateOn(options, "NodeRepair"),
      legacyNodeRepair: options.legacyNodeRepair,
      rebootForRepair: isAwsGateOn(options, "RebootForRepair"),
      staticCapacity: isGateOn(options, "StaticCapacity"),
      nodeOverlay: isGateOn(options, "NodeOverlay"),
      capacityBuffer: isGateOn(options, "CapacityBuffer"),
      podDeletionCost: isGateOn(options, "PodDeletionCostManagement"),
    },
    terminateFirst: {
      drift: isGateOn(options, "TerminateFirstDrift"),
      repair: isGateOn(options, "TerminateFirstRepair"),
    },
  };
}

function forSpotOf(options: Options): Settings["forSpot"] {
  if (isGateOn(options, "SpotToSpotConsolidation")) return "spot";
  return options.consolidationSpotToOnDemand ? "onDemand" : "nothing";
}

/** The settings of repack. Undefined if repack is off, or the cost planner, which repack needs. */
function repackOf(options: Options, planner: PlannerOptions): Settings["repack"] {
  if (!options.consolidationRepack || planner.policy === "greedy") return undefined;
  return { planner, minSavingsPercent: options.consolidationMinSavings };
}

/**
 * Logs each given setting that has no effect, once. Settings with their default value are not logged, because a chart
 * may set all of them.
 */
function warnOfSettings(options: Options, log: Logger): void {
  const defaults = parseOptions({}, {});
  const inOrder = (value: unknown): string => String(value).split(",").sort().join();
  for (const name of options.changed) {
    const { flag, notActedOn }: OptionDefinition = OPTIONS[name];
    if (notActedOn !== undefined && inOrder(options[name]) !== inOrder(defaults[name]))
      log.warn("setting is not acted on", { setting: flag, reason: notActedOn });
  }
  for (const problem of unknownGates(options))
    log.warn("feature gate is not known and has no effect", { problem });
}
