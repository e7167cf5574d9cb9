/** Amounts as people read them: real units, `–` for what is not known. */

export const UNKNOWN = "–";
const HOURS_OF_MONTH = 730;

/** `$0.038/h` */
export function perHour(microUsd: number | undefined): string {
  return microUsd === undefined ? UNKNOWN : `${dollars(microUsd / 1e6)}/h`;
}

/** A month has 730 hours. */
export function perMonth(microUsd: number): string {
  return `${dollars((microUsd / 1e6) * HOURS_OF_MONTH)} a month`;
}

function dollars(amount: number): string {
  const digits = Math.abs(amount) >= 1_000 ? 0 : Math.abs(amount) >= 1 ? 2 : 3;
  return `$${amount.toLocaleString("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits })}`;
}

/** Labels of an axis: as many digits as it takes to tell them apart. */
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

/** `100,000` */
export function grouped(count: number): string {
  return count.toLocaleString("en-US");
}

/** `1 pod`, `2 pods`. */
export function counted(count: number, noun: string): string {
  return `${grouped(count)} ${noun}${count === 1 ? "" : "s"}`;
}

/** `1h 5m`; the two largest units. */
export function duration(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1_000));
  if (seconds < 60) return `${seconds}s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return minutes < 10 ? `${minutes}m ${seconds % 60}s` : `${minutes}m`;
  const hours = Math.floor(minutes / 60);
  if (hours < 48) return `${hours}h ${minutes % 60}m`;
  return `${Math.floor(hours / 24)}d ${hours % 24}h`;
}

/** Since an RFC 3339 instant, by the cluster's clock. */
export function ageOf(since: string | undefined, nowMs: number): string {
  const ms = since === undefined ? Number.NaN : Date.parse(since);
  return Number.isNaN(ms) ? UNKNOWN : duration(nowMs - ms);
}

/** `12:04:09`, in the time zone of the browser. */
export function clockTime(at: string | number): string {
  const date = new Date(at);
  return Number.isNaN(date.getTime()) ? UNKNOWN : date.toLocaleTimeString("en-GB");
}

/** The part of a node's name that tells it from others. */
export function shortName(name: string): string {
  const first = name.split(".")[0] ?? name;
  return first.length > 18 ? `…${first.slice(-17)}` : first;
}

/** Control characters and marks that turn the direction of text, made visible: a name must not forge another one. */
export function plain(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}]/gu, "\u{FFFD}");
}
