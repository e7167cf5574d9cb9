/**
 * Records on NodeClaims which pods each command moved (core/disruption/moves.ts), so that a later process does not move
 * the same pods again too soon. Also compares the real savings of a finished command with the predicted ones.
 */

import type { Pod } from "../../apis/core/pod.ts";
import { poolIdOfClaim } from "../../apis/hub/claim.ts";
import type { NodeClaim } from "../../apis/karpenter/nodeclaim.ts";
import { errorText } from "../../base/error-text.ts";
import type { Logger } from "../../base/log.ts";
import { eachInSteps, type StepRunner } from "../../base/steps.ts";
import { type Candidate, priceOf } from "../../core/disruption/candidates.ts";
import type { Command, CommandReason } from "../../core/disruption/command.ts";
import type { Ledger } from "../../core/disruption/ledger.ts";
import {
  type MoveRecord,
  movesOn,
  podsByWorkload,
  withMoves,
  workloadName,
} from "../../core/disruption/moves.ts";
import { changeClaim, claimRequest, readClaim } from "../claims.ts";
import { poolById } from "../pools.ts";
import { dollars } from "../words.ts";
import type { World } from "../world.ts";
import type { RunningCommand } from "./running.ts";

interface Writer {
  readonly world: World;
  readonly log: Logger;
}

/**
 * Writes the moves of a command without replacements on the claim of a node that takes its pods: the first target that
 * is not being deleted. Returns that claim. Undefined: the command moves no pods, or no target has a claim.
 */
export async function writeOnTarget(
  { world, log }: Writer,
  { targets, candidates }: Command,
  moves: readonly MoveRecord[],
): Promise<NodeClaim | undefined> {
  if (candidates.every(({ reschedulablePods }) => reschedulablePods.length === 0)) return undefined;
  const wanted = new Set(targets);
  const target = world.cluster
    .nodes()
    .find(({ name, claim, deleting }) => wanted.has(name) && claim !== undefined && !deleting);
  if (target?.claim === undefined) return undefined;
  await writeOn({ world, log }, target.claim, moves);
  return target.claim;
}

async function writeOn(
  { world, log }: Writer,
  claim: NodeClaim,
  moves: readonly MoveRecord[],
): Promise<void> {
  const nowMs = world.clock.now();
  try {
    await changeClaim(world, claim, (one) => withMoves(one, moves, nowMs));
  } catch (error) {
    // A failed write does not stop the loop. This process keeps the moves in memory, so only a restart would lose them.
    log.debug("failed writing down what is moved", {
      NodeClaim: { name: claim.metadata.name },
      error: errorText(error),
    });
  }
}

/**
 * Moves are recorded on claims. If such a claim was deleted, but not by a command, this writes its moves on another
 * claim.
 */
export async function rewriteLostMoves(
  { world, log, run }: Writer & { readonly run: StepRunner },
  { ledger, isRunning }: { readonly ledger: Ledger; isRunning(id: string): boolean },
): Promise<void> {
  const moves = ledger.recent(world.clock.now()).filter(({ pods }) => Object.keys(pods).length > 0);
  // The claims of a running command may not be in the cluster state yet, so its moves are not yet lost.
  const missing = new Map(
    moves.filter(({ command }) => !isRunning(command)).map((move) => [move.command, move]),
  );
  if (missing.size === 0) return;
  let other: NodeClaim | undefined;
  const look = eachInSteps(world.cluster.nodes(), ({ claim, deleting }) => {
    if (claim === undefined || deleting) return;
    other ??= claim;
    for (const { command } of movesOn(claim)) missing.delete(command);
  });
  await run(look);
  if (other !== undefined && missing.size > 0)
    await writeOn({ world, log }, other, [...missing.values()]);
}

/** The reasons of commands that exist to save money. Only their savings are counted. */
const SAVING: readonly CommandReason[] = ["Empty", "Underutilized"];

/** Logs what a finished command saved, and counts it in the metrics. */
export async function account(world: World, log: Logger, running: RunningCommand): Promise<void> {
  const { record, move, candidates } = running;
  const fields = {
    "command-id": record.id,
    reason: record.reason,
    "pods-moved": movedOf(candidates),
  };
  if (move === undefined || !SAVING.includes(record.reason)) {
    log.debug("command succeeded", fields);
    return;
  }
  const predicted = move.savesMicroUsd;
  const realised = move.priceMicroUsd - (await priceOfAll(world, running.replacements));
  log.debug("command succeeded", {
    ...fields,
    "predicted-savings": dollars(predicted),
    "realised-savings": dollars(realised),
  });
  const reason = record.reason.toLowerCase();
  for (const [estimate, microUsd] of [
    ["predicted", predicted],
    ["realised", realised],
  ] as const)
    world.metrics.observe(
      "voluntary_disruption_savings_dollars",
      { reason, estimate },
      microUsd / 1_000_000,
    );
}

/** Number of pods that the command moved, by workload. */
function movedOf(candidates: readonly Candidate[]): Readonly<Record<string, number>> {
  const pods = candidates.flatMap(({ reschedulablePods }) => reschedulablePods);
  return Object.fromEntries(
    [...podsByWorkload(pods).values()].map((own) => [workloadName(own[0] as Pod), own.length]),
  );
}

/** The price per hour of these claims' nodes. An instance type that its pool no longer offers counts as 0. */
async function priceOfAll(world: World, claims: readonly NodeClaim[]): Promise<number> {
  let microUsd = 0;
  for (const claim of claims) {
    const { metadata } = readClaim(world, claimRequest(claim)) ?? claim;
    const pool = poolById(world, poolIdOfClaim(claim) ?? "")?.pool;
    if (pool === undefined) continue;
    const types = await world.cloud.getInstanceTypes(pool).catch(() => []);
    microUsd += priceOf(metadata.labels ?? {}, types);
  }
  return microUsd;
}
