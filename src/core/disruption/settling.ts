/**
 * Whether nodes are settling: they took pods of a consolidation, and the `consolidateAfter` of their pool is not over.
 * Repack waits for them, because a repack without them would soon be followed by another one with them.
 */
import type { Pod } from "../../apis/core/pod.ts";
import type { Pool } from "../../apis/hub/pool.ts";
import { fromRfc3339 } from "../../base/clock.ts";
import { type Steps, someInSteps } from "../../base/steps.ts";
import type { NodeView } from "../state/node-view.ts";
import type { Ledger } from "./ledger.ts";
import { type MoveRecord, movedWith } from "./moves.ts";
import type { Simulator } from "./simulate.ts";

/** The time that the pods themselves need to move. */
const MOVE_MS = 60_000;
/** Repack does not wait for settling nodes if `consolidateAfter` and {@link MOVE_MS} together are longer than this. */
const LONGEST_MS = 5 * 60_000;

interface SettlingFacts {
  readonly nowMs: number;
  readonly nodes: readonly NodeView[];
  readonly pools: readonly { readonly pool: Pool }[];
  readonly ledger: Ledger;
  readonly simulator: Simulator;
}

/** Whether nodes of these pools (by id) are settling. A replacement that repack leaves out anyway does not count. */
export function* isSettling(
  { pools, nodes, ledger, simulator, nowMs }: SettlingFacts,
  poolIds: ReadonlySet<string>,
): Steps<boolean> {
  const moves = ledger.recent(nowMs).filter(({ reason }) => reason === "Underutilized");
  const unquiet = simulator.unquietNodes();
  for (const { pool } of pools) {
    const { consolidateAfter } = pool.disruption;
    if (!poolIds.has(pool.id) || consolidateAfter === "Never") continue;
    const settlingMs = consolidateAfter + MOVE_MS;
    if (settlingMs > LONGEST_MS) continue;
    const last = moves.filter(({ at }) => nowMs - (fromRfc3339(at) ?? 0) < settlingMs);
    if (last.length === 0) continue;
    const settles = ({ claim, deleting, name, poolId, pods }: NodeView) => {
      if (poolId !== pool.id || claim === undefined || deleting) return false;
      if (!unquiet.has(name) || (ledger.replacementHoldOffEndsMs(claim) ?? nowMs) > nowMs)
        return false;
      return pods.some((pod) => wasMoved(pod, last));
    };
    if (yield* someInSteps(nodes, settles)) return true;
  }
  return false;
}

function wasMoved(pod: Pod, moves: readonly MoveRecord[]): boolean {
  return moves.some((one) => movedWith(one, pod) > 0);
}
