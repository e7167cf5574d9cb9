/**
 * Reads instance types from a file (docs/reference/plan.md), for any cloud. Prices are micro-dollars an hour,
 * amounts are Kubernetes quantities. Every error names file, entry and field.
 */
import { labelValueProblem, qualifiedNameProblem } from "../../apis/karpenter/label-syntax.ts";
import {
  CAPACITY_TYPE_LABEL_KEY,
  INSTANCE_TYPE_LABEL_KEY,
  normalizedLabel,
  TOPOLOGY_ZONE_LABEL_KEY,
} from "../../apis/karpenter/labels.ts";
import { formatResource, parseResources, type Resources } from "../../apis/resources.ts";
import { isObject } from "../../base/json.ts";
import { parseNano } from "../../base/quantity.ts";
import type {
  CapacityType,
  InstanceType,
  Offering,
} from "../../core/cloudprovider/instance-type.ts";
import { readJson } from "../../readers/json.ts";
import { LIMITS } from "../../readers/limits.ts";
import { CliError } from "../program/cli-error.ts";
import { expected } from "../program/manifest-text.ts";
import { shownValue } from "../program/shown.ts";

export interface InstanceTypeFile {
  readonly instanceTypes: readonly InstanceType[];
  /** Label keys in the file. A pod may require them even if the pool does not define them. */
  readonly wellKnownLabels: readonly string[];
}

const CAPACITY_TYPES: readonly string[] = ["on-demand", "spot", "reserved"];
const FIELDS = ["name", "labels", "capacity", "baseline", "overhead", "offerings"];
const LABEL_VALUE =
  "a label value (empty, or at most 63 letters, digits, '-', '_' or '.', with a letter or digit at both ends)";
const OFFERING_FIELDS = [
  "zone",
  "capacityType",
  "priceMicroUsdPerHour",
  "available",
  "reservation",
];

/** Parses the file. `path` is only for error messages. Throws CliError. */
export function parseInstanceTypes(path: string, text: string): InstanceTypeFile {
  const value = expected(() => readJson(text, { source: path, limits: LIMITS.jsonFiles }));
  if (!Array.isArray(value) || value.length === 0) {
    throw new CliError(`${path}: wanted a JSON array of at least one instance type`);
  }
  const instanceTypes = value.map((one, index) => instanceType(path, index, one));
  const names = new Map<string, number>();
  for (const [index, { name }] of instanceTypes.entries()) {
    const before = names.get(name);
    if (before !== undefined)
      throw new CliError(
        `${path}: [${index}].name: ${name} occurs twice, first in [${before}]; give each a name of its own`,
      );
    names.set(name, index);
  }
  const keys = new Set(instanceTypes.flatMap(({ labels }) => Object.keys(labels)));
  return { instanceTypes, wellKnownLabels: [...keys].sort() };
}

function instanceType(path: string, index: number, value: unknown): InstanceType {
  const at = new Place(path, `[${index}]`);
  const read = at.object(value, FIELDS);
  const name = at.field("name").labelValue(read["name"]);
  const here = new Place(path, name);
  const offerings = here
    .field("offerings")
    .list(read["offerings"])
    .map((one, position) => offering(here.field(`offerings[${position}]`), one));
  refuseTwins(here, offerings);
  const capacity = amounts(here.field("capacity"), read["capacity"]);
  const unique = (of: (one: Offering) => string) => [...new Set(offerings.map(of))].sort();
  const own = {
    [INSTANCE_TYPE_LABEL_KEY]: [name],
    [TOPOLOGY_ZONE_LABEL_KEY]: unique(({ zone }) => zone),
    [CAPACITY_TYPE_LABEL_KEY]: unique(({ capacityType }) => capacityType),
  };
  return {
    name,
    labels: { ...labels(here.field("labels"), read["labels"], own), ...own },
    capacity,
    ...baselineOf(here.field("baseline"), read["baseline"], capacity),
    overhead:
      read["overhead"] === undefined ? {} : amounts(here.field("overhead"), read["overhead"]),
    offerings: offerings.sort(byZone),
  };
}

function offering(at: Place, value: unknown): Offering {
  const read = at.object(value, OFFERING_FIELDS);
  const capacityType = at.field("capacityType").text(read["capacityType"]);
  if (!CAPACITY_TYPES.includes(capacityType)) {
    throw at.field("capacityType").wrong(capacityType, "one of on-demand, spot, reserved");
  }
  const price = read["priceMicroUsdPerHour"];
  if (typeof price !== "number" || !Number.isSafeInteger(price) || price < 0) {
    throw at.field("priceMicroUsdPerHour").wrong(price, "a whole number of micro-dollars an hour");
  }
  const available = read["available"] ?? true;
  if (typeof available !== "boolean") throw at.field("available").wrong(available, "true or false");
  return {
    zone: at.field("zone").labelValue(read["zone"]),
    capacityType: capacityType as CapacityType,
    priceMicroUsd: price,
    available,
    ...reservation(at.field("reservation"), read["reservation"], capacityType === "reserved"),
  };
}

