/**
 * Writes the server makes on its own behalf (a binding, a condition, a counter of a budget): no
 * admission, no validation, straight into the store, but with the rules of deletion kept.
 */

import type { KubeObject } from "../../../apis/meta.ts";
import { isObject } from "../../../base/json.ts";
import type { Call } from "../engine.ts";
import { ownedAfterWrite } from "../patch/managed-fields.ts";
import { storeUpdate, withManagedFields } from "../store/store-update.ts";
import { isNoOp } from "./object-meta.ts";

/** Stores `next` instead of the current object; a write without a change is skipped. Synchronous. */
export function writeDirectly(call: Call, current: KubeObject, next: KubeObject): KubeObject {
  return isNoOp(next, current) ? current : storeUpdate(call, next);
}

/** The same, with the note of who owns what brought up to date. */
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
  /** Conditions of pods have one, mostly null. */
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
