/**
 * Runs `karpenter simulate`: reads the cluster, applies the assumptions, simulates, prints. Changes nothing in the
 * cluster.
 */
import { counted } from "../../base/counted.ts";
import { durationHint, parseDuration } from "../../base/duration.ts";
import { printedLines } from "../../base/printable.ts";
import { atOnce } from "../../base/steps.ts";
import { SystemClock } from "../../base/system-clock.ts";
import type { Model } from "../../core/answers/model.ts";
import { readDocuments } from "../plan/documents.ts";
import { type PlanStreams, STANDARD_STREAMS } from "../plan/run-plan.ts";
import { CliError } from "../program/cli-error.ts";
import { printed } from "../program/manifest-text.ts";
import { type Progress, progressFor } from "../program/progress.ts";
import { PLAIN_SCREEN } from "../program/terminal.ts";
import { isReport, printedReport } from "../report/formats.ts";
import { simulateReport } from "./answer-reports.ts";
import type { AnswerFormat } from "./picture-options.ts";
import {
  launchNotes,
  type PictureFlags,
  pictureFrom,
  readObjects,
  readPicture,
} from "./read-picture.ts";
import { parseScales } from "./scales.ts";
import { leftOut, modelOf, type Simulated, simulation } from "./simulate.ts";
import { simulateText } from "./simulate-text.ts";
import { simulationWatch } from "./simulation-progress.ts";
import { supposedPicture } from "./suppose.ts";
import { strandedPods } from "./unplaced.ts";
import {
  nodesToRemove,
  parsePrices,
  parseUnhealthy,
  poolsIn,
  unknownConditions,
  withOfferings,
  withUnhealthy,
} from "./what-if.ts";

/** Flags of `karpenter simulate`, as the parser gives them. */
export interface SimulateFlags extends PictureFlags {
  readonly removeNode?: readonly string[];
  readonly drainZone?: readonly string[];
  readonly nodepoolFile?: readonly string[];
  readonly add?: readonly string[];
  readonly scale?: readonly string[];
  readonly price?: readonly string[];
  readonly unhealthy?: readonly string[];
  readonly node?: readonly string[];
  readonly consolidate?: true;
  readonly horizon?: string;
  readonly output: AnswerFormat;
}

/**
 * Simulates and prints the answer. Returns the exit code. 2: some pods have no place because of the simulated change;
 * 0: none. Pods that have no place without the change either do not count. Throws CliError for bad input.
 */
export async function runSimulate(
  flags: SimulateFlags,
  { out, err, screen = () => PLAIN_SCREEN }: PlanStreams = STANDARD_STREAMS,
  progress = progressFor(flags.output),
): Promise<number> {
  const { answer, maps, notes } = await played(flags, progress).finally(progress.end);
  if (flags.output === "text") out(simulateText(answer, notes, screen(undefined)));
  else if (isReport(flags.output))
    out(printedReport(simulateReport(answer, maps, notes), flags.output));
  else {
    err(printedLines(notes.map((note) => `karpenter: note: ${note}`)));
    out(printed(answer, flags.output));
  }
  return strandedPods(answer.unplaced).length === 0 ? 0 : 2;
}

const REPAIR_OFF =
  "node repair is no disruption method here: --setting feature-gates=NodeRepair=true, without legacy-node-repair";

interface Played {
  readonly answer: Simulated;
  readonly maps: readonly [before: Model, after: Model];
  readonly notes: readonly string[];
}

async function played(flags: SimulateFlags, progress: Progress): Promise<Played> {
  if (flags.horizon !== undefined && flags.consolidate !== true)
    throw new CliError("--horizon: needs --consolidate, whose time it limits");
  const horizonMs = parseDuration(flags.horizon ?? "24h");
  if (horizonMs === undefined || horizonMs < 0)
    throw new CliError(
      `--horizon: "${flags.horizon}": ${durationHint(flags.horizon ?? "") ?? "wanted a duration such as 24h"}`,
    );
  const prices = parsePrices(flags.price ?? []);
  const scales = parseScales(flags.scale ?? []);
  const conditions = parseUnhealthy(flags.unhealthy ?? []);
  if (flags.node !== undefined && conditions.length === 0)
    throw new CliError("--node: needs --unhealthy, which applies to these nodes");
  progress.stage("reading objects");
  const objects = await readObjects(flags);
  progress.stage(`working out the cluster from ${counted(objects.found.length, "object")}`);
  const room = { withRoom: true };
  const before = await readPicture(flags, objects, room);
  const { pools, notes } = poolsIn(readDocuments(flags.nodepoolFile ?? []));
  const changed = await supposedPicture(
    before,
    {
      pools,
      added: readDocuments(flags.add ?? []),
      scales,
    },
    {
      found: objects.found,
      ofObjects: (found) => readPicture(flags, { ...objects, found }, room),
      ofManifests: (manifests) => pictureFrom(flags, manifests, { ...objects, ...room }),
    },
  );
  const supposed =
    conditions.length === 0
      ? changed
      : await pictureFrom(flags, withUnhealthy(changed, conditions, flags.node ?? []), {
          ...objects,
          ...room,
        });
  const zones = flags.drainZone ?? [];
  const start = withOfferings(modelOf(supposed), prices, new Set(zones));
  const removed = nodesToRemove(start.picture, flags.removeNode ?? [], new Set(zones));
  const consolidate = flags.consolidate === true;
  const today = modelOf(before);
  const { nodes } = start.picture;
  const what = `simulating ${counted(nodes.length, "node")}`;
  const watch = simulationWatch(what, progress, new SystemClock());
  const { answer, after } = simulation(
    today,
    start,
    { removed, zones, consolidate, horizonMs, repairs: conditions.length > 0, watch },
    supposed.settings,
  );
  return {
    answer,
    maps: [today, after],
    notes: [
      ...notes,
      ...supposed.notes,
      ...launchNotes(objects),
      ...atOnce(leftOut(start, answer)),
      ...(conditions.length > 0 && start.picture.settings.repair === undefined ? [REPAIR_OFF] : []),
      ...unknownConditions(conditions, start.picture.settings.repair?.policies ?? []),
    ],
  };
}
