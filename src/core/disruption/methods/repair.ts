/**
 * Replaces or reboots broken nodes within budgets, one at a time, the most urgent first (core/repair). If too many
 * nodes of a NodePool are broken, or broken nodes share an image, a type or a zone, none of them is repaired. The cause
 * is then probably not the nodes themselves.
 * upstream: pkg/controllers/disruption/repair.go
 */
import { DO_NOT_REPAIR_ANNOTATION_KEY } from "../../../apis/karpenter/labels.ts";
import type { Steps } from "../../../base/steps.ts";
import { compareText } from "../../../base/text-order.ts";
import { urgencies } from "../../repair/repair-decision.ts";
import { stopsFor, survey } from "../../repair/survey.ts";
import { type BrokenNode, type Repairing, repairOf } from "../broken-nodes.ts";
import type { Candidate } from "../candidates.ts";
import { type Command, removal } from "../command.ts";
import { budgetCounter } from "../counters.ts";
import type { Round } from "../round.ts";
import { countStatic, roomFor } from "../static-pools.ts";
import { AT_LIMIT, RESERVATIONS_FULL, reservedOnly, usesUnit } from "../terminate-first.ts";
import { withNewNodes } from "./drift-and-expiration.ts";
import { type Method, type Proposal, type Remark, unchanged } from "./method.ts";

const FORBIDDEN = `repair is blocked through the "${DO_NOT_REPAIR_ANNOTATION_KEY}" annotation`;
const NEEDS_GRACE = "repair requires a termination grace period to bypass blocking pods";

type BrokenCandidate = Candidate & { readonly broken: BrokenNode };

export const repair: Method = {
  name: "repair",
  reason: "Unhealthy",
  consolidationType: "",
  disruptionClass: "repair",
  simulates: false,
  needsValidation: false,
  isEligible: ({ broken }) => broken?.isForbidden === false,
  propose,
  validate: unchanged,
};

function* propose(round: Round): Steps<Proposal> {
  const { facts, settings, nowMs } = round;
  const rules = settings.repair;
  const remarks: Remark[] = [];
  const broken = facts.candidates.filter((one): one is BrokenCandidate => one.broken !== undefined);
  if (rules === undefined || broken.length === 0) return { commands: [], remarks };
  const note = (candidate: Candidate, message: string, about: Remark["about"] = "blocked") =>
    remarks.push({ candidate, about, message });
  const open = broken.filter((one) => {
    const why = objectionTo(one, nowMs);
    if (why !== undefined) note(one, why);
    return why === undefined;
  });
  const found = yield* survey(facts.nodes, rules.policies);
  const budgets = budgetCounter(round.budgets.allowances);
  let hasSimulated = false;
  // A stop or the brake may end without a change of the facts that the arbiter compares. So the method must run again.
  let isHeldBack = false;
  for (const one of byUrgency(open, nowMs)) {
    yield;
    const { pool } = one;
    const stops = stopsFor(one.node, pool.name, found);
    for (const stop of stops) note(one, stop, "repairBlocked");
    if (rules.braked !== undefined) note(one, rules.braked);
    if (stops.length > 0 || rules.braked !== undefined) {
      isHeldBack = true;
      continue;
    }
    if (budgets.left(one) <= 0 || round.holdOffs.backingOff.has(pool.id)) continue;
    const repairing = repairOf(one.claim, one.broken.conditions, nowMs);
    const isStatic = pool.replicas !== undefined;
    if (repairing.action === "ReplaceNode" && !isStatic) {
      if (!hasSimulated) yield* facts.simulator.ready();
      hasSimulated = true;
    }
    const command = commandFor(one, repairing, round);
    if (command === undefined) isHeldBack = true;
    else if (typeof command === "string") note(one, command);
    else return { commands: [command], remarks };
  }
  return { commands: [], remarks, ...(hasSimulated && !isHeldBack ? { hasSimulated: true } : {}) };
}

/** Why this node is not repaired, whatever happens to other nodes. Undefined: nothing prevents it. */
function objectionTo({ claim, broken }: BrokenCandidate, nowMs: number): string | undefined {
  if (broken.isForbidden) return FORBIDDEN;
  const { graceMs } = repairOf(claim, broken.conditions, nowMs);
  return broken.blocking !== undefined && graceMs === undefined ? NEEDS_GRACE : undefined;
}

function byUrgency(
  candidates: readonly BrokenCandidate[],
  nowMs: number,
): readonly BrokenCandidate[] {
  const urgency = urgencies(
    candidates.map(({ broken }) => broken.conditions),
    nowMs,
  );
  const rated = candidates.map((one, index) => ({ one, urgency: urgency[index] as number }));
  return rated
    .sort(
      (a, b) =>
        b.urgency - a.urgency ||
        a.one.rescheduleCost - b.one.rescheduleCost ||
        compareText(a.one.node.name, b.one.node.name),
    )
    .map(({ one }) => one);
}

/**
 * The command, or why there is none, for events. Undefined: the node's static pool has too many nodes now, or no
 * controller keeps its size. Then there is no event.
 */
function commandFor(
  one: BrokenCandidate,
  repairing: Repairing,
  round: Round,
): Command | string | undefined {
  const command = removal([one], { reason: "Unhealthy", via: "repair", repair: repairing });
  if (repairing.action === "RebootNode") return command;
  return one.pool.replicas === undefined
    ? replaced(command, round)
    : replacedStatically(command, one, round);
}

function replaced(deletion: Command, round: Round): Command | string {
  const command = withNewNodes(deletion, round, round.settings.terminateFirst.repair);
  return "message" in command ? command.message : command;
}

/** The command that replaces a node of a static pool by exactly one node. Otherwise as {@link commandFor}. */
function replacedStatically(
  command: Command,
  one: BrokenCandidate,
  { facts, settings }: Round,
): Command | string | undefined {
  const { node, pool } = one;
  const { active, leavingByCommand, deleting } = countStatic(pool, facts.nodes);
  const there = active.length + leavingByCommand;
  if (there > (pool.replicas ?? 0)) return undefined;
  const mayGoFirst = settings.terminateFirst.repair;
  const hasRoom = roomFor(pool, there + deleting) > 0;
  const planned = facts.planStatic({
    poolId: pool.id,
    count: hasRoom ? 1 : 0,
    instead: [node.name],
  });
  // Without the controller of static pools, nothing would replace the node.
  if (planned === undefined) return undefined;
  if (!hasRoom) return mayGoFirst ? { ...command, terminateFirst: "static-at-limit" } : AT_LIMIT;
  if (planned.newClaims.length > 0) return { ...command, replacements: planned.newClaims };
  const reserved = mayGoFirst ? reservedOnly(pool, facts.typesOf(pool.id)) : undefined;
  if (reserved?.isFull !== true) return planned.lacks ?? AT_LIMIT;
  return usesUnit(one, reserved)
    ? { ...command, terminateFirst: "no-reserved-capacity" }
    : RESERVATIONS_FULL;
}
