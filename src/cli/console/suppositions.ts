/**
 * Answers a what-if question of the console: the answer of `karpenter simulate`, the nodes before and after, and
 * the command line for the same question.
 */
import { DEPLOYMENT, type Deployment } from "../../apis/apps/kinds.ts";
import { WRITTEN_POOL_ANNOTATION_KEYS } from "../../apis/karpenter/labels.ts";
import { type KubeObject, keyOf } from "../../apis/meta.ts";
import { eachInSteps, type StepRunner, type Steps, stepRunner } from "../../base/steps.ts";
import { SystemClock } from "../../base/system-clock.ts";
import { commandLine } from "../../console/command-line.ts";
import type { Editable, SimulationFollower, Supposition } from "../../console/source.ts";
import { mapViewInSteps } from "../../console/views/map.ts";
import type { MapRow } from "../../console/views/map-row.ts";
import { fleetOf } from "../../core/answers/fleet.ts";
import {
  type BufferRoom,
  bufferRoom,
  keptRoomOf,
  roomCounts,
} from "../../core/answers/kept-room.ts";
import type { Model } from "../../core/answers/model.ts";
import { type RehearsalProgress, unlessOver } from "../../core/answers/rehearsal-progress.ts";
import { writeYaml } from "../../readers/write-yaml.ts";
import type { ReadPicture } from "../answers/read-picture.ts";
import { parseScales } from "../answers/scales.ts";
import { leftOut, modelOf, type Simulated, simulationInSteps } from "../answers/simulate.ts";
import { nodesToRemove, parsePrices, withOfferings } from "../answers/what-if.ts";
import { type Found, objectsOf } from "../plan/documents.ts";
import { sortManifests } from "../plan/manifests.ts";
import { CliError } from "../program/cli-error.ts";
import { type SceneMoment, supposedPicture, withKeptRoom } from "./supposed-picture.ts";

/** How far consolidation is simulated, as in `karpenter simulate` without `--horizon`. */
const HORIZON_MS = 24 * 3_600_000;

/** The answer, with more data for the page. */
export interface SupposedAnswer extends Simulated {
  readonly notes: readonly string[];
  readonly commandLine: string;
  /** The room that CapacityBuffers have before the change. Absent: there are none. */
  readonly headroomBefore?: readonly BufferRoom[];
  /** Rows of the map before the change, by node name. */
  readonly nodesBefore: Readonly<Record<string, MapRow>>;
  /** Rows of the map that are new or changed, and names of removed nodes. */
  readonly nodesAfter: {
    readonly set: Readonly<Record<string, MapRow>>;
    readonly del: readonly string[];
  };
}

/** Milliseconds after which other work may run. */
const TURN_MS = 5;

/**
 * Milliseconds after the question at which a simulated consolidation is stopped, so that a page does not wait for many
 * minutes. In a terminal it has no such limit. The work before and after consolidation has no limit, nor has a question
 * without consolidation: half of it would be no answer. The page can cancel it.
 */
const LONGEST_MS = 60_000;

interface AskedHow {
  readonly moment: SceneMoment;
  readonly asker: SimulationFollower;
  /** Default: {@link LONGEST_MS}. */
  readonly longestMs?: number;
}

/** Answers the question in turns, so that other work can run. Throws CliError. */
export async function supposed(
  read: ReadPicture,
  asked: Supposition,
  { moment, asker, longestMs = LONGEST_MS }: AskedHow,
): Promise<SupposedAnswer> {
  const clock = new SystemClock();
  const runner = stepRunner(clock, TURN_MS);
  const run: StepRunner = (steps) => runner(whileWanted(steps, asker));
  const begunMs = clock.elapsedMs();
  const watch = {
    isOver: () => clock.elapsedMs() - begunMs >= longestMs,
    tell: (progress: RehearsalProgress) =>
      asker.tell({ ...progress, elapsedMs: clock.elapsedMs() - begunMs, longestMs }),
  };
  const { nodes, zones, consolidate } = asked;
  const prices = parsePrices(asked.prices ?? []);
  const pools = poolsIn(asked.pools ?? "");
  const scales = parseScales(asked.scales ?? []);
  const before = await withKeptRoom(read, { moment, run });
  const changed = await supposedPicture(before, { pools, scales }, { moment, run });
  const today = modelOf(before);
  const drained = new Set(zones);
  const start = withOfferings(modelOf(changed), prices, drained);
  const removed = nodesToRemove(start.picture, nodes, drained);
  const supposal = { removed, zones, consolidate, horizonMs: HORIZON_MS, repairs: false, watch };
  const { answer, after } = await run(simulationInSteps(today, start, supposal, changed.settings));
  const rows = await run(rowsOf(today));
  const nodesAfter = await run(difference(rows, await run(rowsOf(after))));
  const headroom = bufferRoom(today.picture);
  return {
    ...answer,
    ...(headroom.length === 0 ? {} : { headroomBefore: headroom }),
    notes: [...changed.notes, ...(await run(leftOut(start, answer)))],
    commandLine: commandLine(asked),
    nodesBefore: Object.fromEntries(rows),
    nodesAfter,
  };
}

