/**
 * Events of disruption, worded as the Karpenter generation of the object words them.
 * upstream: pkg/controllers/disruption/events
 */

import type { Pod } from "../../apis/core/pod.ts";
import { doNotDisrupt } from "../../apis/core/pod-predicates.ts";
import type { Generation } from "../../apis/hub/generation.ts";
import { vocabulary } from "../../apis/hub/generation.ts";
import { DO_NOT_DISRUPT_ANNOTATION_KEY } from "../../apis/karpenter/labels.ts";
import { type KubeObject, keyOf } from "../../apis/meta.ts";
import { toRfc3339 } from "../../base/clock.ts";
import type { NextAllowed, Whose } from "../../core/disruption/calendar.ts";
import type { Candidate } from "../../core/disruption/candidates.ts";
import { type Command, decisionOf, formatSavings } from "../../core/disruption/command.ts";
import type { EventToPublish } from "../../kube/events/events.ts";
import { objectsOf } from "./labels.ts";

const BUDGET_DEDUPE_MS = 60_000;
/**
 * A closed budget window lasts for hours and blocks every node of its pool, so the event is repeated only once an hour.
 */
const HELD_DEDUPE_MS = 60 * 60_000;
/**
 * Rate of DisruptionBlocked events. With 10 a second, 10,000 nodes have theirs after 17 minutes. Later rounds publish
 * what this round drops.
 */
const HELD_RATE = { burst: 100, perSecond: 10 };
const UNCONSOLIDATABLE_DEDUPE_MS = 15 * 60_000;

/** Why a node may not be disrupted. Published on the Node and its claim. */
export function blocked(
  objects: readonly KubeObject[],
  generation: Generation,
  message: string,
): readonly EventToPublish[] {
  const text = `${message.slice(0, 1).toUpperCase()}${message.slice(1)}`;
  return objects.map((object) => event(object, generation, { reason: "Blocked", message: text }));
}

/** Why a node of the pool may not be disrupted for this reason. Published on the pool; karpenter-ts only. */
export function holdsNode(
  pool: KubeObject,
  generation: Generation,
  { node, reason, why }: { readonly node: string; readonly reason: string; readonly why: string },
): EventToPublish {
  const message = `Node ${node} is not disrupted for disruption reason ${reason}: ${why}`;
  return event(pool, generation, { reason: "Blocked", message });
}

/** A reason that budgets block, and until when. */
export interface BudgetBlock {
  readonly reason: string;
  readonly next: NextAllowed;
  readonly whose: Whose;
}

/**
 * Says that budgets block a reason, in upstream's sentence. karpenter-ts adds whether the budget is cluster-wide, and
 * until when it blocks.
 */
export function blockedByBudget(
  pool: KubeObject,
  generation: Generation,
  { reason, next, whose }: BudgetBlock,
): EventToPublish {
  const until =
    next.when === "at"
      ? `, next allowed disruption: ${toRfc3339(next.atMs)}`
      : next.when === "busy"
        ? ", until nodes that are not ready or on their way out are done"
        : next.when === "broken"
          ? ", one that cannot be read (condition DisruptionAllowed says why)"
          : "";
  const budget = whose === "cluster" ? "budget of the cluster (disruption-budgets)" : "budget";
  const message = `No allowed disruptions for disruption reason ${reason} due to blocking ${budget}${until}`;
  return { ...event(pool, generation, { reason: "Blocked", message }), dedupeMs: BUDGET_DEDUPE_MS };
}

/**
 * Says that only budgets block the disruption of a node. Published on the Node and its claim; karpenter-ts only. Empty
 * while other nodes use up the budget, because that ends within minutes.
 */
export function heldByBudget(
  objects: readonly KubeObject[],
  generation: Generation,
  { reason, next, whose }: BudgetBlock,
): readonly EventToPublish[] {
  if (next.when === "busy" || next.when === "now") return [];
  const until =
    next.when === "at"
      ? ` until ${toRfc3339(next.atMs)}`
      : next.when === "broken"
        ? ", for one of them cannot be read"
        : "";
  const budgets = whose === "cluster" ? "the cluster's budgets (disruption-budgets)" : "budgets";
  const message = `${budgets} allow no disruption for reason ${reason}${until}`;
  const told = { dedupeMs: HELD_DEDUPE_MS, rate: HELD_RATE };
  return blocked(objects, generation, message).map((one) => ({ ...one, ...told }));
}

/**
 * Says that a replacement failed, and until when each pool (by id) launches no other. Published on the nodes that stay
 * and their claims; karpenter-ts only. Each failure ends at another time, so each gives a new event.
 */
export function replacementFailed(
  candidates: readonly Candidate[],
  waits: ReadonlyMap<string, number>,
): readonly EventToPublish[] {
  const ends = [...waits].sort().map(([id, ms]) => `of ${id} is asked for until ${toRfc3339(ms)}`);
  // A successful replacement of another command ends the back-off at once.
  const wait = ends.length === 0 ? "" : `; unless another does, no other ${ends.join(", none ")}`;
  const message = `its replacement did not come up${wait}`;
  return candidates.flatMap((one) => blocked(objectsOf(one), one.generation, message));
}

