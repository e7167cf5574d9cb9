/**
 * One moment of a live cluster: the answers of `karpenter explain`, `top` and `plan`, from cluster state that
 * watches keep up to date. Long computations run in steps, and pause after they ran.
 */
import { EVENT, type Event } from "../../apis/core/kinds.ts";
import { NODE } from "../../apis/core/node.ts";
import { POD } from "../../apis/core/pod.ts";
import { isTrue } from "../../apis/karpenter/conditions.ts";
import { controllerOf, type Kind, keyOf } from "../../apis/meta.ts";
import { haveSameItems } from "../../base/same-items.ts";
import { inTurns, mapInSteps, type Steps, TURN_MS } from "../../base/steps.ts";
import { SystemClock } from "../../base/system-clock.ts";
import type {
  ConsoleCosts,
  ConsolePool,
  ConsoleQuestion,
  ConsoleScene,
  UnplacedPod,
} from "../../console/source.ts";
import { listedNodesInSteps } from "../../console/views/node-groups.ts";
import type { CommandAnswer } from "../../core/answers/command-answer.ts";
import { workloadCosts } from "../../core/answers/costs.ts";
import { remediesInSteps } from "../../core/answers/fixes/remedy.ts";
import { type Fleet, fleetOf, waitsSince } from "../../core/answers/fleet.ts";
import { keptRoomOf, roomCounts } from "../../core/answers/kept-room.ts";
import { leastPriceOf } from "../../core/answers/least-price.ts";
import {
  movesUnderWay,
  NO_MOVES,
  type SeenLeaving,
  seenLeaving,
  willBeRemoved,
} from "../../core/answers/moves-under-way.ts";
import { commandAnswers } from "../../core/answers/node-answer.ts";
import { playPassesInSteps } from "../../core/answers/planning-passes.ts";
import { type PoolAside, poolAnswer } from "../../core/answers/pool-answer.ts";
import { sharedReason } from "../../core/answers/shared-reason.ts";
import { weekOf } from "../../core/answers/week.ts";
import { type FoundCommands, nextCommands } from "../../core/disruption/run-round.ts";
import type { PlannedBatch } from "../../core/planner/plan-batch.ts";
import { solveInSteps } from "../../core/provisioning/solve.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { brakeOf, explain, subjectOf } from "../answers/explain.ts";
import {
  type KeptData,
  type KeptSurges,
  pictureFrom,
  type ReadPicture,
  readObjects,
} from "../answers/read-picture.ts";
import { modelOf } from "../answers/simulate.ts";
import { sortManifests } from "../plan/manifests.ts";
import { planOf } from "../plan/plan.ts";
import { playBatchInSteps } from "../plan/played-batch.ts";
import { reasonWords } from "../plan/reason-words.ts";
import { objectsOf } from "../plan/sources.ts";
import { CliError } from "../program/cli-error.ts";
import { holdWords } from "../program/code-words.ts";
import { type FixPatch, fixPatch } from "./fix-patches.ts";
import type { keptCloud } from "./kept-cloud.ts";
import { KEPT_KINDS, type MirroredCluster } from "./mirrored-cluster.ts";
import { PROCESSOR, Rested } from "./rested.ts";
import { type SceneMoment, withKeptRoom } from "./supposed-picture.ts";
import { editable, poolProblems, supposed } from "./suppositions.ts";

/** Long computations whose results are used in several scenes. */
export class LongWork {
  /** Milliseconds of work for all scenes, since the start. The pause before the next scene depends on it. */
  workedMs = 0;
  readonly fleet: Rested<Fleet>;
  readonly costs: Rested<ConsoleCosts>;
  readonly plan: Rested<PlannedBatch>;
  readonly next: Rested<FoundCommands | undefined>;
  readonly pools: Rested<readonly ConsolePool[]>;
  readonly unplaced: Rested<readonly UnplacedPod[]>;
  readonly room: Rested<ReadonlyMap<string, number>>;
  leaving: SeenLeaving = new Map();
  readonly surges: KeptSurges = { last: undefined };
  /** The last fleet. What did not change is reused. */
  lastFleet: Fleet | undefined;
  /** The same list until one of the budgets changes, because results are cached by the list. */
  budgets: ReadPicture["manifests"]["budgets"] = [];
  /** Nodes of the last scene. Unchanged ones are reused. */
  nodes: ReadPicture["picture"]["nodes"] = [];

