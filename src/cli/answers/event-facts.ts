/**
 * What events tell: which nodes are nominated for pending pods, which pods lost their node, and for what nodes wait.
 * The controller keeps this in memory only, but publishes events.
 */
import type { Event } from "../../apis/core/kinds.ts";
import type { Pod } from "../../apis/core/pod.ts";
import { keyOf } from "../../apis/meta.ts";
import { fromRfc3339 } from "../../base/clock.ts";
import { PLANNED_NODE_LOST } from "../../controllers/provisioning/events.ts";
import { nominationMs } from "../../controllers/provisioning/nomination.ts";
import type { Settings } from "../../controllers/world.ts";
import type { Found } from "../plan/documents.ts";

const NOMINATED = "Nominated";
/** Events that say for what a node or its claim waits. */
const WAITS: readonly string[] = ["EndHeld", "DriftUnproven"];

/**
 * The reasons of the Events that this file reads. Other Events are not read from a cluster: all Events of a cluster
 * with 2,300 pods are 11,000 objects in 23 pages.
 */
export const EVENT_REASONS: readonly string[] = [NOMINATED, PLANNED_NODE_LOST, ...WAITS];

/** Why pods lost their planned node, by pod key: the message of the last event of each pod that says so. */
export function lostNodesOf(found: readonly Found[]): ReadonlyMap<string, string> {
  const lost = new Map<string, { readonly at: string; readonly message: string }>();
  for (const { object } of found) {
    if (object.kind !== "Event") continue;
    const { reason, message = "", involvedObject, lastTimestamp } = object as Event;
    if (reason !== PLANNED_NODE_LOST || involvedObject?.kind !== "Pod") continue;
    const key = `${involvedObject.namespace}/${involvedObject.name}`;
    const at = lastTimestamp ?? "";
    if (at >= (lost.get(key)?.at ?? "")) lost.set(key, { at, message });
  }
  return new Map(
    [...lost].map(([key, { at, message }]) => [key, at === "" ? message : `${message} (${at})`]),
  );
}

/** For what Nodes and claims wait, by name: the message of the last event of each reason, with its time. */
export function waitsOf(found: readonly Found[]): ReadonlyMap<string, readonly string[]> {
  const last = new Map<string, Event>();
  for (const { object } of found) {
    if (object.kind !== "Event") continue;
    const event = object as Event;
    const { reason = "", involvedObject, lastTimestamp } = event;
    if (!WAITS.includes(reason) || involvedObject?.kind === "Pod") continue;
    const key = `${involvedObject?.name} ${reason}`;
    if ((lastTimestamp ?? "") >= (last.get(key)?.lastTimestamp ?? "")) last.set(key, event);
  }
  const waits = new Map<string, string[]>();
  for (const { involvedObject, message = "", lastTimestamp } of last.values()) {
    const name = involvedObject?.name ?? "";
    const text = lastTimestamp == null ? message : `${message} (${lastTimestamp})`;
    waits.set(name, [...(waits.get(name) ?? []), text]);
  }
  return waits;
}

/** Until when a node or claim is nominated, by its name. Events of pods that are bound meanwhile do not count. */
export function nominationsOf(
  found: readonly Found[],
  pods: readonly Pod[],
  settings: Pick<Settings, "batchMaxMs">,
): ReadonlyMap<string, number> {
  const waiting = new Set(pods.filter(({ spec }) => !spec.nodeName).map(keyOf));
  const until = new Map<string, number>();
  for (const { object } of found) {
    if (object.kind !== "Event") continue;
    const { reason, message = "", involvedObject, lastTimestamp } = object as Event;
    if (reason !== NOMINATED || involvedObject?.kind !== "Pod") continue;
    if (!waiting.has(`${involvedObject.namespace}/${involvedObject.name}`)) continue;
    const atMs = fromRfc3339(lastTimestamp ?? undefined);
    if (atMs === undefined) continue;
    const endMs = atMs + nominationMs(settings);
    for (const [, name = ""] of message.matchAll(/(?:nodeclaim|machine|node)\/([^,\s]+)/g))
      until.set(name, Math.max(endMs, until.get(name) ?? 0));
  }
  return until;
}