/** Why consolidation leaves a node as it is. Published on the Node and its claim. */
export function unconsolidatable(
  objects: readonly KubeObject[],
  message: string,
): readonly EventToPublish[] {
  return objects.map((object) => ({
    ...consolidation(object, "Unconsolidatable", message),
    dedupeMs: UNCONSOLIDATABLE_DEDUPE_MS,
  }));
}

/** Announces a consolidation that waits for its validation. Empty for other commands. */
export function proposed(command: Command): readonly EventToPublish[] {
  if (command.reason !== "Underutilized") return [];
  return eachPart(command).map(({ object, text }) =>
    consolidation(object, "ConsolidationCandidate", `Consolidation candidate: ${text}`),
  );
}

/** Says what a command would do under `--observe-only`. Published on its Nodes and claims; karpenter-ts only. */
export function wouldBeDisrupted(command: Command): readonly EventToPublish[] {
  return eachPart(command).map(({ object, text }) =>
    event(object, command.generation, {
      reason: "Terminating",
      message: `Would be disrupted for reason ${command.reason}: ${text}`,
    }),
  );
}

/** Says that the policy Balanced approved a command. */
export function approved(
  objects: readonly KubeObject[],
  message: string,
): readonly EventToPublish[] {
  return objects.map((object) => consolidation(object, "ConsolidationApproved", message));
}

/** Says that a consolidation failed its validation. */
export function rejected(command: Command, why: string): readonly EventToPublish[] {
  const savings = `(savings: ${formatSavings(command)})`;
  return eachPart(command, false).map(({ object, text }) =>
    consolidation(
      object,
      "ConsolidationRejected",
      `Consolidation rejected: ${text}, reason: ${why} ${savings}`,
    ),
  );
}

/** Each Node and claim of a command, with the text for that node. */
function eachPart(command: Command, withSavings = true) {
  const savings = withSavings ? ` (savings: ${formatSavings(command)})` : "";
  const decision = decisionOf(command);
  const { candidates } = command;
  return candidates.flatMap(({ node, claim }) => {
    const part = candidates.length > 1 ? ` (part of ${candidates.length}-node consolidation)` : "";
    const text = `${decision}: [${node.name}]${part}${savings}`;
    const objects: readonly KubeObject[] = node.node === undefined ? [claim] : [node.node, claim];
    return objects.map((object) => ({ object, text }));
  });
}

function consolidation(object: KubeObject, reason: string, message: string): EventToPublish {
  const dedupeValues = [object.kind ?? "", object.metadata.name, message];
  return { object, type: "Normal", reason, message, dedupeValues };
}

/** Says that a replacement is created. */
export function launching(
  claim: KubeObject,
  generation: Generation,
  reason: string,
): EventToPublish {
  const { claimKind } = vocabulary(generation);
  return event(claim, generation, {
    reason: "Launching",
    message: `Launching ${claimKind}: ${reason}`,
  });
}

/** Says that a command waits for its replacements. */
export function waitingReadiness(claim: KubeObject, generation: Generation): EventToPublish {
  const message = "Waiting on readiness to continue disruption";
  return event(claim, generation, { reason: "WaitingReadiness", message });
}

/** Says that a node is disrupted. Published on the Node and its claim. */
export function terminating(
  objects: readonly KubeObject[],
  generation: Generation,
  reason: string,
): readonly EventToPublish[] {
  return objects.map((object) =>
    event(object, generation, {
      reason: "Terminating",
      message: `Disrupting ${object.kind}: ${reason}`,
    }),
  );
}

function event(
  object: KubeObject,
  generation: Generation,
  { reason, message }: Pick<EventToPublish, "reason" | "message">,
): EventToPublish {
  return {
    object,
    type: "Normal",
    reason: `${vocabulary(generation).disruptionPrefix}${reason}`,
    message,
    dedupeValues: [object.metadata.name, message],
  };
}

/** Events about the do-not-disrupt annotation of a pod: not readable, with an end, or over. */
export function graceOf(pod: Pod, nowMs: number): readonly EventToPublish[] {
  const grace = doNotDisrupt(pod, nowMs);
  const key = DO_NOT_DISRUPT_ANNOTATION_KEY;
  if (grace.kind === "invalid") {
    const message = `Invalid ${key} annotation: ${grace.why}, ignoring annotation`;
    return [onPod(pod, { type: "Warning", reason: "InvalidDoNotDisruptAnnotation", message })];
  }
  if (grace.kind === "until") {
    const message = `The ${key} grace period will elapse at ${toRfc3339(grace.untilMs)}`;
    return [onPod(pod, { type: "Normal", reason: "DoNotDisruptUntil", message })];
  }
  if (grace.kind !== "elapsed") return [];
  const message = `The ${key} grace period has elapsed, pod is now disruptable`;
  return [onPod(pod, { type: "Normal", reason: "DoNotDisruptGracePeriodElapsed", message })];
}

function onPod(
  pod: Pod,
  told: Pick<EventToPublish, "type" | "reason" | "message">,
): EventToPublish {
  return { object: pod, ...told, dedupeValues: [keyOf(pod), told.message] };
}
