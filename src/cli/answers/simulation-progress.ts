/** The progress line of `karpenter simulate`: what was simulated so far, and about how long the rest takes. */
import type { Clock } from "../../base/clock.ts";
import { counted } from "../../base/counted.ts";
import { formatDuration } from "../../base/duration.ts";
import { usd } from "../../core/answers/command-answer.ts";
import type { RehearsalProgress, RehearsalWatch } from "../../core/answers/rehearsal-progress.ts";
import type { Progress } from "../program/progress.ts";

/** Milliseconds between two forms of the line. */
const EVERY_MS = 1_000;

/** Shows the time that has passed each second, and how far the simulation has come. It never ends the simulation. */
export function simulationWatch(
  what: string,
  progress: Progress,
  clock: Pick<Clock, "elapsedMs">,
): RehearsalWatch {
  const begunMs = clock.elapsedMs();
  let known: RehearsalProgress | undefined;
  let roundMs = 0;
  let shownMs = begunMs;
  progress.stage(what);
  const show = (): void => {
    shownMs = clock.elapsedMs();
    progress.stage(progressText(what, known, { elapsedMs: shownMs - begunMs, roundMs }));
  };
  return {
    tell: (told) => {
      known = told;
      roundMs = clock.elapsedMs() - begunMs;
      show();
    },
    isOver: () => {
      if (clock.elapsedMs() - shownMs >= EVERY_MS) show();
      return false;
    },
  };
}

interface Times {
  readonly elapsedMs: number;
  /** How long it took until the last complete round. */
  readonly roundMs: number;
}

/** The line. The rest is taken to last as long for each dollar as what was saved so far. */
function progressText(
  what: string,
  known: RehearsalProgress | undefined,
  { elapsedMs, roundMs }: Times,
): string {
  const so = `${secondsText(elapsedMs)} so far`;
  if (known === undefined) return `${what}: ${so}`;
  const { commands, nodes, priceMicroUsdPerHour, savedShare } = known;
  const done = `${counted(commands, "command")}, ${counted(nodes, "node")} at ${usd(priceMicroUsdPerHour)} an hour`;
  if (savedShare === undefined) return `${what}: ${done}, ${so}`;
  const restMs = Math.max(0, roundMs / savedShare - elapsedMs);
  return `${what}: ${done}, ${so}, about ${secondsText(restMs)} left`;
}

function secondsText(ms: number): string {
  return formatDuration(Math.round(ms / 1_000) * 1_000);
}