  constructor(restFactor: number) {
    this.fleet = new Rested(restFactor, (ms) => {
      this.workedMs += ms;
    });
    this.costs = new Rested(restFactor);
    this.plan = new Rested(restFactor);
    this.next = new Rested(restFactor);
    this.pools = new Rested(restFactor);
    this.unplaced = new Rested(restFactor);
    this.room = new Rested(restFactor);
  }
}

export interface SceneDoors {
  readonly cluster: MirroredCluster;
  readonly cloud: ReturnType<typeof keptCloud>;
  readonly long: LongWork;
  /** The time on the cluster's clock. */
  readonly nowMs: () => number | Promise<number>;
  /** Notes that are in every scene. */
  readonly notes: readonly string[];
}

/**
 * With more pods, a page shows nodes before pods are listed. A list of so many takes about a tenth of a second, which
 * nobody notices.
 */
const FEW_PODS = 2_000;

/**
 * Reads a scene. Its processor time, without requests to the server, is added to {@link LongWork.workedMs}. `early`:
 * returns a scene without pods if there are many, and does not list them.
 */
export async function readScene(doors: SceneDoors, early = false): Promise<ConsoleScene> {
  const { cluster, cloud, long } = doors;
  const objects = await readObjects({ cluster: true }, async (_, further) => {
    const { found, notes } = await objectsOf(withoutKept(cluster), further);
    return { found, notes: [...doors.notes, ...notes], nowMs: await doors.nowMs() };
  });
  if (!early || (await cluster.count(POD)) <= FEW_PODS) await cluster.watched(POD);
  const isWhole = cluster.isWatched(POD);
  const recommends = objects.settings.readsRecommendations === true;
  const state = await cluster.state((ms) => {
    long.workedMs += ms;
  }, recommends);
  const begunMs = PROCESSOR.elapsedMs();
  const events = cluster.objects<Event>(EVENT);
  const sorted = sortManifests(objects.found);
  if (!haveSameItems(long.budgets, sorted.budgets)) long.budgets = sorted.budgets;
  const manifests = {
    ...sorted,
    nodes: cluster.objects(NODE),
    claims: cluster.claims(),
    // Bound pods are already in the views of their nodes.
    pods: state.unboundPods(),
    budgets: long.budgets,
  };
  const kept: KeptData = {
    state,
    // Only unbound pods are needed to find the region, because the zone of a bound pod is that of its node.
    cloud: (of, facts) => cloud({ ...of, pods: state.unboundPods() }, facts),
    podOf: (key) => cluster.object(POD, key),
    surges: long.surges,
  };
  const told = events.map((object) => ({ where: "", object, live: true as const }));
  const read = await pictureFrom({}, manifests, { ...objects, found: told, kept });
  const unboundPods = state.unboundPods();
  const moment: SceneMoment = {
    objects: { ...objects, found: told },
    cloud: (of, facts) => cloud({ ...of, pods: unboundPods }, facts),
    unboundPods,
  };
  long.workedMs += PROCESSOR.elapsedMs() - begunMs;
  if (!isWhole) return earlyScene(read, events, () => readScene(doors));
  return sceneOf(read, events, long, moment);
}

