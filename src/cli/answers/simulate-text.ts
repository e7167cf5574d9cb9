/** The answer of `simulate` as text: one line for each step, with the price after it. */

import { counted, firstNames } from "../../base/counted.ts";
import type { Printed } from "../../base/printable.ts";
import { within } from "../../base/within.ts";
import { type CommandAnswer, usd } from "../../core/answers/command-answer.ts";
import type { Step } from "../../core/answers/rehearsal.ts";
import { sharedReason } from "../../core/answers/shared-reason.ts";
import { reasonWords } from "../plan/reason-words.ts";
import { section, table } from "../program/layout.ts";
import { PLAIN_SCREEN, printedScreen, type Screen, wrapped } from "../program/terminal.ts";
import type { Simulated } from "./simulate.ts";
import { strandedPods, waitingAnyway } from "./unplaced.ts";

const NAMED = 5;
/** Maximum number of lines about why nodes stay. */
const MOST_REASONS = 10;

/** The answer and its notes as text that ends with a newline. */
export function simulateText(
  answer: Simulated,
  notes: readonly string[],
  screen: Screen = PLAIN_SCREEN,
): Printed {
  const { says, steps, unplaced, ended } = answer;
  const lines = [
    says,
    ...(steps.length === 0 ? [] : ["", "Steps", ...table(steps.map(stepRow))]),
    ...section("Pods without a place because of this", podLines(strandedPods(unplaced))),
    ...section(WAIT_ANYWAY, podLines(waitingAnyway(unplaced))),
    ...resultSections(answer).flatMap(({ title, lines }) => section(title, lines)),
    ...(ended === undefined ? [] : ["", ENDINGS[ended]]),
    ...notes.map((note) => `note: ${note}`),
  ];
  return printedScreen(lines, wrapped(screen));
}

/** The heading of pods that wait without the simulated change, too. */
export const WAIT_ANYWAY = "Pods without a place in any case";

/** A line for each reason, with its pods. */
export function podLines(unplaced: Simulated["unplaced"]): string[] {
  return byReason(unplaced).map(({ reasons, pods }) => `${named(pods)}: ${reasons.join("; ")}`);
}

/** What text and reports say below the steps. A section may have no lines. */
export function resultSections({
  against,
  unhealthy = [],
  headroom = [],
  staying = [],
  next,
}: Simulated): readonly { readonly title: string; readonly lines: readonly string[] }[] {
  return [
    { title: "Would delay the removal in a live cluster", lines: against.map(nodeLine) },
    { title: "Unhealthy nodes", lines: unhealthy.map(nodeLine) },
    {
      title: "Room kept for CapacityBuffers",
      lines: headroom.map(
        ({ buffer, pods, placed }) => `${buffer}: ${placed} of ${counted(pods, "pod")}`,
      ),
    },
    { title: "Why the nodes stay", lines: stayingLines(staying) },
    { title: "Next", lines: next.map(nextLine) },
  ];
}

/** A line for each reason, the last one for the reasons that have no line of their own. */
function stayingLines(staying: NonNullable<Simulated["staying"]>): string[] {
  const most = staying.length > MOST_REASONS ? MOST_REASONS - 1 : MOST_REASONS;
  const rest = staying.slice(most);
  const others = rest.reduce((sum, { nodes }) => sum + nodes.length, 0);
  return [
    ...staying
      .slice(0, most)
      .map(({ says, nodes }) => `${counted(nodes.length, "node")} (${named(nodes)}): ${says}`),
    ...(rest.length === 0
      ? []
      : [`${counted(others, "node")}: ${counted(rest.length, "more reason")} (-o json)`]),
  ];
}

function nodeLine({ node, says }: { readonly node: string; readonly says: string }): string {
  return `${node}: ${says}`;
}

interface PodsOfReason {
  readonly reasons: readonly string[];
  readonly pods: readonly string[];
}

/**
 * Pods without a place, grouped by what is shown of their reason. The whole reason is not compared: it has the pod's
 * requests, which differ between pods with the same cause.
 */
export function byReason(unplaced: Simulated["unplaced"]): readonly PodsOfReason[] {
  const groups = new Map<string, PodsOfReason & { readonly pods: string[] }>();
  for (const { pod, reason } of unplaced) {
    const reasons = reasonWords(reason);
    const alike = reasons.map(sharedReason).join("; ");
    within(groups, alike, () => ({ reasons, pods: [] })).pods.push(pod);
  }
  return [...groups.values()];
}

/** How the simulation ended. */
export const ENDINGS = {
  settled: "settled: no further command",
  horizon: "not settled: further commands may follow after the end (--horizon)",
  stopped: "stopped before the end: it took too long; further commands would follow",
  limit: "stopped: too many steps, and no end in sight",
} as const;

/** The cells of a step: time, price after it, moved pods, and what was done. */
export function stepRow({ at, kind, says, moves, launched, priceMicroUsdPerHour }: Step): string[] {
  const nodes = launched.map(
    ({ node, instanceType, capacityType, zone }) =>
      `${node} (${instanceType}, ${capacityType}, ${zone})`,
  );
  const more = kind === "provisioning" && nodes.length > 0 ? `: ${named(nodes)}` : "";
  const moved = moves.filter(({ to }) => to !== undefined).length;
  return [at, `${usd(priceMicroUsdPerHour)}/h`, counted(moved, "pod"), `${says}${more}`];
}

/** A command of the disruption loop. */
function nextLine({ says, method }: CommandAnswer): string {
  return `${says}, by ${method}`;
}

function named(names: readonly string[]): string {
  return firstNames(names, NAMED);
}
