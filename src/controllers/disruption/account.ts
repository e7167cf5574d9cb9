/**
 * The ledger's books: what a command moves is written on a claim that stays, and once it is done, what it was
 * to save is held against what it saved.
 */

import type { Pod } from "../../apis/core/pod.ts";
import { poolIdOfClaim } from "../../apis/hub/claim.ts";
import type { NodeClaim } from "../../apis/karpenter/nodeclaim.ts";
import { errorText } from "../../base/error-text.ts";
import type { Logger } from "../../base/log.ts";
import { eachInSteps, type StepRunner } from "../../base/steps.ts";
import { type Candidate, priceOf } from "../../core/disruption/candidates.ts";
import type { Command } from "../../core/disruption/command.ts";
import type { Ledger } from "../../core/disruption/ledger.ts";
import {
  type Move,
  movesOn,
  podsByWorkload,
  withMoves,
  workloadOf,
} from "../../core/disruption/moves.ts";
import { changeClaim, claimRequest, readClaim } from "../claims.ts";
import { poolById } from "../pools.ts";
import { dollars } from "../words.ts";
import type { World } from "../world.ts";
import type { Running } from "./running.ts";

/** Each may bear a hundred kilobytes to be read. */
const NODES_PER_STEP = 64;

/** Without new claims one of those that take the pods bears the mark: the first that stays. Answers which. */
export async function writeOnTarget(
  world: World,
  log: Logger,
  { targets, candidates }: Command,
  moves: readonly Move[],
): Promise<NodeClaim | undefined> {
  if (candidates.every(({ reschedulablePods }) => reschedulablePods.length === 0)) return undefined;
  const wanted = new Set(targets);
  const target = world.cluster
    .nodes()
    .find(({ name, claim, deleting }) => wanted.has(name) && claim !== undefined && !deleting);
  if (target?.claim === undefined) return undefined;
  await writeOn(world, log, target.claim, moves);
  return target.claim;
}

async function writeOn(
  world: World,
  log: Logger,
  claim: NodeClaim,
  moves: readonly Move[],
): Promise<void> {
  const nowMs = world.clock.now();
  try {
    await changeClaim(world, claim, (one) => withMoves(one, moves, nowMs));
  } catch (error) {
    // A restart would forget these moves; that is no reason not to make them.
    log.debug("failed writing down what is moved", {
      NodeClaim: { name: claim.metadata.name },
      error: errorText(error),
    });
  }
}

/**
 * Moves that still count and that no claim bears any more, for it went by another way than a command, are
 * written on one that stays.
 */
export async function keepBorne(
  world: World,
  log: Logger,
  { ledger, isRunning }: { readonly ledger: Ledger; isRunning(id: string): boolean },
  run: StepRunner,
): Promise<void> {
  const moves = ledger.recent(world.clock.now()).filter(({ pods }) => Object.keys(pods).length > 0);
  // What the others move stands on claims that may not be known of yet.
  const missing = new Map(
    moves.filter(({ command }) => !isRunning(command)).map((move) => [move.command, move]),
  );
  if (missing.size === 0) return;
  let bearer: NodeClaim | undefined;
  const look = eachInSteps(world.cluster.nodes(), NODES_PER_STEP, ({ claim, deleting }) => {
    if (claim === undefined || deleting) return;
    bearer ??= claim;
    for (const { command } of movesOn(claim)) missing.delete(command);
  });
  await run(look);
  if (bearer !== undefined && missing.size > 0)
    await writeOn(world, log, bearer, [...missing.values()]);
}

/** Says what a command that is done has come to. */
export async function account(world: World, log: Logger, running: Running): Promise<void> {
  const { record, move, candidates } = running;
  const told = {
    "command-id": record.id,
    reason: record.reason,
    "pods-moved": movedOf(candidates),
  };
  if (move === undefined || record.reason === "Drifted" || record.reason === "Expired") {
    log.debug("command succeeded", told);
    return;
  }
  const predicted = move.savesMicroUsd;
  const realised = move.priceMicroUsd - (await priceOfAll(world, running.replacements));
  log.debug("command succeeded", {
    ...told,
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

/** Workload → how many of its pods. */
function movedOf(candidates: readonly Candidate[]): Readonly<Record<string, number>> {
  const pods = candidates.flatMap(({ reschedulablePods }) => reschedulablePods);
  return Object.fromEntries(
    [...podsByWorkload(pods).values()].map((own) => [workloadOf(own[0] as Pod), own.length]),
  );
}

/** An hour, of the machines that came. Nothing for one whose pool no longer offers the like. */
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
