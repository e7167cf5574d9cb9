/**
 * Reads files or a cluster, and builds the input that the disruption loop would have. `karpenter explain` and
 * `karpenter simulate` use it. A note says which facts only the running controller has.
 */
import { DEPLOYMENT, type Deployment } from "../../apis/apps/kinds.ts";
import { VERTICAL_POD_AUTOSCALER } from "../../apis/autoscaling/vertical-pod-autoscaler.ts";
import { EVENT, type PersistentVolumeClaim } from "../../apis/core/kinds.ts";
import type { Pod } from "../../apis/core/pod.ts";
import type { Pool } from "../../apis/hub/pool.ts";
import { poolKind, toPool } from "../../apis/hub/to-pool.ts";
import type { NodeClaim } from "../../apis/karpenter/nodeclaim.ts";
import { type Kind, type KubeObject, keyOf } from "../../apis/meta.ts";
import { fromRfc3339 } from "../../base/clock.ts";
import { haveSameItems } from "../../base/same-items.ts";
import { atOnce, type StepRunner } from "../../base/steps.ts";
import { SystemClock } from "../../base/system-clock.ts";
import { within } from "../../base/within.ts";
import type { Settings } from "../../controllers/world.ts";
import { poolObject } from "../../core/answers/hold.ts";
import { withKeptRoom } from "../../core/answers/kept-room.ts";
import type { Block } from "../../core/disruption/candidates.ts";
import { backoffOn } from "../../core/disruption/failed-pools.ts";
import { Ledger } from "../../core/disruption/ledger.ts";
import type { Picture } from "../../core/disruption/make-round.ts";
import { movesOn } from "../../core/disruption/moves.ts";
import { outcomeOn } from "../../core/disruption/outcome.ts";
import { pauseOf } from "../../core/disruption/pause.ts";
import { recordOf } from "../../core/disruption/record.ts";
import { roundSettings } from "../../core/disruption/round.ts";
import { createSimulator } from "../../core/disruption/simulate.ts";
import { kindText } from "../../core/nodepool/no-pools.ts";
import { type Surge, surgeOf, surgeProblem, type Workloads } from "../../core/termination/surge.ts";
import { settingsOf } from "../../operator/create-operator.ts";
import { parseOptions } from "../../operator/settings/parse-options.ts";
import { settingFlags } from "../controller/setting-flags.ts";
import type { Cloud } from "../plan/aws-catalogue.ts";
import { type Found, readDocuments } from "../plan/documents.ts";
import { factsIn, type ReadFacts, settingsWith } from "../plan/facts.ts";
import { DEVICE_KINDS, SELECTING } from "../plan/live-cluster.ts";
import { type Manifests, sortManifests } from "../plan/manifests.ts";
import { type PlannedState, type PlanningInput, planningInput } from "../plan/planning-input.ts";
import { cloudOf, liveObjects, type ReadLive } from "../plan/sources.ts";
import { CliError } from "../program/cli-error.ts";
import { NO_OBJECTS } from "../program/no-input.ts";
import { lostNodesOf, nominationsOf, waitsOf } from "./event-facts.ts";
import { keptRoomInSteps } from "./kept-room.ts";
import { repairRules } from "./repair-rules.ts";

/** The flags that say what to read. All commands that read a cluster share them. */
export interface PictureFlags {
  readonly filename?: readonly string[];
  readonly cluster?: true;
  readonly instanceTypes?: string;
  readonly region?: string;
  /** Settings of the controller, as `name=value`. */
  readonly setting?: readonly string[];
  /** The time for which the question is answered, in RFC 3339. */
  readonly at?: string;
}

/** The cluster as read from files or an API server, and notes on what is missing. */
export interface ReadPicture {
  readonly picture: Picture;
  readonly manifests: Manifests;
  readonly planning: PlanningInput;
  readonly settings: Settings;
  readonly notes: readonly string[];
  /** Why pods lost their planned node, by pod key. Read from events. */
  readonly lostNodes: ReadonlyMap<string, string>;
  /** For what Nodes and claims wait, by name. Read from events. */
  readonly waits: ReadonlyMap<string, readonly string[]>;
  /** Finds a pod by key. Set for a live cluster, where `manifests` has only the pods without a node. */
  readonly podOf?: (key: string) => Pod | undefined;
}

