/**
 * JSON text of large values, in steps. The what-if answer for a cluster of 5,000 nodes has more than a megabyte, and
 * `JSON.stringify` would hold the event loop for all of it.
 */
import type { Steps } from "./steps.ts";

/** The most values that are written in one go. They take a fraction of a millisecond. */
const VALUES_PER_STEP = 512;

/**
 * The text that `JSON.stringify` gives, in steps. For plain data only: objects and arrays without `toJSON`, texts,
 * numbers, booleans, null and undefined.
 */
export function* jsonInSteps(value: unknown): Steps<string> {
  const parts: string[] = [];
  yield* write(value ?? null, parts);
  return parts.join("");
}

function* write(value: unknown, parts: string[]): Steps<void> {
  if (valuesIn(value, VALUES_PER_STEP) < VALUES_PER_STEP) {
    parts.push(JSON.stringify(value));
    return;
  }
  if (Array.isArray(value)) yield* writeAll(value, parts);
  else yield* writeFields(value as Readonly<Record<string, unknown>>, parts);
}

/** Writes small items together until they fill a step. There is at least one item. */
function* writeAll(items: readonly unknown[], parts: string[]): Steps<void> {
  let separator = "[";
  let count = 0;
  for (const item of items) {
    parts.push(separator);
    separator = ",";
    const own = valuesIn(item, VALUES_PER_STEP);
    count += own;
    if (own < VALUES_PER_STEP) parts.push(JSON.stringify(item ?? null));
    else yield* write(item, parts);
    if (count < VALUES_PER_STEP) continue;
    count = 0;
    yield;
  }
  parts.push("]");
}

function* writeFields(object: Readonly<Record<string, unknown>>, parts: string[]): Steps<void> {
  let separator = "{";
  let count = 0;
  for (const name in object) {
    const field = object[name];
    if (field === undefined) continue;
    parts.push(`${separator}${JSON.stringify(name)}:`);
    separator = ",";
    const own = valuesIn(field, VALUES_PER_STEP);
    count += own;
    if (own < VALUES_PER_STEP) parts.push(JSON.stringify(field));
    else yield* write(field, parts);
    if (count < VALUES_PER_STEP) continue;
    count = 0;
    yield;
  }
  parts.push(separator === "{" ? "{}" : "}");
}

/** Number of values in this one, itself included. Counting ends at `most`. */
function valuesIn(value: unknown, most: number): number {
  if (typeof value !== "object" || value === null) return 1;
  let count = 1;
  for (const name in value) {
    if (count >= most) break;
    count += valuesIn((value as Record<string, unknown>)[name], most - count);
  }
  return count;
}
