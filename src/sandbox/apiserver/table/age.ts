/** Ages as kubectl prints them: coarse, two units at most, `<unknown>` without a time. */
import type { KubeObject } from "../../../apis/meta.ts";

/** How long ago the object was created. */
export function ageCell(object: KubeObject, nowMs: number): string {
  return sinceCell(object.metadata.creationTimestamp, nowMs);
}

/** The time since an RFC 3339 instant; `<unknown>` without one. */
export function sinceCell(timestamp: unknown, nowMs: number): string {
  const atMs = typeof timestamp === "string" ? Date.parse(timestamp) : Number.NaN;
  return Number.isNaN(atMs) ? "<unknown>" : humanDuration(nowMs - atMs);
}

/**
 * A duration as kubectl prints it: `5s`, `3m10s`, `47m`, `5h12m`, `9h`, `3d4h`, `30d`, `2y40d`, `9y`. upstream:
 * apimachinery pkg/util/duration.
 */
export function humanDuration(spanMs: number): string {
  // Clocks may differ by two seconds. A time further in the future is a mistake, which the cell
  // shows.
  if (spanMs < -2_000) return "<invalid>";
  if (spanMs < 0) return "0s";
  const seconds = Math.floor(spanMs / 1_000);
  if (seconds < 120) return `${seconds}s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 10) return join(minutes, "m", seconds % 60, "s");
  if (minutes < 180) return `${minutes}m`;
  const hours = Math.floor(minutes / 60);
  if (hours < 8) return join(hours, "h", minutes % 60, "m");
  if (hours < 48) return `${hours}h`;
  const days = Math.floor(hours / 24);
  if (hours < 192) return join(days, "d", hours % 24, "h");
  if (days < 365 * 2) return `${days}d`;
  const years = Math.floor(days / 365);
  return years < 8 ? join(years, "y", days % 365, "d") : `${years}y`;
}

function join(large: number, largeUnit: string, small: number, smallUnit: string): string {
  return small === 0 ? `${large}${largeUnit}` : `${large}${largeUnit}${small}${smallUnit}`;
}
