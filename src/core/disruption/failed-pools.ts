/**
 * Back-off for a pool whose replacements fail, because there is no capacity or new nodes never register. Each failure
 * in a row doubles the wait before the next replacement. Otherwise the same node would be tainted and untainted every
 * few seconds. An annotation of the pool stores the back-off; a person who removes it allows a new try. karpenter-ts
 * only; upstream tries again at once.
 */
import { parseObject } from "../../apis/hub/annotations.ts";
import { REPLACEMENTS_FAILED_ANNOTATION_KEY } from "../../apis/karpenter/labels.ts";
import type { KubeObject } from "../../apis/meta.ts";
import { fromRfc3339, toRfc3339 } from "../../base/clock.ts";

/** The wait after the first failure. */
const FIRST_MS = 60_000;
/** The longest wait. */
const MOST_MS = 10 * 60_000;
/** A failure this long after a back-off counts as the first one. No command waits longer for its replacements. */
const FORGOTTEN_AFTER_MS = 60 * 60_000;

/** A back-off: until when no replacement is launched in a pool. */
export interface PoolBackoff {
  /** How many commands failed in a row. At least 1. */
  readonly failures: number;
  /** The end of the back-off. It is always a whole second, because the annotation stores seconds. */
  readonly untilMs: number;
}

/** The back-off that begins now, after `failures` failures in a row. */
export function backoffAfter(failures: number, nowMs: number): PoolBackoff {
  const waitMs = Math.min(MOST_MS, FIRST_MS * 2 ** Math.min(failures - 1, 10));
  return { failures, untilMs: Math.ceil((nowMs + waitMs) / 1_000) * 1_000 };
}

/** Whether the back-off ended so long ago that it no longer counts. */
export function isForgotten({ untilMs }: PoolBackoff, nowMs: number): boolean {
  return nowMs >= untilMs + FORGOTTEN_AFTER_MS;
}

/** The pool with this back-off in its annotation. If `wait` is undefined: the pool without the annotation. */
export function withBackoff(native: KubeObject, wait: PoolBackoff | undefined): KubeObject {
  const { [REPLACEMENTS_FAILED_ANNOTATION_KEY]: _, ...others } = native.metadata.annotations ?? {};
  const own = wait === undefined ? {} : { [REPLACEMENTS_FAILED_ANNOTATION_KEY]: written(wait) };
  return { ...native, metadata: { ...native.metadata, annotations: { ...others, ...own } } };
}

/**
 * Whether the annotation of the pool stores exactly this back-off. `wait` undefined: whether the pool has no such
 * annotation.
 */
export function isWritten({ metadata }: KubeObject, wait: PoolBackoff | undefined): boolean {
  const text = metadata.annotations?.[REPLACEMENTS_FAILED_ANNOTATION_KEY];
  return text === (wait === undefined ? undefined : written(wait));
}

/** Whether the pool has the annotation, even if it is invalid. */
export function hasBackoff({ metadata }: KubeObject): boolean {
  return metadata.annotations?.[REPLACEMENTS_FAILED_ANNOTATION_KEY] !== undefined;
}

/**
 * The back-off that the pool's annotation stores. Undefined: there is none, it is invalid, or it ended too long ago. An
 * end that a person set too late is moved to that of a back-off which begins now.
 */
export function backoffOn({ metadata }: KubeObject, nowMs: number): PoolBackoff | undefined {
  const { failures, until } = parseObject({ metadata }, REPLACEMENTS_FAILED_ANNOTATION_KEY);
  const untilMs = typeof until === "string" ? fromRfc3339(until) : undefined;
  if (!Number.isSafeInteger(failures) || (failures as number) < 1 || untilMs === undefined)
    return undefined;
  const wait: PoolBackoff = { failures: failures as number, untilMs };
  if (isForgotten(wait, nowMs)) return undefined;
  const longest = backoffAfter(wait.failures, nowMs);
  return untilMs > longest.untilMs ? longest : wait;
}

function written({ failures, untilMs }: PoolBackoff): string {
  return JSON.stringify({ failures, until: toRfc3339(untilMs) });
}
