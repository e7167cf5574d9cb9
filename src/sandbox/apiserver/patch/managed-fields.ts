/**
 * managedFields: which manager set which field last. A write gives the changed fields to its manager and
 * takes them from all others. Removed fields have no owner.
 * upstream: apimachinery pkg/util/managedfields, structured-merge-diff merge
 */

import type { KubeObject } from "../../../apis/meta.ts";
import { toRfc3339 } from "../../../base/clock.ts";
import { isObject, setField } from "../../../base/json.ts";
import { compareText } from "../../../base/text-order.ts";
import { type Call, groupVersionOf, isCustom, managerOf } from "../engine.ts";
import {
  difference,
  EMPTY,
  type FieldSet,
  fromFieldsV1,
  intersection,
  isEmpty,
  LEAF,
  nodeOf,
  toFieldsV1,
  union,
} from "./field-set.ts";
import { compare } from "./typed-value.ts";

/** One item of `metadata.managedFields`. */
export interface ManagedEntry {
  readonly manager: string;
  readonly operation: "Apply" | "Update";
  readonly apiVersion: string;
  readonly time?: string;
  readonly fieldsType: "FieldsV1";
  readonly fieldsV1: Record<string, unknown>;
  readonly subresource?: string;
}

/** Highest number of entries with the operation Update. The oldest above it are merged into one. */
const MAX_UPDATE_MANAGERS = 10;
const ANCIENT = "ancient-changes";
/** Metadata that the server maintains has no owner. */
const SERVER_METADATA: ReadonlySet<string> = new Set([
  "name",
  "namespace",
  "uid",
  "resourceVersion",
  "generation",
  "creationTimestamp",
  "deletionTimestamp",
  "deletionGracePeriodSeconds",
  "managedFields",
  "selfLink",
]);

/** The managedFields of the object. */
export function entriesOf(object: KubeObject | undefined): readonly ManagedEntry[] {
  return (object?.metadata.managedFields ?? []) as readonly ManagedEntry[];
}

/** The object without fields that cannot have an owner. */
export function ownable(object: KubeObject | undefined): Record<string, unknown> {
  if (object === undefined) return {};
  const { apiVersion: _a, kind: _k, metadata, ...rest } = object;
  const kept: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(metadata)) {
    if (!SERVER_METADATA.has(key)) setField(kept, key, value);
  }
  return Object.keys(kept).length === 0 ? rest : { metadata: kept, ...rest };
}

/** The entries after a create, update or patch by the manager of the call. */
export function ownedAfterWrite(
  call: Call,
  next: KubeObject,
  current: KubeObject | undefined,
  subresource: string,
): readonly ManagedEntry[] {
  const before = subresource === "" ? entriesBefore(next, entriesOf(current)) : entriesOf(current);
  const after = ownable(next);
  // The server made the status of a new object, so it has no owner.
  if (current === undefined && call.definition.hasStatus) delete after["status"];
  const { definition } = call;
  // After a client removed all entries, none are added until the next apply.
  if (current !== undefined && before.length === 0) return before;
  const { changed, removed } = compare(
    ownable(current),
    after,
    definition.schema,
    isCustom(definition),
  );
  if (isEmpty(changed) && isEmpty(removed)) return before;
  return takeOver(before, {
    changed,
    removed,
    identity: {
      manager: managerOf(call),
      operation: "Update",
      apiVersion: groupVersionOf(call.definition),
      subresource,
    },
    time: toRfc3339(call.engine.clock.now()),
  });
}

/**
 * The entries after a write through `scale`, which changes one number (at `path`). If an owned number changes, the
 * writer becomes its owner. A number without an owner stays without one. The value 0 has no owner, because Go leaves it
 * out of a Scale. Entries for `scale` have no time. upstream: apimachinery pkg/util/managedfields/scalehandler.go
 */
export function ownedAfterScale(
  call: Call,
  next: KubeObject,
  current: KubeObject,
  path: readonly string[],
): readonly ManagedEntry[] {
  const before = entriesOf(current);
  const number = path.reduceRight(
    (below, name) => nodeOf(false, new Map([[`f:${name}`, below]])),
    LEAF,
  );
  const isOwned = before.some(
    ({ fieldsV1 }) => !isEmpty(intersection(fromFieldsV1(fieldsV1), number)),
  );
  const replicas = valueAt(next, path);
  if (!isOwned || replicas === valueAt(current, path)) return before;
  const others = before.flatMap((entry) =>
    withFields(entry, difference(fromFieldsV1(entry.fieldsV1), number)),
  );
  if (replicas === 0) return others;
  const identity: ManagerIdentity = {
    manager: managerOf(call),
    operation: "Update",
    apiVersion: groupVersionOf(call.definition),
    subresource: "scale",
  };
  return sorted([...others, entryFor(identity, number, undefined)]);
}

function valueAt(object: unknown, path: readonly string[]): unknown {
  return path.reduce<unknown>((value, name) => (isObject(value) ? value[name] : undefined), object);
}

