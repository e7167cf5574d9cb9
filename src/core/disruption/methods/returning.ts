/**
 * Return to preferred: a node of a second choice is replaced once the first choice is available again. The first choice
 * is a pool of higher weight or a preferred capacity type. A pool must enable this. Nodes are replaced one at a time,
 * within the budgets for drift. A node is kept for at least an hour, so that pods do not move back and forth.
 * karpenter-ts only.
 */
import { vocabulary } from "../../../apis/hub/generation.ts";
import { CAPACITY_TYPE_LABEL_KEY } from "../../../apis/karpenter/labels.ts";
import { createdAtMs } from "../../../apis/meta.ts";
import { filterInSteps, type Steps } from "../../../base/steps.ts";
import { rankOf } from "../../provisioning/pools/rank.ts";
import type { PlannedClaim } from "../../provisioning/result.ts";
import { allows } from "../../scheduling/requirement.ts";
import { Requirements } from "../../scheduling/requirements.ts";
import { type Candidate, isEmpty } from "../candidates.ts";
import { type Cheaper, launchedAs } from "../cheaper.ts";
import type { Command } from "../command.ts";
import { budgetCounter } from "../counters.ts";
import type { Round } from "../round.ts";
import { type Method, type Proposal, unchanged } from "./method.ts";

/** How long a node is kept before it may be replaced by the first choice. */
const REST_MS = 60 * 60_000;
/** The most nodes that are simulated in one round. If there are more, each TURN_MS tries other nodes. */
const MOST_TRIES = 64;
const TURN_MS = 60_000;
/** Capacity types, the most preferred first. */
const PREFERRED: readonly string[] = ["reserved", "spot", "on-demand"];

export const returning: Method = {
  name: "return to preferred",
  reason: "Drifted",
  consolidationType: "",
  disruptionClass: "graceful",
  simulates: true,
  needsValidation: false,
  isEligible,
  propose,
  validate: unchanged,
};

function isEligible(candidate: Candidate, nowMs: number): boolean {
  const { pool, claim, doNotConsolidate } = candidate;
  if (pool.returns === undefined || pool.replicas !== undefined) return false;
  if (isEmpty(candidate) || doNotConsolidate) return false;
  if (nowMs - createdAtMs(claim) < REST_MS) return false;
  return pool.returns.nodePool || betterTypes(candidate).length > 0;
}

/** The capacity types that the node's pool allows and that are preferred to the node's own type. */
function betterTypes({ pool, capacityType }: Candidate): readonly string[] {
  if (pool.returns?.capacityType !== true) return [];
  const rank = PREFERRED.indexOf(capacityType);
  const allowed = Requirements.fromSpecs(pool.requirements).get(CAPACITY_TYPE_LABEL_KEY);
  return PREFERRED.slice(0, Math.max(0, rank)).filter((one) => allows(allowed, one));
}

function* propose(round: Round): Steps<Proposal> {
  const budgets = budgetCounter(round.budgets.allowances);
  const { facts, nowMs } = round;
  const eligible = yield* filterInSteps(facts.candidates, (one) => isEligible(one, nowMs));
  const sorted = eligible.sort(
    (a, b) => createdAtMs(a.claim) - createdAtMs(b.claim) || (a.node.name < b.node.name ? -1 : 1),
  );
  const open = sorted.filter(
    (one) => budgets.left(one) > 0 && !(one.generation === "alpha" && facts.alphaBusy),
  );
  for (const candidate of inTurn(open, nowMs)) {
    yield;
    const command = commandFor(candidate, round);
    if (command !== undefined) return { commands: [command], remarks: [] };
  }
  return { commands: [], remarks: [] };
}

/** The candidates that are tried in this minute, in order. */
function inTurn(candidates: readonly Candidate[], nowMs: number): readonly Candidate[] {
  const turns = Math.max(1, Math.ceil(candidates.length / MOST_TRIES));
  const first = (Math.floor(nowMs / TURN_MS) % turns) * MOST_TRIES;
  return candidates.slice(first, first + MOST_TRIES);
}

/** The command that replaces this node by a preferred one. Undefined: there is none now. */
function commandFor(candidate: Candidate, { facts, holdOffs }: Round): Command | undefined {
  const simulation = facts.simulator.without([candidate]);
  const { replacements, targets, placements, unplaced, lostRoom, unquiet } = simulation;
  const [planned, ...others] = replacements;
  // Without a new node, this would be a consolidation and not a return.
  if (planned === undefined || others.length > 0) return undefined;
  if (unplaced.length + lostRoom.length + unquiet.length > 0) return undefined;
  if (holdOffs.backingOff.has(planned.pool.id)) return undefined;
  const found = preferred(candidate, planned);
  if (found === undefined) return undefined;
  const command: Command = {
    reason: "Drifted",
    consolidationType: "",
    via: "return",
    generation: candidate.generation,
    candidates: [candidate],
    replacements: [found.plan],
    targets,
    placements,
    returnsTo: found.to,
    validateAfterMs: 0,
  };
  return holdOffs.of(command) === undefined ? command : undefined;
}

/**
 * The plan with only offerings that are preferred to the node's own, and what they are called. Without
 * `returns.dearer`, they must not cost more than the node.
 */
function preferred(
  candidate: Candidate,
  planned: PlannedClaim,
): { readonly plan: PlannedClaim; readonly to: string } | undefined {
  const { pool, priceMicroUsd } = candidate;
  const most = pool.returns?.dearer === true ? undefined : priceMicroUsd;
  const taken = (cheaper: Cheaper, to: string) =>
    "message" in cheaper ? undefined : { plan: cheaper.plan, to };
  if (pool.returns?.nodePool === true && rankOf(planned.pool) > rankOf(pool)) {
    const { generation, name } = planned.pool;
    const to = `${vocabulary(generation).poolKind} "${name}"`;
    return taken(launchedAs(planned, undefined, most), to);
  }
  if (planned.pool.id !== pool.id) return undefined;
  for (const one of betterTypes(candidate)) {
    const found = taken(launchedAs(planned, one, most), one);
    if (found !== undefined) return found;
  }
  return undefined;
}