/** Runs the steps while somebody waits for their result. Throws CliError when nobody does. */
function* whileWanted<T>(steps: Steps<T>, { isGone }: SimulationFollower): Steps<T> {
  let isCancelled = false;
  const value = yield* unlessOver(steps, () => {
    isCancelled = isGone();
    return isCancelled;
  });
  if (isCancelled) throw new CliError("the question was cancelled");
  return value as T;
}

/** The name of the editor's text in error messages. */
const EDITOR = "NodePool";

function poolsIn(text: string): readonly Found[] {
  return text.trim() === "" ? [] : objectsOf(EDITOR, text);
}

/** Errors of the API server for these NodePools, one sentence each. Empty: none. */
export function poolProblems(text: string): readonly string[] {
  try {
    const found = poolsIn(text);
    if (found.length === 0) return ["The text is empty: write a NodePool, or reset it."];
    const other = found.find(({ object }) => !POOL_KINDS.includes(object.kind ?? ""));
    if (other !== undefined)
      return [`${other.where}: kind: "${other.object.kind}": wanted NodePool or Provisioner`];
    sortManifests(found);
    return [];
  } catch (error) {
    if (error instanceof CliError) return error.problems;
    throw error;
  }
}

const POOL_KINDS = ["NodePool", "Provisioner"];

/** The objects that a page can choose and edit. */
export function editable({ manifests, planning }: ReadPicture): Editable {
  const deployments = manifests.liveWorkloads.filter(({ kind }) => kind === DEPLOYMENT.kind);
  return {
    pools: manifests.pools.map((pool) => ({
      kind: pool.kind ?? "NodePool",
      name: pool.metadata.name,
      yaml: writeYaml(asWritten(pool)),
    })),
    workloads: deployments.map((one) => ({
      workload: keyOf(one),
      replicas: (one as Deployment).spec.replicas ?? 1,
    })),
    types: [
      ...new Set(
        planning.pools.flatMap(({ instanceTypes }) => instanceTypes.map(({ name }) => name)),
      ),
    ].sort(),
  };
}

const LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration";

/** The pool without fields that the API server and controllers write. */
function asWritten(pool: KubeObject & { readonly spec?: unknown }): unknown {
  const { name, labels, annotations = {} } = pool.metadata;
  const own = Object.entries(annotations).filter(
    ([key]) => key !== LAST_APPLIED && !WRITTEN_POOL_ANNOTATION_KEYS.has(key),
  );
  return {
    apiVersion: pool.apiVersion,
    kind: pool.kind,
    metadata: {
      name,
      ...(labels === undefined ? {} : { labels }),
      ...(own.length === 0 ? {} : { annotations: Object.fromEntries(own) }),
    },
    spec: pool.spec,
  };
}

/** An empty plan, because pending pods are shown elsewhere. */
const NO_PLAN = { existing: [], newClaims: [], unschedulable: [], excludedByLimits: [] };

function* rowsOf(model: Model): Steps<ReadonlyMap<string, MapRow>> {
  const fleet = yield* fleetOf(model, NO_PLAN);
  yield;
  const room = roomCounts(keptRoomOf(model.picture));
  yield;
  return (yield* mapViewInSteps(fleet, { room })).rows;
}

function* difference(
  before: ReadonlyMap<string, MapRow>,
  after: ReadonlyMap<string, MapRow>,
): Steps<SupposedAnswer["nodesAfter"]> {
  const others: [string, MapRow][] = [];
  yield* eachInSteps([...after], ([name, row]) => {
    if (JSON.stringify(row) !== JSON.stringify(before.get(name))) others.push([name, row]);
  });
  return {
    set: Object.fromEntries(others),
    del: [...before.keys()].filter((name) => !after.has(name)),
  };
}