/** The objects that were read, and the time for which the answer holds. */
export interface ReadObjects {
  readonly found: readonly Found[];
  readonly notes: readonly string[];
  readonly settings: Settings;
  readonly nowMs: number;
  /** Settings and prices of the running Karpenter. */
  readonly facts: ReadFacts | undefined;
  /** Whether objects were read from a cluster. */
  readonly isLive: boolean;
}

const NO_FACTS = "no ConfigMap karpenter-facts: default settings of the controller are assumed";
/** The note for answers about launches in a live cluster. */
const UNTOLD =
  "not known here: which offerings recently had no capacity (only the running controller knows)";

/**
 * Reads objects from files or from a cluster. `live`: the function that reads the cluster. Throws CliError for bad
 * input.
 */
export async function readObjects(
  flags: PictureFlags,
  live: ReadLive = liveObjects,
): Promise<ReadObjects> {
  // Reads the current cluster unless files are given, as kubectl does.
  const readsCluster = flags.cluster === true || flags.filename === undefined;
  const clock = new SystemClock();
  const given = settingFlags(flags.setting ?? []);
  const settingsBy = (facts: ReadFacts | undefined) => {
    const { flags: told, notes } = settingsWith(facts, given);
    const isTold = Object.keys(told).length > 0;
    const used = facts || isTold ? { where: "--setting", ...facts, settings: told } : undefined;
    return { settings: settingsOf(parseOptions(told, {})), notes, used };
  };
  const further = (facts: ReadFacts | undefined) => {
    const selecting = (settingsBy(facts).settings.defaultSpread ?? []).length > 0 ? SELECTING : [];
    const { compileSelector, readsRecommendations } = settingsBy(facts).settings;
    const devices = compileSelector === undefined ? [] : DEVICE_KINDS;
    const recommending = readsRecommendations === true ? [VERTICAL_POD_AUTOSCALER as Kind] : [];
    return [EVENT, DEPLOYMENT as Kind, ...selecting, ...devices, ...recommending];
  };
  const there = readsCluster
    ? await live(clock, further)
    : { found: [], notes: [], nowMs: clock.now() };
  const nowMs = flags.at === undefined ? there.nowMs : instant(flags.at);
  const found = [...there.found, ...readDocuments(flags.filename ?? [])];
  const facts = factsIn(found);
  const { settings, notes: ofSettings, used } = settingsBy(facts);
  const notes = [...there.notes, ...ofSettings];
  if (found.length === 0) notes.push(NO_OBJECTS);
  if (readsCluster && facts === undefined) notes.push(NO_FACTS);
  return { found, notes, settings, nowMs, facts: used, isLive: readsCluster };
}

/** What an answer about launches does not know. */
export function launchNotes({ isLive }: Pick<ReadObjects, "isLive">): readonly string[] {
  return isLive ? [UNTOLD] : [];
}

/** The last functions that were made for moves without downtime. */
export interface KeptSurges {
  last: Surges | undefined;
}

/** Data that is kept from one reading of a cluster to the next. */
export interface KeptData extends Pick<ReadPicture, "podOf"> {
  readonly surges?: KeptSurges;
  readonly state: PlannedState | undefined;
  cloud(manifests: Manifests, facts: ReadFacts | undefined): Promise<Cloud>;
}

/**
 * Builds the picture. `withRoom` adds the room that CapacityBuffers keep. Throws CliError for the first object that
 * the API server would refuse.
 */
export async function readPicture(
  flags: PictureFlags,
  objects: ReadObjects,
  { withRoom = false }: { readonly withRoom?: boolean } = {},
): Promise<ReadPicture> {
  return pictureFrom(flags, sortManifests(objects.found), { ...objects, withRoom });
}

interface MoreObjects extends ReadObjects {
  readonly kept?: KeptData;
  readonly withRoom?: boolean;
  /** Runs the plan for the room of CapacityBuffers. Absent: in one go. */
  readonly run?: StepRunner;
}

/**
 * Like {@link readPicture}, for objects that are already sorted by kind. `kept`: cluster state and cloud that the
 * caller keeps from one picture to the next.
 */
export async function pictureFrom(
  flags: PictureFlags,
  manifests: Manifests,
  { found, notes, settings, nowMs, facts, kept, withRoom = false, run = inOneGo }: MoreObjects,
): Promise<ReadPicture> {
  const promises = nominationsOf(found, kept?.state?.unboundPods() ?? manifests.pods, settings);
  const planning = nominated(
    await planningOf(
      manifests,
      kept ?? { state: undefined, cloud: (read, told) => cloudOf(flags, read, told) },
      { settings, nowMs, facts, withRoom },
    ),
    promises,
  );
  const workloads = [...manifests.workloads, ...manifests.liveWorkloads];
  const picture = withKeptRoom(
    pictureOf({ ...manifests, workloads }, planning, settings, kept),
    await run(keptRoomInSteps(planning, settings.planner)),
  );
  const lostNodes = lostNodesOf(found);
  return {
    picture,
    manifests,
    planning,
    settings,
    notes: [...planning.warnings, ...planning.notes, ...notes],
    lostNodes,
    waits: waitsOf(found),
    ...(kept?.podOf === undefined ? {} : { podOf: kept.podOf }),
  };
}

