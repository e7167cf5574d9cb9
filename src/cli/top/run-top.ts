/**
 * Runs `karpenter top`: reads the cluster repeatedly and shows the fleet on the whole terminal. On demand, or
 * without a terminal, it prints the fleet once as text or data. Changes nothing.
 */
import { setTimeout as sleep } from "node:timers/promises";
import pc from "picocolors";
import { durationHint, parseDuration } from "../../base/duration.ts";
import { firstLineOf } from "../../base/error-text.ts";
import { mustNotFail } from "../../base/must-not-fail.ts";
import { printedLines } from "../../base/printable.ts";
import { atOnce } from "../../base/steps.ts";
import { SystemClock } from "../../base/system-clock.ts";
import { type Fleet, fleetOf } from "../../core/answers/fleet.ts";
import { createKubeClient } from "../../kube/client/kube-client.ts";
import { explain } from "../answers/explain.ts";
import { explainText } from "../answers/explain-text.ts";
import {
  type PictureFlags,
  type ReadPicture,
  readObjects,
  readPicture,
} from "../answers/read-picture.ts";
import { modelOf } from "../answers/simulate.ts";
import { playBatch } from "../plan/played-batch.ts";
import { type PlanStreams, STANDARD_STREAMS } from "../plan/run-plan.ts";
import { currentCluster } from "../plan/sources.ts";
import { CliError } from "../program/cli-error.ts";
import { followAccess } from "../program/follow-access.ts";
import { FullScreen } from "../program/full-screen.ts";
import { printed } from "../program/manifest-text.ts";
import { isTerminal, terminal } from "../program/output.ts";
import { hasColours, PLAIN_SCREEN, printedScreen } from "../program/terminal.ts";
import { frame, type Surroundings } from "./frame.ts";
import { afterKey, FIRST_VIEW, type Sort, shownNodes, type TopView } from "./view.ts";

/** Flags of `karpenter top`, as the parser gives them. */
export interface TopFlags extends PictureFlags {
  readonly once?: true;
  readonly interval: string;
  readonly sort: Sort;
  readonly filter?: string;
  readonly ascii?: true;
  readonly output: "text" | "json" | "yaml";
}

/** Shortest time between two readings, because each one lists all pods and nodes. */
const LEAST_INTERVAL_MS = 1_000;

/**
 * Shows the fleet until the user quits, or prints it once. Throws CliError for bad input, or if the first reading
 * fails.
 */
export async function runTop(
  flags: TopFlags,
  { out, err, screen }: PlanStreams = STANDARD_STREAMS,
): Promise<void> {
  const intervalMs = intervalOf(flags.interval);
  const isLive =
    flags.output === "text" && flags.once !== true && isTerminal("stdout") && isTerminal("stdin");
  if (isLive && clusterOf(flags) !== undefined)
    await answeredCluster((line) => err(printedLines([line])));
  const first = await read(flags);
  const view: TopView = { ...FIRST_VIEW, sort: flags.sort, filter: flags.filter ?? "" };
  const notes = first.picture.notes.map((note) => `karpenter: note: ${note}`);
  if (flags.output !== "text") {
    err(printedLines(notes));
    out(printed(first.fleet, flags.output));
    return;
  }
  if (!isLive) {
    const { columns, paint } = screen?.(undefined) ?? PLAIN_SCREEN;
    err(printedLines(notes));
    const canvas = {
      columns: (screen && wholeWidth()) ?? columns,
      paint,
      ...asciiOf(flags),
    };
    out(printedScreen(frame(first.fleet, view, canvas, { cluster: clusterOf(flags) })));
    return;
  }
  await live(flags, first, view, intervalMs);
}

/** The narrowest and the widest screen that is believed, in characters. */
const [LEAST_COLUMNS, MOST_COLUMNS] = [40, 1_000];

/** The width of the terminal, or the width that the user set in COLUMNS. Undefined: there is neither. */
function wholeWidth(): number | undefined {
  const columns = terminal().output.columns ?? Number(process.env["COLUMNS"]);
  if (!Number.isInteger(columns) || columns <= 0) return undefined;
  return Math.max(LEAST_COLUMNS, Math.min(MOST_COLUMNS, columns));
}

function intervalOf(text: string): number {
  const ms = parseDuration(text);
  if (ms !== undefined && ms >= LEAST_INTERVAL_MS) return ms;
  throw new CliError(
    `--interval: "${text}": ${durationHint(text) ?? "wanted a duration of 1s or more, such as 5s"}`,
  );
}

function asciiOf({ ascii }: TopFlags): { readonly isAscii?: true } {
  return ascii === true ? { isAscii: true } : {};
}

function clusterOf({ filename, cluster }: TopFlags): string | undefined {
  return filename === undefined || cluster === true ? "cluster" : undefined;
}

/** Waits until the current cluster answers, and says meanwhile why it does not. */
async function answeredCluster(say: (line: string) => void): Promise<void> {
  const clock = new SystemClock();
  const { transport, server } = currentCluster(clock);
  try {
    await followAccess({ client: createKubeClient(transport), clock, server, say });
  } finally {
    transport.close();
  }
}

interface Reading {
  readonly picture: ReadPicture;
  readonly fleet: Fleet;
}

async function read(flags: PictureFlags): Promise<Reading> {
  const picture = await readPicture(flags, await readObjects(flags), { withRoom: true });
  const plan = playBatch(picture.picture.scheduling, picture.settings.planner).result;
  return { picture, fleet: atOnce(fleetOf(modelOf(picture), plan)) };
}

/** Runs until the user quits. If a reading fails, the screen says so and keeps the last picture. */
async function live(
  flags: TopFlags,
  first: Reading,
  firstView: TopView,
  intervalMs: number,
): Promise<void> {
  const { output } = terminal();
  const paint = pc.createColors(hasColours(output, process.env));
  const cluster = clusterOf(flags);
  let [reading, view, problem] = [first, firstView, undefined as string | undefined];
  let over = (): void => undefined;
  const isOver = new Promise<void>((resolve) => {
    over = resolve;
  });
  const draw = (): void => {
    const explanation = explanationOf(reading, view);
    const around: Surroundings = { cluster, problem, explanation };
    tty.show(frame(reading.fleet, view, { ...tty.size, paint, ...asciiOf(flags) }, around));
  };
  const tty = new FullScreen(terminal(), {
    key: (key) => {
      const names = shownNodes(reading.fleet, view).map(({ name }) => name);
      view = afterKey(view, key, names);
      if (view.isOver) over();
      else draw();
    },
    resize: () => draw(),
  });
  tty.open();
  try {
    draw();
    mustNotFail(
      readOn(
        () => view,
        intervalMs,
        async () => {
          try {
            reading = await read(flags);
            problem = undefined;
          } catch (error) {
            problem = `the cluster could not be read: ${firstLineOf(error)}; shown is ${reading.fleet.at}`;
          }
          if (!view.isOver) draw();
        },
      ),
      "reading the cluster",
    );
    await isOver;
  } finally {
    tty.close();
  }
}

async function readOn(
  view: () => TopView,
  intervalMs: number,
  again: () => Promise<void>,
): Promise<void> {
  while (!view().isOver) {
    await sleep(intervalMs, undefined, { ref: false });
    if (!view().isOver && !view().isPaused) await again();
  }
}

function explanationOf(
  { picture }: Reading,
  { explained }: TopView,
): readonly string[] | undefined {
  if (explained === undefined) return undefined;
  try {
    const answer = explain(picture, { subject: "node", name: explained }, "default");
    return explainText(answer, []).trimEnd().split("\n");
  } catch (error) {
    return [firstLineOf(error)];
  }
}