/** A scene of nodes without their pods. Its other answers wait for the pods. */
function earlyScene(
  read: ReadPicture,
  events: readonly Event[],
  readWhole: () => Promise<ConsoleScene>,
): ConsoleScene {
  const whole = once(readWhole);
  const clock = new SystemClock();
  const { picture, settings, notes } = read;
  const fleet = once(async () => {
    const played = playBatchInSteps({ ...picture.scheduling, nodes: [] }, settings.planner);
    const { result } = await inTurns(clock, played, TURN_MS);
    return inTurns(clock, fleetOf(modelOf(read), result), TURN_MS);
  });
  return {
    nowMs: picture.nowMs,
    notes,
    events,
    loading: ["pods"],
    fleet,
    moves: async () => NO_MOVES,
    room: async () => NO_ROOM,
    pools: async () => (await whole()).pools(),
    next: async () => (await whole()).next(),
    costs: async () => (await whole()).costs(),
    unplaced: async () => (await whole()).unplaced(),
    nodes: async (question) => (await whole()).nodes(question),
    explain: async (question) => (await whole()).explain(question),
    simulate: async (supposition, asker) => (await whole()).simulate(supposition, asker),
    editable: async () => (await whole()).editable(),
    poolProblems,
  };
}

/**
 * Returns empty lists for kinds that are kept from watches. Otherwise a list of 50,000 pods, which change all the time,
 * would be sorted for each scene.
 */
function withoutKept({
  client,
  count,
  watched,
}: Pick<MirroredCluster, "client" | "count" | "watched">): MirroredCluster["client"] {
  const list: KubeClient["list"] = async (kind, options) => {
    const isKept = KEPT_KINDS.some(
      ({ group, plural }) => group === kind.group && plural === kind.plural,
    );
    // Events of one reason are asked for. The watch has all events.
    const isSome = options?.fieldSelector !== undefined && kind.plural !== EVENT.plural;
    if (!isKept || isSome) return client.list(kind, options);
    // Pods are listed later, because their list is much longer than those of other kinds.
    await (kind.plural === POD.plural ? count(kind as Kind) : watched(kind as Kind));
    return { items: [], resourceVersion: "", kept: true };
  };
  return { ...client, list };
}

const NO_ROOM: ReadonlyMap<string, number> = new Map();

function sceneOf(
  read: ReadPicture,
  events: readonly Event[],
  long: LongWork,
  moment: SceneMoment,
): ConsoleScene {
  const { picture, settings } = read;
  const plan = once(() =>
    long.plan.do(async (run) => {
      const { scheduling } = picture;
      // Without pending pods no node needs to be checked.
      const nodes = scheduling.pods.length === 0 ? [] : scheduling.nodes;
      const played = await run(playBatchInSteps({ ...scheduling, nodes }, settings.planner));
      return played.result;
    }),
  );
  const next = once(() => long.next.do((run) => run(nextCommands(picture))));
  const fleet = once(async () => {
    const planned = await plan();
    const known = await long.fleet.do((run) =>
      run(fleetOf(modelOf(read), planned, long.lastFleet)),
    );
    long.lastFleet = known;
    return known;
  });
  return {
    nowMs: picture.nowMs,
    notes: read.notes,
    events,
    fleet,
    moves: once(async () => {
      const { nodes } = picture;
      const isCalm = !nodes.some(willBeRemoved);
      long.leaving = isCalm ? new Map() : seenLeaving(long.leaving, long.nodes, nodes);
      long.nodes = nodes;
      if (isCalm) return NO_MOVES;
      return movesUnderWay(picture.nodes, await plan(), long.leaving);
    }),
    room: once(async () => {
      if (read.manifests.buffers.length === 0 || !settings.gates.capacityBuffer) return NO_ROOM;
      return long.room.do(async (run) =>
        roomCounts(keptRoomOf((await withKeptRoom(read, { moment, run })).picture)),
      );
    }),
    costs: once(async () => {
      const known = await fleet();
      return long.costs.do((run) => run(costsOf(read, known)));
    }),
    pools: once(async () => {
      const aside = { next: await next(), brake: brakeOf(read), unused: read.planning.unused };
      return long.pools.do((run) => run(poolsOf(read, aside)));
    }),
    next: once(async (): Promise<readonly CommandAnswer[]> => commandAnswers(await next())),
    unplaced: once(async () => {
      const planned = await plan();
      return long.unplaced.do((run) => run(unplacedOf(read, planned)));
    }),
    nodes: async (question) =>
      inTurns(new SystemClock(), listedNodesInSteps(await fleet(), question), TURN_MS),
    explain: async (question) => explained(read, question, await next()),
    simulate: (supposition, asker) => supposed(read, supposition, { moment, asker }),
    editable: async () => editable(read),
    poolProblems,
  };
}

