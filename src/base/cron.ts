/**
 * Five-field cron expressions and abbreviations such as `@daily`, with robfig/cron's grammar: lists, ranges, steps,
 * names of months and weekdays, `?` for `*`. If both day of month and weekday are restricted, a day that matches one of
 * them is enough. Times are in UTC, or in a named time zone: `CRON_TZ=Europe/Zurich 0 9 * * *`. A time that daylight
 * saving skips in spring does not occur. A time that it repeats in autumn occurs twice.
 */
import { counted } from "./counted.ts";
import { fieldOf } from "./json.ts";

/** A parsed cron expression: for each field, which numbers match. */
export interface Cron {
  readonly minutes: readonly boolean[];
  readonly hours: readonly boolean[];
  readonly daysOfMonth: readonly boolean[];
  readonly months: readonly boolean[];
  readonly weekdays: readonly boolean[];
  /**
   * Whether a day must match both fields for days, because at least one of them is unrestricted. False: both are
   * restricted, and a match of one is enough.
   */
  readonly bothDays: boolean;
  readonly zone: Zone | undefined;
}

/** The offset of a time zone from UTC at a given time. Both are in milliseconds. */
type Zone = (ms: number) => number;

/** One of the five fields of a cron expression. */
export interface CronField {
  readonly what: string;
  readonly min: number;
  readonly max: number;
  /** Names that may be used instead of numbers. The index of a name is its number. */
  readonly names: readonly string[];
}

/** The fields in the order of an expression: minute, hour, day of the month, month, day of the week. */
export const CRON_FIELDS: readonly CronField[] = [
  { what: "minute", min: 0, max: 59, names: [] },
  { what: "hour", min: 0, max: 23, names: [] },
  { what: "day of the month", min: 1, max: 31, names: [] },
  {
    what: "month",
    min: 1,
    max: 12,
    names: ["", "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"],
  },
  {
    what: "day of the week",
    min: 0,
    max: 6,
    names: ["sun", "mon", "tue", "wed", "thu", "fri", "sat"],
  },
];

const ABBREVIATIONS: Readonly<Record<string, string>> = {
  "@yearly": "0 0 1 1 *",
  "@annually": "0 0 1 1 *",
  "@monthly": "0 0 1 * *",
  "@weekly": "0 0 * * 0",
  "@daily": "0 0 * * *",
  "@midnight": "0 0 * * *",
  "@hourly": "0 * * * *",
};

/** Years to search for the next time. 30 February never occurs. robfig/cron uses the same limit. */
const SEARCH_YEARS = 5;
const MINUTE_MS = 60_000;
/** A time zone changes its offset only at a quarter of an hour. */
const QUARTER_MS = 15 * MINUTE_MS;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
/**
 * The most offsets of one time zone that are kept, because computing one is slow. They are computed for midnights, and
 * for each quarter of an hour of the days on which the offset changes.
 */
const KNOWN_OFFSETS = 4_096;

/** Parses a cron expression. Undefined: it is invalid. */
export function parseCron(text: string): Cron | undefined {
  const { place, rest } = split(text.trim());
  const zone = place === undefined ? undefined : zoneOf(place);
  if (place !== undefined && zone === undefined) return undefined;
  const fields = fieldsOf(rest);
  if (fields.length !== CRON_FIELDS.length) return undefined;
  const [minutes, hours, daysOfMonth, months, weekdays] = CRON_FIELDS.map((field, index) =>
    parseField(fields[index] as string, field),
  );
  if (!minutes || !hours || !daysOfMonth || !months || !weekdays) return undefined;
  return {
    minutes: minutes.allowed,
    hours: hours.allowed,
    daysOfMonth: daysOfMonth.allowed,
    months: months.allowed,
    weekdays: weekdays.allowed,
    bothDays: daysOfMonth.star || weekdays.star,
    zone,
  };
}

/** Which field is invalid, and what it may contain. Undefined: {@link parseCron} can parse the text. */
export function cronProblem(text: string): string | undefined {
  if (parseCron(text) !== undefined) return undefined;
  const { place, rest } = split(text.trim());
  if (place !== undefined && zoneOf(place) === undefined)
    return `there is no time zone ${JSON.stringify(place)}; one is written as CRON_TZ=Europe/Zurich`;
  if (rest.startsWith("@"))
    return `there is no ${JSON.stringify(rest)}; there are ${Object.keys(ABBREVIATIONS).join(", ")}`;
  const fields = fieldsOf(rest);
  if (fields.length !== CRON_FIELDS.length) {
    const wanted = CRON_FIELDS.map(({ what }) => what).join(", ");
    return `it has ${counted(fields.length, "field")} where five are wanted: ${wanted}`;
  }
  const index = CRON_FIELDS.findIndex((one, at) => !parseField(fields[at] as string, one));
  const { what, min, max, names } = CRON_FIELDS[index] as CronField;
  const named = names.length === 0 ? "" : `, or ${names[min]} to ${names[max]}`;
  return `${JSON.stringify(fields[index])} is no ${what}: ${min} to ${max}${named}`;
}

function fieldsOf(rest: string): readonly string[] {
  return (fieldOf(ABBREVIATIONS, rest) ?? rest).split(/\s+/).filter((field) => field !== "");
}

