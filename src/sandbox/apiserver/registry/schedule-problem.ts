/**
 * Errors of a CronJob's schedule, in robfig/cron's words, and of its time zone, in kube-apiserver's.
 * upstream: github.com/robfig/cron/v3 parser.go, pkg/apis/batch/validation
 */
import { CRON_FIELDS, type CronField, parseCron } from "../../../base/cron.ts";

/** Why the schedule is invalid. Undefined if it is valid. */
export function scheduleProblem(schedule: string): string | undefined {
  if (parseCron(schedule) !== undefined) return undefined;
  if (schedule.startsWith("@")) return `unrecognized descriptor: ${schedule}`;
  const fields = schedule.trim().split(/\s+/);
  if (fields.length !== CRON_FIELDS.length)
    return `expected exactly ${CRON_FIELDS.length} fields, found ${fields.length}: [${fields.join(" ")}]`;
  for (const [index, field] of fields.entries())
    for (const range of field.split(",")) {
      const problem = rangeProblem(range, CRON_FIELDS[index] as CronField);
      if (problem !== undefined) return problem;
    }
  return "cannot be read";
}

/** Why the time zone is invalid. Undefined if it is known. */
export function timeZoneProblem(timeZone: string): string | undefined {
  if (timeZone === "") return "timeZone must be nil or non-empty string";
  if (timeZone.toLowerCase() === "local")
    return "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones";
  const isKnown = parseCron(`CRON_TZ=${timeZone} 0 0 * * *`) !== undefined;
  return isKnown ? undefined : `unknown time zone ${timeZone}`;
}

function rangeProblem(range: string, field: CronField): string | undefined {
  const [span = "", step, ...moreSteps] = range.split("/");
  const [from = "", to, ...moreEnds] = span.split("-");
  if (moreEnds.length > 0) return `too many hyphens: ${range}`;
  if (moreSteps.length > 0) return `too many slashes: ${range}`;
  const isAll = from === "*" || from === "?";
  for (const word of [...(isAll ? [] : [from]), ...(to === undefined ? [] : [to])])
    if (numberOf(word, field) === undefined) return noNumber(word);
  if (step !== undefined && !/^\d+$/.test(step)) return noNumber(step);
  const start = isAll ? field.min : (numberOf(from, field) ?? 0);
  const single = step === undefined && !isAll ? start : field.max;
  const end = to === undefined ? single : (numberOf(to, field) ?? 0);
  if (start < field.min)
    return `beginning of range (${start}) below minimum (${field.min}): ${range}`;
  if (end > field.max) return `end of range (${end}) above maximum (${field.max}): ${range}`;
  if (start > end) return `beginning of range (${start}) beyond end of range (${end}): ${range}`;
  return step === "0" ? `step of range should be a positive number: ${range}` : undefined;
}

function numberOf(word: string, { names }: CronField): number | undefined {
  const named = word === "" ? -1 : names.indexOf(word.toLowerCase());
  if (named >= 0) return named;
  return /^\d+$/.test(word) ? Number(word) : undefined;
}

function noNumber(word: string): string {
  return `failed to parse int from ${word}: strconv.Atoi: parsing "${word}": invalid syntax`;
}
