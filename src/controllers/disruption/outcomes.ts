/**
 * Compares the real savings of repack and other moves of several nodes with the predicted ones
 * (core/disruption/outcome.ts). This happens some minutes after the last move of a pool. The outcome is written on the
 * NodePool, where another process, `kubectl describe` and `karpenter explain nodepool` can read it.
 */
import { toRfc3339 } from "../../base/clock.ts";
import { errorText } from "../../base/error-text.ts";
import type { Logger } from "../../base/log.ts";
import { priceOf } from "../../core/disruption/candidates.ts";
import type { Ledger } from "../../core/disruption/ledger.ts";
import {
  movesToJudge,
  outcomeOf,
  outcomeOn,
  type PricedNode,
  type RepackOutcome,
  withOutcome,
} from "../../core/disruption/outcome.ts";
import { changePool, listPools, poolById } from "../pools.ts";
import { dollars, poolFields } from "../words.ts";
import type { World } from "../world.ts";
import type { ClusterReading } from "./gather.ts";

/** Reads the outcomes that another process wrote on the pools. */
export function learnOutcomes(world: World, ledger: Ledger): void {
  for (const { id } of listPools(world)) {
    const native = poolById(world, id)?.native;
    const outcome = native === undefined ? undefined : outcomeOn(native);
    if (outcome !== undefined) ledger.setOutcome(id, outcome);
  }
}

interface Writer {
  readonly world: World;
  readonly log: Logger;
}

/**
 * Compares the moves that are due and writes the outcomes. `isRunning`: whether the command still has claims to delete.
 */
export async function judgeMoves(
  { world, log }: Writer,
  { ledger, isRunning }: { readonly ledger: Ledger; isRunning(id: string): boolean },
  pools: ClusterReading["pools"],
): Promise<void> {
  const nowMs = world.clock.now();
  const recent = ledger.recent(nowMs).filter((one) => one.pools !== undefined);
  if (recent.length === 0) return;
  for (const { pool } of pools) {
    const last = ledger.lastOutcome(pool.id);
    const moves = movesToJudge(recent, pool.id, last);
    if (moves.length === 0 || moves.some(({ command }) => isRunning(command))) continue;
    const outcome = outcomeOf(moves, () => pricedNodes(world, pools), { last, nowMs });
    if (outcome === undefined) continue;
    ledger.setOutcome(pool.id, outcome);
    const heldOffMs = ledger.repackHoldOffEndsMs(pool.id, nowMs);
    log.info("compared realised savings of replaced nodes with predicted savings", {
      ...poolFields(pool),
      "predicted-savings": dollars(outcome.predictedMicroUsd),
      "realised-savings": dollars(outcome.realisedMicroUsd),
      ...(heldOffMs === undefined ? {} : { "no-repack-until": toRfc3339(heldOffMs) }),
    });
    await write({ world, log }, pool.id, outcome);
  }
}

function pricedNodes(world: World, pools: ClusterReading["pools"]): readonly PricedNode[] {
  const types = new Map(pools.map(({ pool, instanceTypes }) => [pool.id, instanceTypes]));
  return world.cluster.nodes().flatMap((node) => {
    const offered = types.get(node.poolId ?? "");
    return offered === undefined ? [] : [{ node, priceMicroUsd: priceOf(node.labels, offered) }];
  });
}

async function write({ world, log }: Writer, id: string, outcome: RepackOutcome): Promise<void> {
  const stored = poolById(world, id);
  if (stored === undefined) return;
  try {
    await changePool(world, stored, (native) => withOutcome(native, outcome));
  } catch (error) {
    // A failed write does not stop the loop. This process keeps the outcome in memory, so only a restart would lose it.
    log.debug("failed writing the outcome of moves on the NodePool", {
      ...poolFields(stored.pool),
      error: errorText(error),
    });
  }
}
