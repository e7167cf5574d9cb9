/**
 * Events of disruption. Each is worded as in the Karpenter version of its object.
 * upstream: pkg/controllers/disruption/events
 */

import type { Pod } from "../../apis/core/pod.ts";
import { doNotDisrupt } from "../../apis/core/pod-predicates.ts";
import type { Generation } from "../../apis/hub/generation.ts";
import { vocabulary } from "../../apis/hub/generation.ts";
import { DO_NOT_DISRUPT_ANNOTATION_KEY } from "../../apis/karpenter/labels.ts";
import { type KubeObject, keyOf } from "../../apis/meta.ts";
import { toRfc3339 } from "../../base/clock.ts";
import type { NextAllowed, Whose } from "../../core/answers/calendar.ts";
import type { Candidate } from "../../core/disruption/candidates.ts";
import { type Command, decisionOf, formatSavings } from "../../core/disruption/command.ts";
import type { EventToPublish } from "../../kube/events/events.ts";
import { objectsOf } from "./labels.ts";

const BUDGET_DEDUPE_MS = 60_000;
/** A budget may block every node of its pool for hours, so this event is repeated only once an hour. */
const HELD_DEDUPE_MS = 60 * 60_000;
/**
 * The rate of DisruptionBlocked events. With 10 a second, 10,000 nodes have theirs after 17 minutes. Events beyond the
 * rate are dropped, and later rounds publish them.
 */
const HELD_RATE = { burst: 100, perSecond: 10 };
const UNCONSOLIDATABLE_DEDUPE_MS = 15 * 60_000;

/** An event that says why a node may not be disrupted. Published on the Node and its claim. */
export function blocked(
  objects: readonly KubeObject[],
  generation: Generation,
  message: string,
): readonly EventToPublish[] {
  const text = `${message.slice(0, 1).toUpperCase()}${message.slice(1)}`;
  return objects.map((object) => event(object, generation, { reason: "Blocked", message: text }));
}

/**
 * An event that says why a node of the pool may not be disrupted for this reason. Published on the pool; karpenter-ts
 * only.
 */
export function holdsNode(
  pool: KubeObject,
  generation: Generation,
  { node, reason, why }: { readonly node: string; readonly reason: string; readonly why: string },
): EventToPublish {
  const message = `Node ${node} is not disrupted for disruption reason ${reason}: ${why}`;
  return event(pool, generation, { reason: "Blocked", message });
}

/** A disruption reason that a budget blocks, until when, and whose budget it is. */
export interface BudgetBlock {
  readonly reason: string;
  readonly next: NextAllowed;
  readonly whose: Whose;
}

/**
 * An event that says that budgets block a reason, in upstream's words. karpenter-ts adds whether the budget is
 * cluster-wide, and until when it blocks.
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
 * Events that say that only budgets block the disruption of a node. Published on the Node and its claim; karpenter-ts
 * only. Empty while other nodes use up the budget, because that lasts only minutes.
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
 * Events that say that a replacement failed, and until when each pool (by id) launches no other. Published on the
 * command's remaining nodes and claims; karpenter-ts only. The text contains the time, so each failure gives a new
 * event.
 */
export function replacementFailed(
  candidates: readonly Candidate[],
  waits: ReadonlyMap<string, number>,
): readonly EventToPublish[] {
  const ends = [...waits].sort().map(([id, ms]) => `of ${id} is asked for until ${toRfc3339(ms)}`);
  // A successful replacement of another command ends the back-off early.
  const wait = ends.length === 0 ? "" : `; unless another does, no other ${ends.join(", none ")}`;
  const message = `its replacement did not come up${wait}`;
  return candidates.flatMap((one) => blocked(objectsOf(one), one.generation, message));
}

/** Events that say why consolidation does not touch a node. Published on the Node and its claim. */
export function unconsolidatable(
  objects: readonly KubeObject[],
  message: string,
): readonly EventToPublish[] {
  return objects.map((object) => ({
    ...consolidation(object, "Unconsolidatable", message),
    dedupeMs: UNCONSOLIDATABLE_DEDUPE_MS,
  }));
}

/** Events that announce a consolidation that waits for its validation. Empty for other commands. */
export function proposed(command: Command): readonly EventToPublish[] {
  if (command.reason !== "Underutilized") return [];
  return eachPart(command).map(({ object, text }) =>
    consolidation(object, "ConsolidationCandidate", `Consolidation candidate: ${text}`),
  );
}

/**
 * Events that say what a command would do under `--observe-only`. Published on its Nodes and claims; karpenter-ts only.
 */
export function wouldBeDisrupted(command: Command): readonly EventToPublish[] {
  return eachPart(command).map(({ object, text }) =>
    event(object, command.generation, {
      reason: "Terminating",
      message: `Would be disrupted for reason ${command.reason}: ${text}`,
    }),
  );
}

/** Events that say that the policy Balanced approved a command. */
export function approved(
  objects: readonly KubeObject[],
  message: string,
): readonly EventToPublish[] {
  return objects.map((object) => consolidation(object, "ConsolidationApproved", message));
}

/** Events that say that a consolidation failed its validation. */
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

/** Each Node and claim of a command, with the event text for it. */
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

/** An event that says that a replacement is being created. */
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

/** An event that says that a command waits for its replacements. */
export function waitingReadiness(claim: KubeObject, generation: Generation): EventToPublish {
  const message = "Waiting on readiness to continue disruption";
  return event(claim, generation, { reason: "WaitingReadiness", message });
}

/** Events that say that a node is being disrupted. Published on the Node and its claim. */
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

/** Events about a pod's do-not-disrupt annotation: it is invalid, it has an end time, or that time is past. */
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