/** Refuses two offerings with the same zone, capacity type and reservation: it is not clear which price counts. */
function refuseTwins(at: Place, offerings: readonly Offering[]): void {
  const seen = new Map<string, number>();
  for (const [index, { zone, capacityType, labels: ids }] of offerings.entries()) {
    const what = [zone, capacityType, ...Object.values(ids ?? {})].join(" ");
    const before = seen.get(what);
    if (before !== undefined) {
      const there = `one that is not offerings[${before}] again`;
      throw at.field(`offerings[${index}]`).wrong(what, there);
    }
    seen.set(what, index);
  }
}

/** Reads `{"id": "cr-1", "count": 3}`: a capacity reservation, and the number of instances that it has left. */
function reservation(at: Place, value: unknown, isReserved: boolean): Partial<Offering> {
  if (!isReserved) {
    if (value === undefined) return {};
    throw at.wrong(value, "none, for the capacityType is not reserved");
  }
  const read = at.object(value, ["id", "count"]);
  const count = read["count"];
  if (typeof count !== "number" || !Number.isSafeInteger(count) || count < 0) {
    throw at.field("count").wrong(count, "a whole number of instances");
  }
  const id = at.field("id").labelValue(read["id"]);
  return { reservationCapacity: count, labels: { "karpenter.sh/reservation-id": id } };
}

/**
 * Reads the labels. `own` are labels that follow from other fields; the file may repeat them, but not with other
 * values.
 */
function labels(
  at: Place,
  value: unknown,
  own: Readonly<Record<string, readonly string[]>>,
): Record<string, readonly string[]> {
  if (value === undefined) return {};
  const result: Record<string, readonly string[]> = {};
  for (const [key, one] of Object.entries(at.object(value))) {
    const values: unknown[] = Array.isArray(one) ? one : [one];
    const field = at.field(`"${key}"`);
    if (qualifiedNameProblem(key) !== undefined)
      throw field.wrong(key, "a label key such as example.com/disk");
    const texts = values.map((text) => field.labelValue(text, true));
    const name = normalizedLabel(key);
    // A label may have the name of an inherited property, such as toString.
    const said = Object.hasOwn(own, name) ? own[name] : undefined;
    if (said !== undefined && !isSameSet(texts, said)) {
      const by = said === own[INSTANCE_TYPE_LABEL_KEY] ? "its name says" : "its offerings say";
      const shown = said.map((text) => JSON.stringify(text)).join(", ");
      throw field.wrong(one, `${shown}, as ${by}, or no such label`);
    }
    result[key] = texts;
  }
  return result;
}

function isSameSet(left: readonly string[], right: readonly string[]): boolean {
  return left.every((one) => right.includes(one)) && right.every((one) => left.includes(one));
}

/** The baseline, which must not exceed the capacity. */
function baselineOf(
  at: Place,
  value: unknown,
  capacity: Resources,
): Pick<InstanceType, "baseline"> {
  if (value === undefined) return {};
  const baseline = amounts(at, value);
  for (const [name, amount] of Object.entries(baseline))
    if (amount > (capacity[name] ?? 0))
      throw at.field(name).wrong(formatResource(name, amount), "no more than the capacity has");
  return { baseline };
}

function amounts(at: Place, value: unknown): Resources {
  const read = at.object(value) as Record<string, string | number>;
  for (const [name, amount] of Object.entries(read)) {
    const known = typeof amount === "string" || typeof amount === "number";
    const nano = known ? parseNano(amount) : undefined;
    if (nano === undefined || nano < 0n) {
      throw at.field(name).wrong(amount, 'a quantity such as "2", "500m" or "8Gi"');
    }
  }
  return parseResources(read as Record<string, string>);
}

function byZone(a: Offering, b: Offering): number {
  const [left, right] = [a, b].map((one) => `${one.zone} ${one.capacityType}`);
  return (left as string) < (right as string) ? -1 : 1;
}

/** A place in the file, for error messages. */
class Place {
  readonly #file: string;
  readonly #path: string;

  constructor(file: string, path: string) {
    this.#file = file;
    this.#path = path;
  }

  field(name: string): Place {
    return new Place(this.#file, `${this.#path}.${name}`);
  }

  wrong(value: unknown, wanted: string): CliError {
    const got = value === undefined ? "nothing" : shownValue(value);
    return new CliError(`${this.#file}: ${this.#path}: wanted ${wanted}, got ${got}`);
  }

  object(value: unknown, fields?: readonly string[]): Record<string, unknown> {
    if (!isObject(value)) throw this.wrong(value, "an object");
    const stray = Object.keys(value).find((key) => fields !== undefined && !fields.includes(key));
    if (stray !== undefined) {
      throw new CliError(
        `${this.#file}: ${this.#path}.${stray}: unknown field; known are ${fields?.join(", ")}`,
      );
    }
    return value;
  }

  list(value: unknown): unknown[] {
    if (!Array.isArray(value)) throw this.wrong(value, "a list");
    return value;
  }

  text(value: unknown, mayBeEmpty = false): string {
    if (typeof value !== "string" || (value === "" && !mayBeEmpty)) {
      throw this.wrong(value, "a string");
    }
    return value;
  }

  /** A value that is valid as a label value. */
  labelValue(value: unknown, mayBeEmpty = false): string {
    const text = this.text(value, mayBeEmpty);
    if (labelValueProblem(text) !== undefined) throw this.wrong(text, LABEL_VALUE);
    return text;
  }
}