const inOneGo: StepRunner = async (steps) => atOnce(steps);

/** The planning input with nominations from events. */
function nominated(planning: PlanningInput, until: ReadonlyMap<string, number>): PlanningInput {
  if (until.size === 0) return planning;
  const nodes = planning.input.nodes.map((node) => {
    const ends = [node.name, node.claim?.metadata.name ?? node.name].map((one) => until.get(one));
    const nominatedUntilMs = Math.max(node.nominatedUntilMs, ...ends.map((ms) => ms ?? 0));
    return nominatedUntilMs === node.nominatedUntilMs ? node : { ...node, nominatedUntilMs };
  });
  return { ...planning, input: { ...planning.input, nodes } };
}

const BUFFERS_OFF =
  "CapacityBuffers have no effect: their feature gate is off (--setting feature-gates=CapacityBuffer=true)";
const BUFFERS_LEFT_OUT = "CapacityBuffers are left out: their room counts as free here";
const OVERLAYS_OFF =
  "NodeOverlays have no effect: their feature gate is off (--setting feature-gates=NodeOverlay=true)";

async function planningOf(
  manifests: Manifests,
  kept: KeptData,
  {
    settings,
    nowMs,
    facts,
    withRoom,
  }: Pick<ReadObjects, "settings" | "nowMs" | "facts"> & {
    readonly withRoom: boolean;
  },
): Promise<PlanningInput> {
  const cloud = await kept.cloud(manifests, facts);
  const wanted = { ...settings, poolNames: [] };
  const { gates } = settings;
  const isLaid = gates.nodeOverlay || manifests.overlays.length === 0;
  const isKept = withRoom && gates.capacityBuffer;
  const planning = await planningInput(
    {
      ...manifests,
      ...(isLaid ? {} : { overlays: [] }),
      ...(isKept ? {} : { buffers: [] }),
    },
    cloud,
    wanted,
    { nowMs, kept: kept.state },
  );
  const unkept = gates.capacityBuffer ? BUFFERS_LEFT_OUT : BUFFERS_OFF;
  const off = [
    ...(isLaid ? [] : [OVERLAYS_OFF]),
    ...(isKept || manifests.buffers.length === 0 ? [] : [unkept]),
  ];
  return off.length === 0 ? planning : { ...planning, notes: [...planning.notes, ...off] };
}

type PictureManifests = Pick<
  Manifests,
  "pools" | "budgets" | "claims" | "workloads" | "volumeClaims"
>;

type PicturePlanning = Pick<PlanningInput, "input" | "pools" | "foreign" | "owners" | "seats">;

/** Builds the same picture that the controller builds from its mirrors. */
export function pictureOf(
  { pools: natives, budgets, claims, workloads, volumeClaims }: PictureManifests,
  { input, pools, foreign, owners, seats }: PicturePlanning,
  settings: Settings,
  kept: Pick<KeptData, "surges"> = {},
): Picture {
  const stored = new Map(natives.map((native) => [toPool(native).id, native]));
  const recorded = recordedIn(claims);
  const underWay = new Set(
    recorded
      .filter((claim) => recordOf(claim) !== undefined)
      .map(({ status }) => status?.providerID),
  );
  const ledger = new Ledger(settings.restraint);
  ledger.learn(recorded, input.nowMs);
  for (const [id, native] of stored) {
    const outcome = outcomeOn(native);
    if (outcome !== undefined) ledger.setOutcome(id, outcome);
  }
  const { surge, movesFirst } = surgesOf({ workloads, volumeClaims }, settings, kept.surges);
  return {
    nowMs: input.nowMs,
    nodes: input.nodes,
    pools: pools.filter(({ pool }) => owners.has(pool.id)),
    scheduling: input,
    simulator: createSimulator(input),
    staticPools: pools
      .filter(({ pool }) => pool.replicas !== undefined && !pool.deleting)
      .filter(() => settings.gates.staticCapacity),
    pdbs: budgets,
    seats,
    queued: queuedIn(input.nodes, underWay),
    backingOff: waitsOn(stored, input.nowMs),
    paused: (pool) => {
      if (foreign.has(pool.id)) return leftAlone(pool);
      const native = stored.get(pool.id);
      const named = native === undefined ? undefined : { ...native, kind: poolKind(pool).kind };
      return pauseOf(named, settings.pauseDisruption);
    },
    movesFirst,
    surgeProblem: (pod) => surgeProblem(surge(pod)),
    clusterBudgets: settings.clusterBudgets,
    expiry: settings.expiry,
    initializationTimeoutMs: settings.initializationTimeoutMs,
    ledger,
    settings: roundSettings(settings, repairRules(input.nodes, settings)),
  };
}

