/**
 * What a budget allows at an instant, computed in a slow and simple way from the documented API: for each minute of the
 * duration, whether the schedule started then.
 */
import type { BudgetFacts } from "./pools.ts";

const MINUTE = 60_000;

/**
 * The number of nodes that the strictest active budget for the reason allows. Without budgets, Karpenter's default
 * of 10 %.
 */
export function allowedNodes(
  budgets: readonly BudgetFacts[],
  reason: string,
  nodes: number,
  nowMs: number,
): number {
  const all = budgets.length === 0 ? [{ nodes: "10%" }] : budgets;
  const counting = all.filter(
    (budget) => (budget.reasons?.includes(reason) ?? true) && isOpen(budget, nowMs),
  );
  return Math.min(...counting.map((budget) => amount(budget.nodes, nodes)));
}

function amount(text: string, nodes: number): number {
  return text.endsWith("%") ? Math.ceil((nodes * Number.parseInt(text, 10)) / 100) : Number(text);
}

export function isOpen({ schedule, duration }: BudgetFacts, nowMs: number): boolean {
  if (schedule === undefined || duration === undefined) return true;
  const [, hours = "0", minutes = "0"] = /^(?:(\d+)h)?(?:(\d+)m)?(?:0s)?$/.exec(duration) ?? [];
  const lengthMs = (Number(hours) * 60 + Number(minutes)) * MINUTE;
  const latest = Math.floor(nowMs / MINUTE) * MINUTE;
  for (let at = latest; at > nowMs - lengthMs; at -= MINUTE) if (strikes(schedule, at)) return true;
  return false;
}

const struck = new Map<string, boolean>();

/**
 * Whether the schedule starts in this minute. Reads only schedules of this form: `[CRON_TZ=place] minute hour * *
 * *`.
 */
function strikes(schedule: string, atMs: number): boolean {
  const key = `${schedule}@${atMs}`;
  const known = struck.get(key);
  if (known !== undefined) return known;
  const [, place, minute = "", hour = ""] =
    /^(?:(?:CRON_)?TZ=(\S+) )?(\S+) (\S+) \* \* \*$/.exec(schedule) ?? [];
  const [hourNow, minuteNow] = wallClock(place ?? "UTC", atMs);
  const answer = fits(minute, minuteNow) && fits(hour, hourNow);
  struck.set(key, answer);
  return answer;
}

const formats = new Map<string, Intl.DateTimeFormat>();

/** The hour and minute at this time in the time zone. */
export function wallClock(timeZone: string, atMs: number): readonly [number, number] {
  let format = formats.get(timeZone);
  if (format === undefined) {
    format = new Intl.DateTimeFormat("en-GB", { timeZone, hour: "2-digit", minute: "2-digit" });
    formats.set(timeZone, format);
  }
  const [hour = 0, minute = 0] = format.format(atMs).split(":").map(Number);
  return [hour % 24, minute];
}

/** Whether a cron field has the value: `*`, a step, `a-b` or `n`. */
function fits(field: string, value: number): boolean {
  const [from = "", to] = field.split("-");
  if (from === "*") return true;
  if (from.startsWith("*/")) return value % Number(from.slice(2)) === 0;
  return to === undefined ? value === Number(from) : value >= Number(from) && value <= Number(to);
}
