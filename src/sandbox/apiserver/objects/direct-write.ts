/**
 * Writes of the server itself (a binding, a condition, a counter of a budget). They skip admission and validation, but
 * keep the rules of deletion.
 */

import type { KubeObject } from "../../../apis/meta.ts";
import { isObject } from "../../../base/json.ts";
import type { Call } from "../engine.ts";
import { ownedAfterWrite } from "../patch/managed-fields.ts";
import { storeUpdate, withManagedFields } from "../store/store-update.ts";
import { isNoOp } from "./object-meta.ts";

/** Stores `next` instead of the current object, unless nothing changed. Synchronous. */
export function writeDirectly(call: Call, current: KubeObject, next: KubeObject): KubeObject {
  return isNoOp(next, current) ? current : storeUpdate(call, next);
}

/** Like {@link writeDirectly}, and updates managedFields. */
export function writeOwned(
  call: Call,
  current: KubeObject,
  next: KubeObject,
  subresource = "",
): KubeObject {
  const owned = ownedAfterWrite(call, next, current, subresource);
  return writeDirectly(call, current, withManagedFields(next, owned));
}

interface ConditionShape {
  readonly type: string;
  readonly status: string;
  readonly reason?: string;
  readonly message?: string;
  readonly lastTransitionTime?: string;
  /** Only conditions of pods have this field; it is usually null. */
  readonly lastProbeTime?: string | null;
  readonly observedGeneration?: number;
}

/** The object with one condition of its status set; the time changes only when the status does. */
export function withCondition(object: KubeObject, condition: ConditionShape): KubeObject {
  const { status } = object as { status?: unknown };
  const before = isObject(status) ? status : {};
  const conditions = (before["conditions"] ?? []) as readonly ConditionShape[];
  const at = conditions.findIndex(({ type }) => type === condition.type);
  const known = conditions[at];
  const lastTransitionTime =
    known?.status === condition.status ? known.lastTransitionTime : condition.lastTransitionTime;
  const next = {
    ...condition,
    ...(lastTransitionTime === undefined ? {} : { lastTransitionTime }),
  };
  const list = at < 0 ? [...conditions, next] : conditions.with(at, next);
  return { ...object, status: { ...before, conditions: list } } as KubeObject;
}
