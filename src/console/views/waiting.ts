/** Pods that fit nowhere, grouped by cause: why, since when, and the smallest change that would place them. */
import { compareText } from "../../base/text-order.ts";
import { within } from "../../base/within.ts";
import type { Fleet } from "../../core/answers/fleet.ts";
import type { UnplacedPod } from "../source.ts";
import type { View } from "./view.ts";

export interface WaitingHead {
  readonly pods: number;
}

export interface WaitingRow {
  readonly waitingFor: "nodeExists" | "nodeWanted" | "nothing";
  readonly says: string;
  readonly pods: number;
  /** Names of at most five pods. */
  readonly examples: readonly string[];
  /** When the oldest pod began to wait, in RFC 3339. Absent: not known. */
  readonly since?: string;
  readonly fix?: string;
  /** The fix as `kubectl patch` commands. */
  readonly patch?: string;
  /** Why there is no command for the fix. */
  readonly byHand?: string;
}

const MOST_NAMED = 5;

const SAYS = {
  nodeExists: "There is room on a node that exists or is coming up.",
  nodeWanted: "A new node will be launched.",
} as const;

/** One row for each cause. */
export function waitingView(
  { waiting, totals }: Fleet,
  unplaced: readonly UnplacedPod[],
): View<WaitingHead, WaitingRow> {
  const rows = new Map<string, WaitingRow>();
  for (const { waitingFor, pods, example, since } of waiting) {
    if (waitingFor === "nothing") continue;
    const says = SAYS[waitingFor];
    rows.set(waitingFor, { waitingFor, says, pods, examples: [example], ...sinceOf(since) });
  }
  const causes = new Map<string, UnplacedPod[]>();
  for (const one of unplaced) within(causes, one.reason, () => []).push(one);
  for (const [reason, pods] of causes) rows.set(`nothing ${reason}`, causeRow(reason, pods));
  return { head: { pods: totals.waiting }, rows };
}

function causeRow(says: string, pods: readonly UnplacedPod[]): WaitingRow {
  let oldest: string | undefined;
  for (const { since } of pods)
    if (since !== undefined && (oldest === undefined || since < oldest)) oldest = since;
  const names = pods.map(({ pod }) => pod).sort(compareText);
  return {
    waitingFor: "nothing",
    says,
    pods: pods.length,
    examples: names.slice(0, MOST_NAMED),
    ...sinceOf(oldest),
    ...fixOf(pods.find(({ fix }) => fix !== undefined) ?? {}),
  };
}

function sinceOf(since: string | undefined): { readonly since?: string } {
  return since === undefined ? {} : { since };
}

function fixOf({
  fix,
  patch = [],
  byHand,
}: Partial<UnplacedPod>): Pick<WaitingRow, "fix" | "patch" | "byHand"> {
  if (fix === undefined) return {};
  return {
    fix,
    ...(patch.length === 0 ? {} : { patch: patch.join("\n") }),
    ...(byHand === undefined ? {} : { byHand }),
  };
}