function split(text: string): { readonly place?: string; readonly rest: string } {
  const found = /^(?:CRON_)?TZ=(\S*)\s*(.*)$/.exec(text);
  return found === null ? { rest: text } : { place: found[1] as string, rest: found[2] as string };
}

/** The time zones that schedules have named, by name. Undefined: there is no such time zone. */
const zones = new Map<string, Zone | undefined>();
const KNOWN_ZONES = 100;

/** The time zone of this name. Undefined: it is unknown. */
function zoneOf(timeZone: string): Zone | undefined {
  if (!zones.has(timeZone)) {
    if (zones.size >= KNOWN_ZONES) zones.clear();
    zones.set(timeZone, readZone(timeZone));
  }
  return zones.get(timeZone);
}

function readZone(timeZone: string): Zone | undefined {
  let format: Intl.DateTimeFormat;
  try {
    format = new Intl.DateTimeFormat("en-US", {
      timeZone,
      hourCycle: "h23",
      year: "numeric",
      month: "numeric",
      day: "numeric",
      hour: "numeric",
      minute: "numeric",
    });
  } catch {
    return undefined;
  }
  const known = new Map<number, number>();
  const offsetAt = (at: number) => {
    let offset = known.get(at);
    if (offset !== undefined) return offset;
    const part = Object.fromEntries(
      format.formatToParts(at).map(({ type, value }) => [type, Number(value)]),
    );
    const { year = 0, month = 1, day = 1, hour = 0, minute = 0 } = part;
    offset = Date.UTC(year, month - 1, day, hour, minute) - at;
    if (known.size >= KNOWN_OFFSETS) known.clear();
    known.set(at, offset);
    return offset;
  };
  return (ms) => {
    const day = Math.floor(ms / DAY_MS) * DAY_MS;
    const offset = offsetAt(day);
    // No time zone changes its offset and changes it back within one day.
    if (offset === offsetAt(day + DAY_MS)) return offset;
    return offsetAt(Math.floor(ms / QUARTER_MS) * QUARTER_MS);
  };
}

/** The first matching time after `ms`, both in milliseconds since 1970. Undefined: there is none within five years. */
export function nextAfter(cron: Cron, ms: number): number | undefined {
  let at = Math.floor(ms / MINUTE_MS) * MINUTE_MS + MINUTE_MS;
  const limit = at + SEARCH_YEARS * 366 * DAY_MS;
  const { zone } = cron;
  while (at < limit) {
    const offset = zone?.(at) ?? 0;
    const date = new Date(at + offset);
    if (!cron.months[date.getUTCMonth() + 1] || !fitsDay(cron, date)) {
      at = startOfNext(DAY_MS, at, offset, zone);
    } else if (!cron.hours[date.getUTCHours()]) {
      at = startOfNext(HOUR_MS, at, offset, zone);
    } else if (!cron.minutes[date.getUTCMinutes()]) {
      at += MINUTE_MS;
    } else {
      return at;
    }
  }
  return undefined;
}

/** When the next day or hour of the time zone begins, even if the offset changes before that. */
function startOfNext(unitMs: number, at: number, offset: number, zone: Zone | undefined): number {
  const next = Math.floor((at + offset) / unitMs) * unitMs + unitMs - offset;
  const shift = offset - (zone?.(next) ?? offset);
  return Math.max(at + MINUTE_MS, next + shift);
}

function fitsDay(cron: Cron, date: Date): boolean {
  const day = cron.daysOfMonth[date.getUTCDate()] === true;
  const weekday = cron.weekdays[date.getUTCDay()] === true;
  return cron.bothDays ? day && weekday : day || weekday;
}

function parseField(
  text: string,
  field: CronField,
): { allowed: boolean[]; star: boolean } | undefined {
  const allowed: boolean[] = new Array(field.max + 1).fill(false);
  let star = false;
  for (const part of text.split(",")) {
    const range = parseRange(part, field);
    if (range === undefined) return undefined;
    star ||= range.star;
    for (let value = range.from; value <= range.to; value += range.step) allowed[value] = true;
  }
  return { allowed, star };
}

function parseRange(
  part: string,
  field: CronField,
): { from: number; to: number; step: number; star: boolean } | undefined {
  const [span = "", stepText, ...more] = part.split("/");
  const step = stepText === undefined ? 1 : Number(stepText);
  if (more.length > 0 || !Number.isInteger(step) || step < 1) return undefined;
  if (span === "*" || span === "?") {
    return { from: field.min, to: field.max, step, star: step === 1 };
  }
  const [low = "", high, ...rest] = span.split("-");
  const from = parseValue(low, field);
  // `5/15` means from 5 to the end, in steps of 15.
  const end =
    high === undefined ? (stepText === undefined ? from : field.max) : parseValue(high, field);
  if (rest.length > 0 || from === undefined || end === undefined || from > end) return undefined;
  return { from, to: end, step, star: false };
}

function parseValue(text: string, { min, max, names }: CronField): number | undefined {
  const named = text === "" ? -1 : names.indexOf(text.toLowerCase());
  const value = named >= 0 ? named : /^\d+$/.test(text) ? Number(text) : Number.NaN;
  return value >= min && value <= max ? value : undefined;
}
