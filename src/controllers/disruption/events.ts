/** Events of disruption, in the words of each generation. upstream: pkg/controllers/disruption/events */
import type { Generation } from "../../apis/hub/generation.ts";
import { vocabulary } from "../../apis/hub/generation.ts";
import type { KubeObject } from "../../apis/meta.ts";
import type { EventToPublish } from "../../kube/events.ts";

const BUDGET_DEDUPE_MS = 60_000;

/** On the Node and on its claim: why it may not be disrupted. */
export function blocked(
  objects: readonly KubeObject[],
  generation: Generation,
  message: string,
): readonly EventToPublish[] {
  const text = `${message.slice(0, 1).toUpperCase()}${message.slice(1)}`;
  return objects.map((object) => event(object, generation, "Blocked", text));
}

export function blockedByBudget(
  pool: KubeObject,
  generation: Generation,
  reason: string,
): EventToPublish {
  const message = `No allowed disruptions for disruption reason ${reason} due to blocking budget`;
  return { ...event(pool, generation, "Blocked", message), dedupeMs: BUDGET_DEDUPE_MS };
}

export function launching(
  claim: KubeObject,
  generation: Generation,
  reason: string,
): EventToPublish {
  const { claimKind } = vocabulary(generation);
  return event(claim, generation, "Launching", `Launching ${claimKind}: ${reason}`);
}

export function waitingReadiness(claim: KubeObject, generation: Generation): EventToPublish {
  const message = "Waiting on readiness to continue disruption";
  return event(claim, generation, "WaitingReadiness", message);
}

/** On the Node and on its claim. */
export function terminating(
  objects: readonly KubeObject[],
  generation: Generation,
  reason: string,
): readonly EventToPublish[] {
  return objects.map((object) =>
    event(object, generation, "Terminating", `Disrupting ${object.kind}: ${reason}`),
  );
}

function event(
  object: KubeObject,
  generation: Generation,
  reason: string,
  message: string,
): EventToPublish {
  return {
    object,
    type: "Normal",
    reason: `${vocabulary(generation).disruptionPrefix}${reason}`,
    message,
    dedupeValues: [object.metadata.name, message],
  };
}
