/**
 * Events are stored as v1 (`involvedObject`, `message`) and also served as events.k8s.io/v1 (`regarding`,
 * `note`). Reads and writes rename the fields.
 */
import type { KubeObject } from "../../../apis/meta.ts";

const NEW_TO_CORE: Readonly<Record<string, string>> = {
  regarding: "involvedObject",
  note: "message",
  reportingController: "reportingComponent",
  deprecatedSource: "source",
  deprecatedFirstTimestamp: "firstTimestamp",
  deprecatedLastTimestamp: "lastTimestamp",
  deprecatedCount: "count",
};

const CORE_TO_NEW: Readonly<Record<string, string>> = Object.fromEntries(
  Object.entries(NEW_TO_CORE).map(([newName, coreName]) => [coreName, newName]),
);

/** An events.k8s.io/v1 Event as v1. */
export function coreEventOf(event: KubeObject): KubeObject {
  return renamed(event, NEW_TO_CORE, "v1");
}

/** A v1 Event as events.k8s.io/v1. */
export function newEventOf(event: KubeObject, apiVersion: string): KubeObject {
  return renamed(event, CORE_TO_NEW, apiVersion);
}

function renamed(
  event: KubeObject,
  names: Readonly<Record<string, string>>,
  apiVersion: string,
): KubeObject {
  const result: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(event)) result[names[key] ?? key] = value;
  return { ...(result as unknown as KubeObject), apiVersion };
}
