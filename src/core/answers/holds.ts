/**
 * All reasons why a node is not disrupted, each with the object that causes it, when it ends, and which reasons for
 * disruption it prevents. The checks are the same functions that disruption methods use.
 */

import { condition, isTrue } from "../../apis/karpenter/conditions.ts";
import { fromRfc3339, toRfc3339 } from "../../base/clock.ts";
import { counted } from "../../base/counted.ts";
import { formatDuration } from "../../base/duration.ts";
import { atOnce } from "../../base/steps.ts";
import { awaitedPodsOn } from "../disruption/awaited.ts";
import { blocksOf, type Candidate, isEmpty, type ObjectName } from "../disruption/candidates.ts";
import { SPOT_STAYS } from "../disruption/cheaper.ts";
import { type Command, type CommandReason, removal } from "../disruption/command.ts";
import {
  consolidateOne,
  keptByAnnotation,
  type NoCommand,
  refusalsOf,
  replacementBackOff,
  unconsolidatable,
} from "../disruption/consolidation.ts";
import { makeRound, type Picture } from "../disruption/make-round.ts";
import { METHODS } from "../disruption/methods/all.ts";
import { withReplacements } from "../disruption/methods/drift-and-expiration.ts";
import { emptyCommand } from "../disruption/methods/emptiness.ts";
import { singleNodeConsolidation } from "../disruption/methods/single-node-consolidation.ts";
import { endlessDrain } from "../disruption/methods/static-drift.ts";
import { recordOf } from "../disruption/record.ts";
import type { Round } from "../disruption/round.ts";
import { roomFor } from "../disruption/static-pools.ts";
import { AT_LIMIT } from "../disruption/terminate-first.ts";
import { consolidatable } from "../nodeclaim/empty.ts";
import { budgetHold } from "./budget-answer.ts";
import { comingUp } from "./coming-up.ts";
import type { Hold } from "./hold.ts";
import { poolObject } from "./hold.ts";
import { leavingHolds } from "./leaving.ts";
import type { Owned } from "./owned-node.ts";

/**
 * All holds of the node, the most important first. If the node is leaving, or a running command disrupts it, these are
 * the only holds. For other nodes the order is:
 * 1. blocks of the node, such as a do-not-disrupt annotation;
 * 2. what delays its drift or expiry: budgets, then a replacement that is not possible;
 * 3. the consolidation policy, `consolidateAfter`, and budgets for other reasons;
 * 4. prices.
 */
export function holdsOf(picture: Picture, owned: Owned): readonly Hold[] {
  const { pool, candidate, claim } = owned;
  const holds = unpricedHolds(picture, owned);
  const isTaken = claim.metadata.deletionTimestamp !== undefined || recordOf(claim) !== undefined;
  if (isTaken || pool === undefined || candidate === undefined) return holds;
  return [...holds, ...priceHolds(picture, candidate)];
}

/**
 * {@link holdsOf} without the holds by prices. Finding those takes long, because the cluster must be planned without
 * the node.
 */
export function unpricedHolds(picture: Picture, owned: Owned): readonly Hold[] {
  const { pool, candidate, claim } = owned;
  if (claim.metadata.deletionTimestamp !== undefined)
    return leavingHolds(picture, owned, reasonsOf(candidate));
  const record = recordOf(claim);
  if (record !== undefined) {
    const says = `the command ${record.id} (${record.reason}) of ${record.startedAt} is under way`;
    return [{ block: "command", says, against: reasonsOf(candidate) }];
  }
  const holds = blockHolds(picture, owned);
  if (pool === undefined || candidate === undefined) return holds;
  const budgets = reasonsOf(candidate).flatMap((reason) => budgetHold(picture, pool, reason) ?? []);
  const isOfMark = ({ against }: Hold) => against.every(isMark);
  return [
    ...holds,
    ...budgets.filter(isOfMark),
    ...replacingHolds(picture, candidate),
    ...policyHolds(candidate),
    ...waitHolds(candidate, picture.nowMs),
    ...budgets.filter((one) => !isOfMark(one)),
  ];
}

