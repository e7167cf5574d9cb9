/** Pods that fit nowhere, grouped by cause: why, since when, and the smallest change that would place them. */
import { compareText } from "../../base/text-order.ts";
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
  for (const { pod, reason, since, ...fixed } of unplaced) {
    const key = `nothing ${reason}`;
    const known = rows.get(key);
    const oldest = [known?.since, since].flatMap((one) => one ?? []).sort(compareText)[0];
    rows.set(key, {
      waitingFor: "nothing",
      says: reason,
      pods: (known?.pods ?? 0) + 1,
      examples: [...(known?.examples ?? []), pod].sort(compareText).slice(0, MOST_NAMED),
      ...sinceOf(oldest),
      ...(known?.fix === undefined ? fixOf(fixed) : partOf(known)),
    });
  }
  return { head: { pods: totals.waiting }, rows };
}

function sinceOf(since: string | undefined): { readonly since?: string } {
  return since === undefined ? {} : { since };
}

type Fixed = Pick<WaitingRow, "fix" | "patch" | "byHand">;

function fixOf({ fix, patch = [], byHand }: Partial<UnplacedPod>): Fixed {
  if (fix === undefined) return {};
  return {
    fix,
    ...(patch.length === 0 ? {} : { patch: patch.join("\n") }),
    ...(byHand === undefined ? {} : { byHand }),
  };
}

/** The fix and the commands of one pod of the group. */
function partOf({ fix, patch, byHand }: WaitingRow): Fixed {
  return {
    ...(fix === undefined ? {} : { fix }),
    ...(patch === undefined ? {} : { patch }),
    ...(byHand === undefined ? {} : { byHand }),
  };
}
