/**
 * Updates the cluster state with objects. A mirror is the local copy of all objects of one kind, which a watch keeps up
 * to date. Each event of a mirror changes the state at once and in order, and reconciles nothing. The state must be as
 * fresh as the mirrors before any other controller runs, so these controllers are first in all.ts.
 * upstream: pkg/controllers/state/informer
 */
import type { Kind, KubeObject } from "../../apis/meta.ts";
import {
  AWAIT_CHANGE,
  type Controller,
  type Source,
  source,
} from "../../kube/manager/controller.ts";

/** How objects of one kind are put into the cluster state and removed from it. */
export interface StateFeed<T extends KubeObject> {
  readonly kind: Kind<T>;
  put(object: T): void;
  remove(object: T): void;
}

/** A controller without reconcile: its sources change the cluster state as soon as the watch delivers an event. */
export function feeder(name: string, watches: readonly Source[]): Controller {
  return { name, watches, concurrency: 1, reconcile: async () => AWAIT_CHANGE };
}

/** A source that puts objects of one kind into the cluster state, or removes them. */
export function fed<T extends KubeObject>({ kind, put, remove }: StateFeed<T>): Source {
  return source(kind, (object, event) => {
    if (event === "removed") remove(object);
    else put(object);
    return [];
  });
}
