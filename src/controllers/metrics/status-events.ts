/**
 * Publishes events and metrics for each condition that changes on pools, claims, Nodes and node classes. The same is
 * done for finalizers that are removed. It compares an object with its previous version and sends no requests.
 * upstream: operatorpkg/status/controller.go
 */
import { NODE } from "../../apis/core/node.ts";
import type { Conditioned } from "../../apis/karpenter/conditions.ts";
import { NODE_CLAIM } from "../../apis/karpenter/nodeclaim.ts";
import { NODE_POOL } from "../../apis/karpenter/nodepool.ts";
import type { Kind, KubeObject } from "../../apis/meta.ts";
import type { EventToPublish } from "../../kube/events/events.ts";
import { type Controller, source } from "../../kube/manager/controller.ts";
import type { World } from "../world.ts";
import { observer } from "./observer.ts";
import { changes, statusMetricsOf } from "./status.ts";

/** The controller that publishes an event for each changed condition of this kind. upstream: operatorpkg/status. */
export function statusEvents(world: World, kind: Kind): Controller {
  const status = statusMetricsOf(world, kind);
  const watch = source(kind, (object, event, before) => {
    if (before === undefined) return [];
    const after = event === "removed" ? undefined : object;
    world.events.publish(...transitions(before, object), ...finalized(before, after));
    status.count(before, after);
    return [];
  });
  const name = `operatorpkg.${kind.kind.toLowerCase()}.status`;
  return observer(world.metrics, name, status.readers, [watch]);
}

/** The kinds whose condition changes become events, besides the provider's node classes. */
export const STATUS_EVENT_KINDS: readonly Kind[] = [
  NODE_POOL as Kind,
  NODE_CLAIM as Kind,
  NODE as Kind,
];

/** One event for each condition that existed before and has another status now. */
export function transitions(before: Conditioned, after: Conditioned): readonly EventToPublish[] {
  return changes(before, after).map(({ was, now }) => {
    const why = now.message ? `, Message: ${now.message}` : "";
    const change = `Status: ${was.status} -> ${now.status}, Reason: ${now.reason ?? ""}${why}`;
    return normal(after, now.type, `Status condition transitioned, Type: ${now.type}, ${change}`);
  });
}

/** One event for each finalizer that was removed. `after`: the object now; undefined if it is gone. */
export function finalized(
  before: KubeObject,
  after: KubeObject | undefined,
): readonly EventToPublish[] {
  if (before.metadata.deletionTimestamp === undefined) return [];
  const left = after?.metadata.finalizers ?? [];
  return (before.metadata.finalizers ?? [])
    .filter((name) => !left.includes(name))
    .map((name) => normal(before, "Finalized", `Finalized ${name}`));
}

function normal(object: KubeObject, reason: string, message: string): EventToPublish {
  return {
    object,
    type: "Normal",
    reason,
    message,
    dedupeValues: [object.metadata.name, message],
  };
}