/** Conditions of a claim because of which its node is disrupted even if that saves nothing. */
const MARKS = ["Expired", "Drifted"] as const;

function isMark(reason: CommandReason): boolean {
  return MARKS.some((one) => one === reason);
}

/** The reasons for which the node could be disrupted. */
function reasonsOf(candidate: Candidate | undefined): readonly CommandReason[] {
  if (candidate === undefined) return ["Empty", "Underutilized"];
  const { claim, pool } = candidate;
  const marked = MARKS.filter((one) => isTrue(claim, one));
  if (pool.replicas !== undefined) return marked;
  return [...marked, isEmpty(candidate) ? "Empty" : "Underutilized"];
}

/**
 * What blocks the disruption of the node, with the reasons for disruption that it prevents. Some methods ignore some
 * blocks.
 */
function blockHolds(picture: Picture, { node, claim, pool, candidate }: Owned): readonly Hold[] {
  const found = new Map<string, Hold>();
  const awaiting = awaitedPodsOn(picture.nodes, picture.seats);
  for (const reason of reasonsOf(candidate)) {
    const disruptionClass =
      METHODS.find((method) => method.reason === reason)?.disruptionClass ?? "graceful";
    const blocks = blocksOf({ node, claim, pool }, { ...picture, awaiting, disruptionClass }, 100);
    for (const block of blocks) {
      const { kind, message, by, untilMs } = block;
      const before = found.get(message);
      found.set(message, {
        block: kind,
        says: message,
        ...(by === undefined ? {} : { by }),
        ...(untilMs === undefined ? {} : { until: toRfc3339(untilMs) }),
        ...comingUp(picture, node, claim, block),
        against: [...(before?.against ?? []), reason],
      });
    }
  }
  return [...found.values()];
}

function policyHolds(candidate: Candidate): readonly Hold[] {
  const { pool } = candidate;
  const by = poolObject(pool);
  if (pool.replicas !== undefined) {
    const says = `${by.kind} "${pool.name}" is static and keeps ${counted(pool.replicas, "node")}`;
    return [{ block: "static", says, by, against: ["Empty", "Underutilized"] }];
  }
  const { pool: poolSays, node } = refusalsOf(candidate);
  const { policy, consolidateAfter } = pool.disruption;
  if (!isEmpty(candidate)) {
    const ofPool = poolSays === undefined ? [] : [policyHold(poolSays, "Underutilized", by)];
    return [...node.map((says) => policyHold(says, "Underutilized")), ...ofPool];
  }
  const kept = keptByAnnotation(candidate);
  // In v1alpha5, an empty node is removed (ttlSecondsAfterEmpty) in spite of the annotation.
  const isKept = kept !== undefined && policy !== "WhenEmpty";
  const isOff = policy === "none" || consolidateAfter === "Never";
  return [
    ...(isKept ? [policyHold(kept, "Empty")] : []),
    ...(isOff && poolSays !== undefined ? [policyHold(poolSays, "Empty", by)] : []),
  ];
}

/** A hold by a consolidation policy. `by`: the pool, if its policy is the cause of the hold. Absent: the node. */
function policyHold(says: string, reason: CommandReason, by?: ObjectName): Hold {
  return { block: "policy", says, ...(by === undefined ? {} : { by }), against: [reason] };
}

/** The hold because of `consolidateAfter`, which each API version counts differently. */
function waitHolds(candidate: Candidate, nowMs: number): readonly Hold[] {
  const { pool, claim, generation } = candidate;
  const { consolidateAfter, policy } = pool.disruption;
  if (consolidateAfter === "Never" || policy === "none" || pool.replicas !== undefined) return [];
  const isUnused = isEmpty(candidate);
  const wait = formatDuration(consolidateAfter);
  const by = poolObject(pool);
  if (generation === "v1") {
    if (isTrue(claim, "Consolidatable") || (policy === "WhenEmpty" && !isUnused)) return [];
    const verdict = consolidatable(claim, pool, nowMs);
    const untilMs = verdict.state === "set" ? nowMs : nowMs + (verdict.checkAfterMs ?? 0);
    return [
      {
        block: "consolidateAfter",
        says: `pods were added or removed less than consolidateAfter=${wait} ago`,
        by,
        ...(verdict.state === "clear" && verdict.checkAfterMs === undefined
          ? {}
          : { until: toRfc3339(untilMs) }),
        against: [isUnused ? "Empty" : "Underutilized"],
      },
    ];
  }
  if (policy !== "WhenEmpty" || !isUnused) return [];
  const sinceMs = fromRfc3339(condition(claim, "Empty")?.lastTransitionTime) ?? nowMs;
  const untilMs = sinceMs + consolidateAfter;
  if (untilMs <= nowMs) return [];
  const says = `it has been empty for less than ${wait}`;
  return [{ block: "consolidateAfter", says, by, until: toRfc3339(untilMs), against: ["Empty"] }];
}

