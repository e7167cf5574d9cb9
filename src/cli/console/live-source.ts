/**
 * The console's source on a live cluster, real or simulated: what `karpenter explain`, `top` and `plan` say, read from
 * watches instead of by new lists. The cluster is read anew only when something changed, or when time alone may have
 * changed an answer.
 */
import { EVENT, type Event } from "../../apis/core/kinds.ts";
import { keyOf } from "../../apis/meta.ts";
import { SystemClock } from "../../base/system-clock.ts";
import type {
  Act,
  ConsoleQuestion,
  ConsoleScene,
  ConsoleSource,
  Supposition,
  UnplacedPod,
} from "../../console/source.ts";
import { fleetOf } from "../../core/answers/fleet.ts";
import { commandAnswers } from "../../core/answers/node-answer.ts";
import { poolAnswer } from "../../core/answers/pool-answer.ts";
import { nextCommands } from "../../core/disruption/run-round.ts";
import { remedies } from "../../core/provisioning/refusals/remedy.ts";
import { brakeOf, explain, subjectOf } from "../answers/explain.ts";
import {
  type ReadObjects,
  type ReadPicture,
  readObjects,
  readPicture,
} from "../answers/read-picture.ts";
import { modelOf, type Simulated, simulate } from "../answers/simulate.ts";
import { nodesToRemove, withOfferings } from "../answers/what-if.ts";
import { planOf } from "../plan/plan.ts";
import { playBatch, settledPlan } from "../plan/played-batch.ts";
import { objectsOf } from "../plan/sources.ts";
import { CliError } from "../program/cli-error.ts";
import {
  type MirroredCluster,
  type MirroredDoors,
  openMirroredCluster,
} from "./mirrored-cluster.ts";

export interface LiveSourceOptions extends MirroredDoors {
  readonly name: string;
  readonly mode: ConsoleSource["mode"];
  /** By the cluster's clock. */
  readonly nowMs: () => number | Promise<number>;
  /** Said with every scene. */
  readonly notes?: readonly string[];
  readonly acts?: readonly Act[];
  readonly act?: ConsoleSource["act"];
}

/** Waits, windows of budgets and nominations end by themselves: real milliseconds until all is read again. */
const STALE_MS = 10_000;

/** How far consolidation is played, as `karpenter simulate` does without `--horizon`. */
const HORIZON_MS = 24 * 3_600_000;

/** Watches open when the first page connects, and end after the last one has left. */
export function liveSource(options: LiveSourceOptions): ConsoleSource {
  const clock = new SystemClock();
  let cluster: MirroredCluster | undefined;
  let last:
    | { readonly scene: ConsoleScene; readonly changes: number; readonly readMs: number }
    | undefined;
  return {
    name: options.name,
    mode: options.mode,
    acts: options.acts ?? [],
    act: options.act ?? (() => Promise.reject(new CliError("nothing can be done here"))),
    open: () => {
      cluster ??= openMirroredCluster(options);
      return () => {
        cluster?.close();
        cluster = undefined;
        last = undefined;
      };
    },
    scene: async () => {
      if (cluster === undefined) throw new CliError("the cluster is not being watched");
      const changes = cluster.changes();
      const readMs = clock.elapsedMs();
      if (last !== undefined && last.changes === changes && readMs - last.readMs < STALE_MS)
        return last.scene;
      const scene = await readScene(cluster.client, options);
      last = { scene, changes, readMs };
      return scene;
    },
  };
}

async function readScene(
  client: MirroredCluster["client"],
  options: LiveSourceOptions,
): Promise<ConsoleScene> {
  const objects = await readObjects({ cluster: true }, async (_, further) => {
    const { found, notes } = await objectsOf(client, further);
    return { found, notes: [...(options.notes ?? []), ...notes], nowMs: await options.nowMs() };
  });
  return sceneOf(await readPicture({}, objects), objects);
}

function sceneOf(read: ReadPicture, { found }: ReadObjects): ConsoleScene {
  const { picture, settings, planning } = read;
  const plan = once(() => playBatch(picture.scheduling, settings.planner).result);
  const next = once(() => nextCommands(picture));
  return {
    nowMs: picture.nowMs,
    notes: read.notes,
    events: found.flatMap(({ object }) => (object.kind === EVENT.kind ? [object as Event] : [])),
    fleet: once(() => fleetOf(modelOf(read), plan())),
    pools: once(() => {
      const aside = { next: next(), brake: brakeOf(read) };
      return planning.pools.map(({ pool }) => poolAnswer(picture, pool, aside));
    }),
    next: once(() => commandAnswers(next())),
    unplaced: once(() => unplacedOf(read, plan())),
    explain: (question) => explained(read, question),
    simulate: (supposition) => simulated(read, supposition),
  };
}

function unplacedOf(
  { planning: { input } }: ReadPicture,
  result: ReturnType<typeof playBatch>["result"],
): readonly UnplacedPod[] {
  if (result.unschedulable.length === 0) return [];
  const timings = { parseMs: 0, solveMs: 0 };
  const known = remedies(input, result, settledPlan);
  const plan = planOf(result, input.pods.length, timings, { remedies: known, input });
  const made = new Map(input.pods.map((pod) => [keyOf(pod), pod.metadata.creationTimestamp]));
  return plan.unschedulable.map(({ pod, reason, fix }) => ({
    pod,
    since: made.get(pod),
    reason,
    fix: fix?.text,
  }));
}

function explained(read: ReadPicture, { kind, name, namespace }: ConsoleQuestion): unknown {
  const { subject, name: known } = subjectOf([kind, name]);
  if (known === undefined) throw new CliError(`which ${subject}? Say its name`);
  return explain(read, { subject, name: known }, namespace);
}

/** As `karpenter simulate --remove-node --drain-zone --consolidate`. */
function simulated(read: ReadPicture, { nodes, zones, consolidate }: Supposition): Simulated {
  const drained = new Set(zones);
  const before = modelOf(read);
  const start = withOfferings(before, [], drained);
  const removed = nodesToRemove(start.picture, nodes, drained);
  return simulate(
    before,
    start,
    { removed, zones, consolidate, horizonMs: HORIZON_MS },
    read.settings,
  );
}

function once<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}