/**
 * The entries before this write. A client may send other entries: `kubectl apply --server-side` moves the
 * fields of client-side apply to a new manager. One empty entry removes all entries.
 * upstream: apimachinery pkg/util/managedfields/internal/fieldmanager.go
 */
function entriesBefore(
  next: KubeObject,
  current: readonly ManagedEntry[],
): readonly ManagedEntry[] {
  const asked = (next.metadata.managedFields ?? []) as readonly Partial<ManagedEntry>[];
  if (asked.length === 1 && asked[0]?.fieldsV1 === undefined) return [];
  return asked.length > 0 && asked.every(isEntry) ? asked : current;
}

function isEntry(entry: Partial<ManagedEntry>): entry is ManagedEntry {
  return (
    (entry.operation === "Apply" || entry.operation === "Update") &&
    typeof entry.apiVersion === "string" &&
    entry.fieldsType === "FieldsV1" &&
    isObject(entry.fieldsV1)
  );
}

interface Takeover {
  readonly changed: FieldSet;
  readonly removed: FieldSet;
  readonly identity: ManagerIdentity;
  readonly time: string;
}

/** Identifies a manager. Entries with equal identity are merged. */
export interface ManagerIdentity {
  readonly manager: string;
  readonly operation: ManagedEntry["operation"];
  readonly apiVersion: string;
  readonly subresource: string;
}

function takeOver(
  entries: readonly ManagedEntry[],
  { changed, removed, identity, time }: Takeover,
): readonly ManagedEntry[] {
  const lost = union(changed, removed);
  const result: ManagedEntry[] = [];
  let own: FieldSet = EMPTY;
  for (const entry of entries) {
    // Entries of another API group (Event has two groups) use other field names, so they are dropped.
    if (groupOf(entry.apiVersion) !== groupOf(identity.apiVersion)) continue;
    const fields = fromFieldsV1(entry.fieldsV1);
    if (isEntryOf(entry, identity)) own = difference(fields, removed);
    else result.push(...withFields(entry, difference(fields, lost)));
  }
  const mine = union(own, changed);
  if (!isEmpty(mine)) result.push(entryFor(identity, mine, time));
  return sorted(capped(result));
}

function groupOf(apiVersion: string): string {
  return apiVersion.includes("/") ? apiVersion.slice(0, apiVersion.indexOf("/")) : "";
}

/** True if the entry belongs to this manager, operation, version and subresource. */
export function isEntryOf(entry: ManagedEntry, identity: ManagerIdentity): boolean {
  return (
    entry.manager === identity.manager &&
    entry.operation === identity.operation &&
    entry.apiVersion === identity.apiVersion &&
    (entry.subresource ?? "") === identity.subresource
  );
}

/** A new entry with these fields. */
export function entryFor(
  identity: ManagerIdentity,
  fields: FieldSet,
  time: string | undefined,
): ManagedEntry {
  const { manager, operation, apiVersion, subresource } = identity;
  return {
    manager,
    operation,
    apiVersion,
    ...(time === undefined ? {} : { time }),
    fieldsType: "FieldsV1",
    fieldsV1: toFieldsV1(fields),
    ...(subresource === "" ? {} : { subresource }),
  };
}

/** The entry with other fields, as a list. The list is empty if no fields are left. */
export function withFields(entry: ManagedEntry, fields: FieldSet): readonly ManagedEntry[] {
  if (isEmpty(fields)) return [];
  if (fields === fromFieldsV1(entry.fieldsV1)) return [entry];
  return [{ ...entry, fieldsV1: toFieldsV1(fields) }];
}

function capped(entries: ManagedEntry[]): ManagedEntry[] {
  const updates = entries.filter(({ operation }) => operation === "Update");
  if (updates.length <= MAX_UPDATE_MANAGERS) return entries;
  const byAge = updates.toSorted((a, b) => compareText(a.time ?? "", b.time ?? ""));
  const old = byAge.slice(0, updates.length - MAX_UPDATE_MANAGERS + 1);
  const last = old.at(-1) as ManagedEntry;
  const joined = old.reduce((set, entry) => union(set, fromFieldsV1(entry.fieldsV1)), EMPTY);
  const identity: ManagerIdentity = {
    manager: ANCIENT,
    operation: "Update",
    apiVersion: last.apiVersion,
    subresource: "",
  };
  const kept = entries.filter((entry) => !old.includes(entry));
  return [...kept, entryFor(identity, joined, last.time ?? "")];
}

/** Sorts in kube-apiserver's order: operation, time, manager, version, subresource. */
export function sorted(entries: readonly ManagedEntry[]): readonly ManagedEntry[] {
  if (entries.length < 2) return entries;
  const keyOf = (entry: ManagedEntry): string =>
    [entry.operation, entry.time, entry.manager, entry.apiVersion, entry.subresource].join("\n");
  return entries.toSorted((a, b) => compareText(keyOf(a), keyOf(b)));
}
