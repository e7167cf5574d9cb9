/**
 * Values seen through their schema, as server-side apply does. Some maps and lists have parts with separate
 * owners (granular maps, keyed lists, sets). Others are owned as one value (atomic). This file computes field
 * sets, differences and merges of such values, and removes fields.
 * upstream: structured-merge-diff typed
 */
import { clone, deepEqual, fieldOf, isObject, setField } from "../../../base/json.ts";
import { propertySchema, type Schema } from "../schema/schema.ts";
import {
  EMPTY,
  type FieldSet,
  isEmpty,
  keyEdge,
  LEAF,
  nodeOf,
  pathText,
  valueEdge,
} from "./field-set.ts";

type Item = Readonly<Record<string, unknown>>;

/** The parts of a value by edge, if its parts have separate owners. */
interface Parts {
  readonly kind: "map" | "list" | "set";
  readonly byEdge: ReadonlyMap<string, unknown>;
}

function partsOf(value: unknown, schema: Schema | undefined): Parts | undefined {
  if (isObject(value)) {
    if (schema?.["x-kubernetes-map-type"] === "atomic") return undefined;
    const byEdge = new Map<string, unknown>();
    for (const [key, child] of Object.entries(value)) {
      if (child !== undefined) byEdge.set(`f:${key}`, child);
    }
    return { kind: "map", byEdge };
  }
  if (!Array.isArray(value)) return undefined;
  const type = schema?.["x-kubernetes-list-type"];
  if (type === "set") {
    return { kind: "set", byEdge: new Map(value.map((item) => [valueEdge(item), item])) };
  }
  if (type !== "map") return undefined;
  const byEdge = new Map<string, unknown>();
  for (const item of value) if (isObject(item)) byEdge.set(edgeOfItem(item, schema), item);
  return { kind: "list", byEdge };
}

/** Defaults for keys of built-in lists, which clients may omit. The schema data does not have these defaults. */
const KEY_DEFAULTS: Readonly<Record<string, unknown>> = { protocol: "TCP" };

function edgeOfItem(item: Item, schema: Schema | undefined): string {
  const keys: Record<string, unknown> = {};
  for (const key of schema?.["x-kubernetes-list-map-keys"] ?? []) {
    const value = item[key] ?? schema?.items?.properties?.[key]?.default ?? KEY_DEFAULTS[key];
    if (value !== undefined) keys[key] = value;
  }
  return keyEdge(keys);
}

/** The problem of a keyed list with a repeated key; undefined if there is none. */
export function duplicateKey(
  value: unknown,
  schema: Schema | undefined,
  path = "",
): string | undefined {
  if (isObject(value)) {
    for (const [key, child] of Object.entries(value)) {
      const found = duplicateKey(child, schemaAt(schema, `f:${key}`), `${path}.${key}`);
      if (found !== undefined) return found;
    }
  }
  if (!Array.isArray(value) || schema?.["x-kubernetes-list-type"] !== "map") return undefined;
  const seen = new Set<string>();
  for (const item of value) {
    if (!isObject(item)) continue;
    const edge = edgeOfItem(item, schema);
    if (seen.has(edge)) return `${path}: duplicate entries for key ${pathText([edge])}`;
    seen.add(edge);
    const found = duplicateKey(item, schema.items, `${path}${pathText([edge])}`);
    if (found !== undefined) return found;
  }
  return undefined;
}

function schemaAt(schema: Schema | undefined, edge: string): Schema | undefined {
  if (!edge.startsWith("f:")) return schema?.items;
  const property = propertySchema(schema, edge.slice(2));
  if (property !== undefined) return property;
  const extra = schema?.additionalProperties;
  return typeof extra === "object" ? extra : undefined;
}

/**
 * True for keys of free maps and for items of lists: they have an owner themselves. Fields of structs have an
 * owner only through the values in them.
 */
function ownsItself(schema: Schema | undefined, edge: string): boolean {
  return !edge.startsWith("f:") || propertySchema(schema, edge.slice(2)) === undefined;
}

/** The set of all fields of a value. */
export function fieldsOf(value: unknown, schema: Schema | undefined): FieldSet {
  const parts = partsOf(value, schema);
  if (parts === undefined) return LEAF;
  const children = new Map<string, FieldSet>();
  for (const [edge, child] of parts.byEdge) {
    const inner = schemaAt(schema, edge);
    // An empty keyed list or set has no owner.
    if (Array.isArray(child) && child.length === 0 && partsOf(child, inner) !== undefined) continue;
    const below = fieldsOf(child, inner);
    const hasOnlySuch = !below.isMember && isEmpty(below) && isObject(child);
    if (hasOnlySuch && Object.keys(child).length > 0) continue;
    const isMember = below.isMember || isEmpty(below) || ownsItself(schema, edge);
    children.set(edge, isMember === below.isMember ? below : { ...below, isMember });
  }
  return nodeOf(false, children);
}

/** Fields that differ between two values. */
export interface Comparison {
  /** Fields that were added or changed. */
  readonly changed: FieldSet;
  readonly removed: FieldSet;
}

const SAME: Comparison = { changed: EMPTY, removed: EMPTY };

