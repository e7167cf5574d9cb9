/**
 * Patience with a pool whose replacements do not come up (no capacity, nodes that never join): each failure in a row
 * doubles the wait before the next one. Without it the same node would be closed and opened again every few seconds.
 * Written on the pool, so that the process that takes over waits as this one does, and that whoever explains what is
 * done next goes by what the loop goes by. Ours; upstream tries again at once.
 */
import { REPLACEMENTS_FAILED_ANNOTATION_KEY } from "../../apis/karpenter/labels.ts";
import type { KubeObject } from "../../apis/meta.ts";
import { fromRfc3339, toRfc3339 } from "../../base/clock.ts";

const FIRST_MS = 60_000;
const MOST_MS = 10 * 60_000;

/** That a pool is not asked for replacements. */
export interface Wait {
  /** How many commands in a row failed. At least one. */
  readonly failures: number;
  /** In whole seconds, as it is written. */
  readonly untilMs: number;
}

/** After so many failures in a row, from now on. */
export function waitAfter(failures: number, nowMs: number): Wait {
  const waitMs = Math.min(MOST_MS, FIRST_MS * 2 ** Math.min(failures - 1, 10));
  return { failures, untilMs: Math.ceil((nowMs + waitMs) / 1_000) * 1_000 };
}

/** Undefined: the pool bears none. */
export function withWait(native: KubeObject, wait: Wait | undefined): KubeObject {
  const { [REPLACEMENTS_FAILED_ANNOTATION_KEY]: _, ...others } = native.metadata.annotations ?? {};
  const own = wait === undefined ? {} : { [REPLACEMENTS_FAILED_ANNOTATION_KEY]: written(wait) };
  return { ...native, metadata: { ...native.metadata, annotations: { ...others, ...own } } };
}

export function isWritten({ metadata }: KubeObject, wait: Wait | undefined): boolean {
  const text = metadata.annotations?.[REPLACEMENTS_FAILED_ANNOTATION_KEY];
  return text === (wait === undefined ? undefined : written(wait));
}

/** Undefined also where another hand spoiled it. Never longer than a wait that begins now. */
export function waitOn({ metadata }: KubeObject, nowMs: number): Wait | undefined {
  const text = metadata.annotations?.[REPLACEMENTS_FAILED_ANNOTATION_KEY];
  if (text === undefined) return undefined;
  try {
    const { failures, until } = JSON.parse(text) as { failures?: unknown; until?: unknown };
    const untilMs = typeof until === "string" ? fromRfc3339(until) : undefined;
    if (!Number.isSafeInteger(failures) || (failures as number) < 1 || untilMs === undefined)
      return undefined;
    const longest = waitAfter(failures as number, nowMs);
    return untilMs > longest.untilMs ? longest : { failures: failures as number, untilMs };
  } catch {
    return undefined;
  }
}

function written({ failures, untilMs }: Wait): string {
  return JSON.stringify({ failures, until: toRfc3339(untilMs) });
}
