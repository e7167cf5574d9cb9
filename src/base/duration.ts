/**
 * Durations as Go writes them (`1h30m`, `500ms`, `-1.5s`), which flags and API fields use. Here durations are whole
 * milliseconds; smaller units are rounded.
 */

const UNIT_MS: Readonly<Record<string, number>> = {
  ns: 1e-6,
  us: 1e-3,
  µs: 1e-3,
  ms: 1,
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
};

/** The longest duration of Go in milliseconds, about 292 years. */
export const MOST_DURATION_MS = 9_223_372_036_854;

/**
 * Parses a duration to milliseconds. Undefined: the text is invalid in Go, or the duration is too long for Go. `0`
 * needs no unit.
 */
export function parseDuration(text: string): number | undefined {
  if (text === "0") return 0;
  const sign = text.startsWith("-") ? -1 : 1;
  const body = text.replace(/^[-+]/, "");
  const part = /(\d+(?:\.\d*)?|\.\d+)(ns|us|µs|ms|s|m|h)/y;
  let totalMs = 0;
  while (part.lastIndex < body.length) {
    const match = part.exec(body);
    if (match === null) return undefined;
    totalMs += Number(match[1]) * (UNIT_MS[match[2] as string] as number);
  }
  return body === "" || totalMs > MOST_DURATION_MS ? undefined : sign * Math.round(totalMs);
}

/** A duration in milliseconds, or `"Never"`, with which the API switches a duration off. */
export type NillableMs = number | "Never";

/** Parses a duration to milliseconds, or `"Never"`. Undefined: the text is neither. */
export function parseNillableDuration(text: string): NillableMs | undefined {
  return text === "Never" ? "Never" : parseDuration(text);
}

/** Writes a duration like Go's `Duration.String()`: `1h30m0s`, `1.5s`, `15ms`, `0s`. */
export function formatDuration(ms: number): string {
  if (ms === 0) return "0s";
  const sign = ms < 0 ? "-" : "";
  const whole = Math.abs(ms);
  if (whole < 1) return `${sign}${trimNumber(whole * 1_000)}µs`;
  if (whole < 1_000) return `${sign}${trimNumber(whole)}ms`;
  const hours = Math.floor(whole / 3_600_000);
  const minutes = Math.floor(whole / 60_000) % 60;
  const seconds = `${trimNumber((whole % 60_000) / 1_000)}s`;
  if (hours > 0) return `${sign}${hours}h${minutes}m${seconds}`;
  return minutes > 0 ? `${sign}${minutes}m${seconds}` : `${sign}${seconds}`;
}

function trimNumber(value: number): string {
  return String(Number(value.toFixed(6)));
}

/**
 * What to write instead of a text with a unit that Go's durations do not have, such as `336h` for `14d`. Undefined for
 * other texts.
 */
export function durationHint(text: string): string | undefined {
  const found = /^([\d.]+) ?(d|days?|w|weeks?|y|years?)(?![a-z])(.*)$/i.exec(text);
  const [, amount = "", unit = "", rest = ""] = found ?? [];
  const known = HOURS_OF_UNIT[unit.charAt(0).toLowerCase()];
  if (known === undefined) return undefined;
  const [word, hours] = known;
  const meant = Number(amount) * hours;
  const isWhole = rest === "" && Number.isSafeInteger(meant);
  const instead = isWhole ? `write ${meant}h` : "write it in hours, such as 1h30m or 720h";
  return `a duration has no ${word}; ${instead} (${hours} hours to the ${word.slice(0, -1)})`;
}

const HOURS_OF_UNIT: Readonly<Record<string, readonly [plural: string, hours: number]>> = {
  d: ["days", 24],
  w: ["weeks", 168],
  y: ["years", 8760],
};