/**
 * Structs that Go always writes for built-in kinds, even if they are empty, so an added one is not a change.
 * Structs in required fields are treated in the same way.
 */
const ALWAYS_THERE: ReadonlySet<string> = new Set([
  "spec",
  "status",
  "template",
  "resources",
  "strategy",
  "updateStrategy",
  "nodeInfo",
  "daemonEndpoints",
]);

/**
 * The fields that differ between two values. For a custom kind (`isCustom`), an absent part is really absent:
 * ALWAYS_THERE does not apply.
 */
export function compare(
  before: unknown,
  after: unknown,
  schema: Schema | undefined,
  isCustom: boolean,
): Comparison {
  // Most parts of an object are equal, and comparing values is cheaper than comparing parts by their edges.
  if (deepEqual(before, after)) return SAME;
  const old = partsOf(before, schema);
  const next = partsOf(after, schema);
  if (old === undefined || next === undefined || old.kind !== next.kind) {
    return { changed: LEAF, removed: EMPTY };
  }
  const changed = new Map<string, FieldSet>();
  const removed = new Map<string, FieldSet>();
  for (const [edge, value] of next.byEdge) {
    const inner = schemaAt(schema, edge);
    const was = old.byEdge.get(edge);
    if (was === undefined && !isAlwaysThere(schema, edge, isCustom))
      changed.set(edge, whole(value, inner));
    else {
      const empty = Array.isArray(value) ? [] : {};
      const below = compare(was ?? empty, value, inner, isCustom);
      changed.set(edge, below.changed);
      removed.set(edge, below.removed);
    }
  }
  for (const [edge, value] of old.byEdge) {
    if (next.byEdge.has(edge)) continue;
    removed.set(edge, whole(value, schemaAt(schema, edge)));
  }
  return { changed: nodeOf(false, changed), removed: nodeOf(false, removed) };
}

function isAlwaysThere(schema: Schema | undefined, edge: string, isCustom: boolean): boolean {
  const field = edge.slice(2);
  if (schema === undefined || !edge.startsWith("f:")) return false;
  if (propertySchema(schema, field) === undefined) return false;
  if (field === "metadata") return true;
  if (isPointer(schema, field)) return false;
  return !isCustom && (ALWAYS_THERE.has(field) || schema.required?.includes(field) === true);
}

/**
 * Whether a field named like one in ALWAYS_THERE is a pointer in Go, so that it can be absent. Such fields are the
 * resources of a whole pod and the template of a ReplicationController.
 */
function isPointer({ properties = {} }: Schema, field: string): boolean {
  if (field === "resources") return properties["containers"] !== undefined;
  const { selector } = properties;
  return field === "template" && selector !== undefined && selector.properties === undefined;
}

/** The fields of a part that was added or removed as a whole. Each map and list in it is itself a member. */
function whole(value: unknown, schema: Schema | undefined): FieldSet {
  const parts = partsOf(value, schema);
  if (parts === undefined || parts.byEdge.size === 0) return LEAF;
  const children = new Map<string, FieldSet>();
  for (const [edge, child] of parts.byEdge)
    children.set(edge, whole(child, schemaAt(schema, edge)));
  return nodeOf(true, children);
}

/**
 * Applies `config` to `live`. Atomic lists and maps are replaced as a whole. No other field is
 * removed here: fields that the applier no longer sends are removed later.
 */
export function merge(live: unknown, config: unknown, schema: Schema | undefined): unknown {
  if (config === undefined || config === null) return live;
  const old = partsOf(live, schema);
  const next = partsOf(config, schema);
  if (old === undefined || next === undefined || old.kind !== next.kind) return clone(config);
  if (old.kind === "map") {
    const result: Record<string, unknown> = { ...(live as Item) };
    for (const [edge, value] of next.byEdge) {
      const key = edge.slice(2);
      setField(result, key, merge(fieldOf(result, key), value, schemaAt(schema, edge)));
    }
    return result;
  }
  // If the applier lists all items, its order is used. Otherwise new items are added at the end.
  const isComplete = [...old.byEdge.keys()].every((edge) => next.byEdge.has(edge));
  const edges = isComplete
    ? [...next.byEdge.keys()]
    : [...new Set([...old.byEdge.keys(), ...next.byEdge.keys()])];
  return edges.map((edge) =>
    merge(old.byEdge.get(edge), next.byEdge.get(edge), schemaAt(schema, edge)),
  );
}

/** The value without the members of `gone` and everything below them. A container that becomes empty is removed too. */
export function without(value: unknown, gone: FieldSet, schema: Schema | undefined): unknown {
  if (isEmpty(gone)) return value;
  const parts = partsOf(value, schema);
  if (parts === undefined) return gone.isMember ? undefined : value;
  const kept: [string, unknown][] = [];
  for (const [edge, child] of parts.byEdge) {
    const below = gone.children.get(edge);
    if (below === undefined) kept.push([edge, child]);
    else if (!below.isMember) {
      const left = without(child, below, schemaAt(schema, edge));
      if (left !== undefined) kept.push([edge, left]);
    }
  }
  if (kept.length === 0) return undefined;
  if (parts.kind !== "map") return kept.map(([, child]) => child);
  return Object.fromEntries(kept.map(([edge, child]) => [edge.slice(2), child]));
}
