/** Formats amounts for people, with units. An unknown amount is `–`. */

export const UNKNOWN = "–";
const HOURS_OF_MONTH = 730;

/** Formats a price an hour: `$0.038/h`. */
export function perHour(microUsd: number | undefined): string {
  return microUsd === undefined ? UNKNOWN : `${dollars(microUsd / 1e6)}/h`;
}

/** The sum of the known prices. Undefined: no price is known. */
export function knownSum(sum: {
  readonly priceMicroUsdPerHour: number;
  readonly unpriced: number;
}): number | undefined {
  return sum.priceMicroUsdPerHour === 0 && sum.unpriced > 0 ? undefined : sum.priceMicroUsdPerHour;
}

/** Formats a price a month of 730 hours. */
export function perMonth(microUsd: number | undefined): string {
  if (microUsd === undefined) return UNKNOWN;
  return `${dollars((microUsd / 1e6) * HOURS_OF_MONTH)} a month`;
}

function dollars(amount: number): string {
  const digits = Math.abs(amount) >= 1_000 ? 0 : Math.abs(amount) >= 1 ? 2 : 3;
  return `$${amount.toLocaleString("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits })}`;
}

/** Formats the labels of an axis, with enough digits to distinguish them. */
export function axisDollars(ticks: readonly number[]): string[] {
  const step = Math.abs((ticks[1] ?? 1) - (ticks[0] ?? 0)) || 1;
  const digits = Math.max(0, Math.min(6, Math.ceil(-Math.log10(step) - 1e-9)));
  const options = { minimumFractionDigits: digits, maximumFractionDigits: digits };
  return ticks.map((tick) => `$${tick.toLocaleString("en-US", options)}`);
}

export function percent(part: number, whole: number): string {
  return whole <= 0 ? UNKNOWN : `${Math.round((100 * part) / whole)} %`;
}

export function cores(milli: number): string {
  return `${(milli / 1_000).toLocaleString("en-US", { maximumFractionDigits: 1 })} cores`;
}

export function gibibytes(bytes: number): string {
  return `${(bytes / 2 ** 30).toLocaleString("en-US", { maximumFractionDigits: 1 })} GiB`;
}

/** Formats a number with separators: `100,000`. */
export function grouped(count: number): string {
  return count.toLocaleString("en-US");
}

/** Formats a number with its noun: `1 pod`, `2 pods`. */
export function counted(count: number, noun: string): string {
  return `${grouped(count)} ${noun}${count === 1 ? "" : "s"}`;
}

/** Formats a duration in its two largest units: `1h 5m`. Between 10 minutes and an hour it has only minutes. */
export function duration(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1_000));
  if (seconds < 60) return `${seconds}s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return minutes < 10 ? `${minutes}m ${seconds % 60}s` : `${minutes}m`;
  const hours = Math.floor(minutes / 60);
  if (hours < 48) return `${hours}h ${minutes % 60}m`;
  return `${Math.floor(hours / 24)}d ${hours % 24}h`;
}

/** The time from an RFC 3339 instant until `nowMs`, which is the cluster's time. */
export function ageOf(since: string | undefined, nowMs: number): string {
  const ms = since === undefined ? Number.NaN : Date.parse(since);
  return Number.isNaN(ms) ? UNKNOWN : duration(nowMs - ms);
}

/** Formats a time of day in the browser's time zone: `12:04:09`. */
export function clockTime(at: string | number): string {
  const date = new Date(at);
  return Number.isNaN(date.getTime()) ? UNKNOWN : date.toLocaleTimeString("en-GB");
}

/** The part of a node's name before the first dot. If it has more than 18 characters, only the last 17. */
export function shortName(name: string): string {
  const first = name.split(".")[0] ?? name;
  return first.length > 18 ? `…${first.slice(-17)}` : first;
}

/**
 * Replaces control characters and marks that change the direction of text. Otherwise one name could look like
 * another.
 */
export function plain(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}]/gu, "\u{FFFD}");
}
