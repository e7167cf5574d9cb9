/**
 * Values seen through their schema, as server-side apply sees them: which maps and lists are taken
 * apart (granular maps, keyed lists, sets) and which are one value. Gives the field set of a value,
 * the difference of two, their merge, and a value without some fields.
 * upstream: structured-merge-diff typed
 */
import { clone, deepEqual, isObject } from "../../../base/json.ts";
import type { Schema } from "../schema/schema.ts";
import { EMPTY, type FieldSet, isEmpty, keyEdge, LEAF, nodeOf, valueEdge } from "./field-set.ts";

type Item = Readonly<Record<string, unknown>>;

/** How a value is taken apart: its parts by edge, or undefined when it is one value. */
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

function edgeOfItem(item: Item, schema: Schema | undefined): string {
  const keys: Record<string, unknown> = {};
  for (const key of schema?.["x-kubernetes-list-map-keys"] ?? []) {
    const value = item[key] ?? schema?.items?.properties?.[key]?.default;
    if (value !== undefined) keys[key] = value;
  }
  return keyEdge(keys);
}

function schemaAt(schema: Schema | undefined, edge: string): Schema | undefined {
  if (!edge.startsWith("f:")) return schema?.items;
  const property = schema?.properties?.[edge.slice(2)];
  if (property !== undefined) return property;
  const extra = schema?.additionalProperties;
  return typeof extra === "object" ? extra : undefined;
}

/** Keys of free maps and items of lists are themselves owned; fields of structs are not. */
function ownsItself(schema: Schema | undefined, edge: string): boolean {
  return !edge.startsWith("f:") || schema?.properties?.[edge.slice(2)] === undefined;
}

/** Every field of a value. */
export function fieldsOf(value: unknown, schema: Schema | undefined): FieldSet {
  const parts = partsOf(value, schema);
  if (parts === undefined) return LEAF;
  const children = new Map<string, FieldSet>();
  for (const [edge, child] of parts.byEdge) {
    const below = fieldsOf(child, schemaAt(schema, edge));
    const isMember = below.isMember || isEmpty(below) || ownsItself(schema, edge);
    children.set(edge, isMember === below.isMember ? below : { ...below, isMember });
  }
  return nodeOf(false, children);
}

export interface Comparison {
  /** Added or changed. */
  readonly changed: FieldSet;
  readonly removed: FieldSet;
}

const SAME: Comparison = { changed: EMPTY, removed: EMPTY };

/** What differs between two values, walking only where they do. */
export function compare(before: unknown, after: unknown, schema: Schema | undefined): Comparison {
  if (before === after) return SAME;
  const old = partsOf(before, schema);
  const next = partsOf(after, schema);
  if (old === undefined || next === undefined || old.kind !== next.kind) {
    return deepEqual(before, after) ? SAME : { changed: LEAF, removed: EMPTY };
  }
  const changed = new Map<string, FieldSet>();
  const removed = new Map<string, FieldSet>();
  for (const [edge, value] of next.byEdge) {
    const inner = schemaAt(schema, edge);
    const was = old.byEdge.get(edge);
    if (was === undefined) changed.set(edge, added(value, schema, edge));
    else {
      const below = compare(was, value, inner);
      changed.set(edge, below.changed);
      removed.set(edge, below.removed);
    }
  }
  for (const [edge, value] of old.byEdge) {
    if (next.byEdge.has(edge)) continue;
    removed.set(edge, { ...fieldsOf(value, schemaAt(schema, edge)), isMember: true });
  }
  return { changed: nodeOf(false, changed), removed: nodeOf(false, removed) };
}

/** A whole new part: a free map counts itself as well, as kube-apiserver shows labels. */
function added(value: unknown, schema: Schema | undefined, edge: string): FieldSet {
  const inner = schemaAt(schema, edge);
  const below = fieldsOf(value, inner);
  const isFreeMap = isObject(value) && inner?.properties === undefined;
  const isMember = below.isMember || isEmpty(below) || isFreeMap || ownsItself(schema, edge);
  return isMember === below.isMember ? below : { ...below, isMember };
}

/** `config` laid over `live`: what an apply makes before fields are taken away. */
export function merge(live: unknown, config: unknown, schema: Schema | undefined): unknown {
  if (config === undefined || config === null) return live;
  const old = partsOf(live, schema);
  const next = partsOf(config, schema);
  if (old === undefined || next === undefined || old.kind !== next.kind) return clone(config);
  if (old.kind === "map") {
    const result: Record<string, unknown> = { ...(live as Item) };
    for (const [edge, value] of next.byEdge) {
      const key = edge.slice(2);
      result[key] = merge(result[key], value, schemaAt(schema, edge));
    }
    return result;
  }
  // The applier's order when it lists all there is, else the live order with new items at the end.
  const isComplete = [...old.byEdge.keys()].every((edge) => next.byEdge.has(edge));
  const edges = isComplete
    ? [...next.byEdge.keys()]
    : [...new Set([...old.byEdge.keys(), ...next.byEdge.keys()])];
  return edges.map((edge) =>
    merge(old.byEdge.get(edge), next.byEdge.get(edge), schemaAt(schema, edge)),
  );
}

/** `value` without the members of `gone` and all below them. Containers that are emptied by it vanish: undefined. */
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