/** Why a drifted or expired node cannot be replaced now. Empty: it can, or it is neither drifted nor expired. */
function replacingHolds(picture: Picture, candidate: Candidate): readonly Hold[] {
  const { pool } = candidate;
  const marked = reasonsOf(candidate).filter(isMark);
  // A node of a static pool is always replaced by one node, even if its pods fit elsewhere.
  if (pool.replicas !== undefined) {
    const isFull = roomFor(pool, pool.replicas) === 0 && !picture.settings.terminateFirst.drift;
    const kept =
      replacementBackOff([pool], picture) ??
      (isFull ? { kind: "noPlace" as const, message: AT_LIMIT } : undefined) ??
      endlessDrain(candidate, { unreplaced: [] }, roundOf(picture).facts);
    return kept === undefined || !marked.includes("Drifted")
      ? []
      : [stayingHold(kept, ["Drifted"])];
  }
  // Empty nodes are deleted without a replacement.
  if (marked.length === 0 || isEmpty(candidate)) return [];
  const bare = removal([candidate], { reason: marked[0] as CommandReason, via: "" });
  const found = withReplacements(bare, roundOf(picture));
  if (!("message" in found)) return [];
  return [stayingHold(found, marked)];
}

/** How to set the gate that is off, for the answer and for the cluster. */
const SPOT_GATE =
  " (for this answer: --setting feature-gates=SpotToSpotConsolidation=true; for the cluster, the chart's value settings.featureGates.spotToSpotConsolidation: true)";

function stayingHold(
  { kind, message, untilMs }: NoCommand,
  against: readonly CommandReason[],
  by?: ObjectName,
): Hold {
  return {
    block: kind,
    says: message === SPOT_STAYS.message ? `${message}${SPOT_GATE}` : message,
    ...(by === undefined ? {} : { by }),
    ...(untilMs === undefined ? {} : { until: toRfc3339(untilMs) }),
    against,
  };
}

/**
 * Why the node alone is not consolidated, for example because that saves too little. Call this only if nothing else
 * protects the node.
 */
function priceHolds(picture: Picture, candidate: Candidate): readonly Hold[] {
  if (isEmpty(candidate) || candidate.pool.replicas !== undefined) return [];
  if (unconsolidatable(candidate) !== undefined) return [];
  const found = consolidateOne(candidate, roundOf(picture));
  if (!("message" in found)) return [];
  const by = found.kind === "balanced" ? poolObject(candidate.pool) : undefined;
  return [stayingHold(found, ["Underutilized"], by)];
}

/** The command that would remove this node alone if nothing protected it. Undefined: that would save nothing. */
export function aloneCommand(picture: Picture, candidate: Candidate): Command | undefined {
  const { pool } = candidate;
  if (pool.replicas !== undefined || candidate.instanceType === undefined) return undefined;
  if (isEmpty(candidate)) return emptyCommand(candidate);
  const found = consolidateOne(candidate, roundOf(picture));
  return "message" in found ? undefined : found;
}

const rounds = new WeakMap<Picture, Round>();

/**
 * The input of consolidation for this picture (the state of the cluster at one moment). Cached, because an answer about
 * a pool needs it for each node.
 */
function roundOf(picture: Picture): Round {
  const known = rounds.get(picture);
  if (known !== undefined) return known;
  const { round } = atOnce(makeRound(picture, singleNodeConsolidation));
  rounds.set(picture, round);
  return round;
}