/** Claims with records, by list. The console reads the same list for each scene, and few claims have a record. */
const recordedLists = new WeakMap<readonly NodeClaim[], readonly NodeClaim[]>();

/** The claims that a running command removes, and those that know of earlier moves. */
function recordedIn(claims: readonly NodeClaim[]): readonly NodeClaim[] {
  return within(recordedLists, claims, () =>
    claims.filter((claim) => recordOf(claim) !== undefined || movesOn(claim).length > 0),
  );
}

function queuedIn(
  nodes: Picture["nodes"],
  underWay: ReadonlySet<string | undefined>,
): ReadonlySet<string> {
  if (underWay.size === 0) return new Set();
  return new Set(
    nodes
      .filter(({ providerId }) => providerId !== undefined && underWay.has(providerId))
      .map(({ name }) => name),
  );
}

/** How pods are moved without downtime. Results are cached by the identity of `movesFirst`. */
export interface Surges {
  readonly surge: (pod: Pod) => Surge;
  readonly movesFirst: Picture["movesFirst"];
  /** The objects and settings on which the answers depend. */
  readonly of: readonly unknown[];
}

/** One function object for all calls, because results are cached by its identity. */
const NONE_FIRST = (): boolean => false;

/** Returns the kept functions as long as all objects are the same. */
function surgesOf(
  { workloads, volumeClaims }: Pick<PictureManifests, "workloads" | "volumeClaims">,
  settings: Settings,
  kept: KeptSurges = { last: undefined },
): Surges {
  const { surgeTimeoutMs, surgeNamespaces } = settings;
  const of = [surgeTimeoutMs, ...surgeNamespaces, workloads.length, ...workloads, ...volumeClaims];
  if (kept.last !== undefined && haveSameItems(kept.last.of, of)) return kept.last;
  const known = { ...workloadsFrom(workloads, volumeClaims), surgeNamespaces };
  const surge = (pod: Pod): Surge => (surgeTimeoutMs > 0 ? surgeOf(pod, known) : { kind: "none" });
  const movesFirst = surgeTimeoutMs > 0 ? (pod: Pod) => surge(pod).kind === "able" : NONE_FIRST;
  kept.last = { surge, movesFirst, of };
  return kept.last;
}

/** Pools (by id) that get no replacements now because some failed, and until when. */
function waitsOn(stored: ReadonlyMap<string, KubeObject>, nowMs: number): Map<string, number> {
  const waits = new Map<string, number>();
  for (const [id, native] of stored) {
    const untilMs = backoffOn(native, nowMs)?.untilMs ?? nowMs;
    if (untilMs > nowMs) waits.set(id, untilMs);
  }
  return waits;
}

function workloadsFrom(
  workloads: readonly KubeObject[],
  volumeClaims: readonly PersistentVolumeClaim[],
): Omit<Workloads, "surgeNamespaces"> {
  const deployments = workloads.filter((one): one is Deployment => one.kind === DEPLOYMENT.kind);
  const byKey = new Map(deployments.map((one) => [keyOf(one), one]));
  const claims = new Map(volumeClaims.map((one) => [keyOf(one), one]));
  return { deployment: (key) => byKey.get(key), volumeClaim: (key) => claims.get(key) };
}

function instant(text: string): number {
  const ms = fromRfc3339(text);
  if (ms === undefined)
    throw new CliError(`--at: wanted a time such as 2026-01-31T08:00:00Z, got "${text}"`);
  return ms;
}

/** The block on nodes of a pool that belongs to another provider. */
function leftAlone(pool: Pool): Block {
  const message = `it is left to another provider, which serves its node class (${kindText(pool.classRef)})`;
  return { kind: "otherProvider", message, by: poolObject(pool) };
}