function* poolsOf(
  { picture, planning }: ReadPicture,
  aside: PoolAside,
): Steps<readonly ConsolePool[]> {
  const pools: ConsolePool[] = [];
  for (const input of planning.pools) {
    const { pool } = input;
    const answer = yield* poolAnswer(picture, input, aside);
    const drifted = picture.nodes.filter(
      ({ poolId, claim }) => poolId === pool.id && claim !== undefined && isTrue(claim, "Drifted"),
    );
    const held = answer.held.map((one) => ({ ...one, says: holdWords(one.block) }));
    pools.push({ ...answer, held, week: weekOf(picture, pool), drifted: drifted.length });
  }
  return pools;
}

function* costsOf({ picture, planning }: ReadPicture, fleet: Fleet): Steps<ConsoleCosts> {
  const { workloads, demand } = yield* workloadCosts({ picture }, fleet);
  yield;
  // These nodes exist already, so they cost nothing additional.
  const nodes = picture.nodes.filter(({ claim }) => claim === undefined);
  const pools = planning.pools.filter(({ instanceTypes }) => instanceTypes.length > 0);
  const least = leastPriceOf({ ...picture.scheduling, nodes, pools }, demand);
  return { workloads, ...(least === 0 ? {} : { leastMicroUsdPerHour: least }) };
}

/**
 * Of the pods of one owner with one cause only the first one has the patch of its fix. A patch changes their owner, so
 * it is the same for all, and writing it for thousands takes seconds.
 */
function* unplacedOf(
  { planning: { input }, manifests }: ReadPicture,
  result: PlannedBatch,
): Steps<readonly UnplacedPod[]> {
  if (result.unschedulable.length === 0) return [];
  yield;
  const timings = { parseMs: 0, solveMs: 0 };
  const known = yield* remediesInSteps(input, result, function* (edited) {
    return (yield* playPassesInSteps(edited, solveInSteps)).result;
  });
  yield;
  const plan = planOf(result, input.pods.length, timings, { remedies: known, input });
  const pods = new Map(input.pods.map((pod) => [keyOf(pod), pod]));
  const patched = new Set<string>();
  return yield* mapInSteps(plan.unschedulable, ({ pod: key, reason, fix }) => {
    const pod = pods.get(key);
    const words = reasonWords(sharedReason(reason)).join("; ");
    const cause = JSON.stringify([words, (pod && controllerOf(pod)?.uid) ?? key]);
    const edits = patched.has(cause) ? undefined : known.get(key)?.fix?.edits;
    const patch = pod && edits && fixPatch(edits, pod, manifests);
    if (patch !== undefined) patched.add(cause);
    const since = pod && waitsSince(pod);
    return { pod: key, since, reason: words, fix: fix?.text, ...patchOf(patch) };
  });
}

function patchOf(patch: FixPatch | undefined): Pick<UnplacedPod, "patch" | "byHand"> {
  if (patch === undefined) return {};
  return "lines" in patch ? { patch: patch.lines } : { byHand: patch.byHand };
}

function explained(
  read: ReadPicture,
  { kind, name, namespace }: ConsoleQuestion,
  next: FoundCommands | undefined,
): unknown {
  const { subject, name: known } = subjectOf([kind, name]);
  if (known === undefined) throw new CliError(`which ${subject}? Say its name`);
  return explain(read, { subject, name: known, next: () => next }, namespace);
}

function once<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined;
  return () => {
    made ??= make();
    return made;
  };
}
