/**
 * Patience with a pool whose replacements do not come up (no capacity, nodes that never join): each failure in a row
 * doubles the wait before the next one. Without it the same node would be closed and opened again every few seconds.
 * Written on the pool, so that the process that takes over waits as this one does, and that whoever explains what is
 * done next goes by what the loop goes by. Whoever takes it off the pool wants the next try now. Ours; upstream tries again at once.
 */

import { REPLACEMENTS_FAILED_ANNOTATION_KEY } from "../../apis/karpenter/labels.ts";
import type { KubeObject } from "../../apis/meta.ts";
import { parseBoundedJson } from "../../base/bounded-json.ts";
import { fromRfc3339, toRfc3339 } from "../../base/clock.ts";

const FIRST_MS = 60_000;
const MOST_MS = 10 * 60_000;
/** After a wait that was over so long ago the next failure is a first one: longer than a command waits for its replacements. */
const FORGOTTEN_AFTER_MS = 60 * 60_000;

/** That a pool is not asked for replacements. */
export interface PoolBackoff {
  /** How many commands in a row failed. At least one. */
  readonly failures: number;
  /** In whole seconds, as it is written. */
  readonly untilMs: number;
}

/** After so many failures in a row, from now on. */
export function backoffAfter(failures: number, nowMs: number): PoolBackoff {
  const waitMs = Math.min(MOST_MS, FIRST_MS * 2 ** Math.min(failures - 1, 10));
  return { failures, untilMs: Math.ceil((nowMs + waitMs) / 1_000) * 1_000 };
}

/** Whether it is over for so long that it says nothing about the pool any more. */
export function isForgotten({ untilMs }: PoolBackoff, nowMs: number): boolean {
  return nowMs >= untilMs + FORGOTTEN_AFTER_MS;
}

/** Undefined: the pool bears none. */
export function withBackoff(native: KubeObject, wait: PoolBackoff | undefined): KubeObject {
  const { [REPLACEMENTS_FAILED_ANNOTATION_KEY]: _, ...others } = native.metadata.annotations ?? {};
  const own = wait === undefined ? {} : { [REPLACEMENTS_FAILED_ANNOTATION_KEY]: written(wait) };
  return { ...native, metadata: { ...native.metadata, annotations: { ...others, ...own } } };
}

export function isWritten({ metadata }: KubeObject, wait: PoolBackoff | undefined): boolean {
  const text = metadata.annotations?.[REPLACEMENTS_FAILED_ANNOTATION_KEY];
  return text === (wait === undefined ? undefined : written(wait));
}

/** Whether the pool bears anything of the kind, whatever it says. */
export function hasBackoff({ metadata }: KubeObject): boolean {
  return metadata.annotations?.[REPLACEMENTS_FAILED_ANNOTATION_KEY] !== undefined;
}

/** Undefined also where another hand spoiled it, or it is forgotten. Never longer than a wait that begins now. */
export function backoffOn({ metadata }: KubeObject, nowMs: number): PoolBackoff | undefined {
  const text = metadata.annotations?.[REPLACEMENTS_FAILED_ANNOTATION_KEY];
  if (text === undefined) return undefined;
  try {
    const { failures, until } = parseBoundedJson(text) as { failures?: unknown; until?: unknown };
    const untilMs = typeof until === "string" ? fromRfc3339(until) : undefined;
    if (!Number.isSafeInteger(failures) || (failures as number) < 1 || untilMs === undefined)
      return undefined;
    const wait: PoolBackoff = { failures: failures as number, untilMs };
    if (isForgotten(wait, nowMs)) return undefined;
    const longest = backoffAfter(wait.failures, nowMs);
    return untilMs > longest.untilMs ? longest : wait;
  } catch {
    return undefined;
  }
}

function written({ failures, untilMs }: PoolBackoff): string {
  return JSON.stringify({ failures, until: toRfc3339(untilMs) });
}
