/**
 * Whether consolidation's own moves are still coming to rest: nodes that took pods a moment ago may not go until their
 * pool's consolidateAfter is over. What is packed anew without them would have to be packed once more with them.
 */
import type { Pod } from "../../apis/core/pod.ts";
import type { Pool } from "../../apis/hub/pool.ts";
import { fromRfc3339 } from "../../base/clock.ts";
import type { Steps } from "../../base/steps.ts";
import type { NodeView } from "../state/node-view.ts";
import type { Ledger } from "./ledger.ts";
import { type MoveRecord, movedWith } from "./moves.ts";
import type { Simulator } from "./simulate.ts";

/** What a move takes itself. */
const MOVE_MS = 60_000;
/** Nobody waits longer than this after a move. */
const LONGEST_MS = 5 * 60_000;

/** Looked at before others get a turn. */
const NODES_PER_STEP = 1_024;

/** What of a picture says so. */
interface Moved {
  readonly nowMs: number;
  readonly nodes: readonly NodeView[];
  readonly pools: readonly { readonly pool: Pool }[];
  readonly ledger: Ledger;
  readonly simulator: Simulator;
}

/** `poolIds`: whose nodes are asked about. Those that came in place of others rest anyway. */
export function* isSettling(
  { pools, nodes, ledger, simulator, nowMs }: Moved,
  poolIds: ReadonlySet<string>,
): Steps<boolean> {
  const moves = ledger.recent(nowMs).filter(({ reason }) => reason === "Underutilized");
  const restless = simulator.unquietNodes();
  for (const { pool } of pools) {
    const { consolidateAfter } = pool.disruption;
    if (!poolIds.has(pool.id) || consolidateAfter === "Never") continue;
    const settlingMs = consolidateAfter + MOVE_MS;
    if (settlingMs > LONGEST_MS) continue;
    const last = moves.filter(({ at }) => nowMs - (fromRfc3339(at) ?? 0) < settlingMs);
    if (last.length === 0) continue;
    const isCalm = ({ claim, deleting, name, poolId, pods }: NodeView) => {
      if (poolId !== pool.id || claim === undefined || deleting || !restless.has(name)) return true;
      const rests = (ledger.replacementHoldOffEndsMs(claim) ?? nowMs) > nowMs;
      return rests || !pods.some((pod) => wasMoved(pod, last));
    };
    for (let at = 0; at < nodes.length; at += NODES_PER_STEP) {
      yield;
      if (!nodes.slice(at, at + NODES_PER_STEP).every(isCalm)) return true;
    }
  }
  return false;
}

/** The pod's workload was. */
function wasMoved(pod: Pod, moves: readonly MoveRecord[]): boolean {
  return moves.some((one) => movedWith(one, pod) > 0);
}
