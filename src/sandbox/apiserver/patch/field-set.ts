/**
 * Sets of field paths, as in managedFields: a tree with the edges `f:<field>`, `k:<keys>` and `v:<value>`.
 * Sets are immutable, and operations share unchanged subtrees.
 * upstream: structured-merge-diff fieldpath
 */
import { canonicalJson, isObject } from "../../../base/json.ts";

/** A set of paths into an object, as managedFields records them. */
export interface FieldSet {
  /** Whether the path that ends at this node belongs to the set. */
  readonly isMember: boolean;
  readonly children: ReadonlyMap<string, FieldSet>;
}

const NO_CHILDREN: ReadonlyMap<string, FieldSet> = new Map();

/** The empty set. */
export const EMPTY: FieldSet = { isMember: false, children: NO_CHILDREN };
/** The set whose only path ends at its root. */
export const LEAF: FieldSet = { isMember: true, children: NO_CHILDREN };

/** True if no path is in the set. */
export function isEmpty(set: FieldSet): boolean {
  return !set.isMember && set.children.size === 0;
}

/** A node with these children. Empty children are left out, and a node without content is EMPTY. */
export function nodeOf(isMember: boolean, children: Map<string, FieldSet>): FieldSet {
  for (const [edge, child] of children) if (isEmpty(child)) children.delete(edge);
  if (children.size > 0) return { isMember, children };
  return isMember ? LEAF : EMPTY;
}

/** The set of the paths of either set. It is `a` itself if `b` adds no path. */
export function union(a: FieldSet, b: FieldSet): FieldSet {
  if (a === b || isEmpty(b)) return a;
  if (isEmpty(a)) return b;
  const children = new Map(a.children);
  let isSame = a.isMember || !b.isMember;
  for (const [edge, child] of b.children) {
    const other = children.get(edge);
    const both = other === undefined ? child : union(other, child);
    if (both === other) continue;
    isSame = false;
    children.set(edge, both);
  }
  return isSame ? a : { isMember: a.isMember || b.isMember, children };
}

/** Paths in `a` that are not in `b`. It is `a` itself if they have no path in common. */
export function difference(a: FieldSet, b: FieldSet): FieldSet {
  if (isEmpty(a) || isEmpty(b)) return a;
  const children = new Map<string, FieldSet>();
  let isSame = !a.isMember || !b.isMember;
  for (const [edge, child] of a.children) {
    const other = b.children.get(edge);
    const left = other === undefined ? child : difference(child, other);
    if (left !== child) isSame = false;
    children.set(edge, left);
  }
  return isSame ? a : nodeOf(a.isMember && !b.isMember, children);
}

/** The set of the paths that are in both sets. */
export function intersection(a: FieldSet, b: FieldSet): FieldSet {
  if (isEmpty(a) || isEmpty(b)) return EMPTY;
  const children = new Map<string, FieldSet>();
  for (const [edge, child] of a.children) {
    const other = b.children.get(edge);
    if (other !== undefined) children.set(edge, intersection(child, other));
  }
  return nodeOf(a.isMember && b.isMember, children);
}

/** Every path of the set, as a list of edges, in order. */
export function* members(
  set: FieldSet,
  path: readonly string[] = [],
): Generator<readonly string[], void, undefined> {
  if (set.isMember) yield path;
  for (const edge of [...set.children.keys()].sort()) {
    yield* members(set.children.get(edge) as FieldSet, [...path, edge]);
  }
}

/** A path as conflicts print it: `.spec.containers[name="main"].image`. */
export function pathText(path: readonly string[]): string {
  return path
    .map((edge) => {
      const rest = edge.slice(2);
      if (edge.startsWith("f:")) return `.${rest}`;
      if (edge.startsWith("v:")) return `[=${rest}]`;
      const keys = JSON.parse(rest) as Record<string, unknown>;
      const pairs = Object.entries(keys).map(([key, value]) => `${key}=${JSON.stringify(value)}`);
      return `[${pairs.join(",")}]`;
    })
    .join("");
}

const read = new WeakMap<object, FieldSet>();

/** Parses `fieldsV1` and leaves out what is invalid. Results are cached by the identity of the value. */
export function fromFieldsV1(value: unknown): FieldSet {
  if (!isObject(value)) return EMPTY;
  const known = read.get(value);
  if (known !== undefined) return known;
  const set = nodeFrom(value, true);
  read.set(value, set);
  return set;
}

function nodeFrom(value: Record<string, unknown>, isRoot = false): FieldSet {
  const children = new Map<string, FieldSet>();
  let isMember = false;
  let isLeaf = true;
  for (const [edge, child] of Object.entries(value)) {
    isLeaf = false;
    if (edge === ".") isMember = true;
    else if (isObject(child)) children.set(edge, nodeFrom(child));
  }
  return nodeOf(isMember || (isLeaf && !isRoot), children);
}

const written = new WeakMap<FieldSet, Record<string, unknown>>();

/**
 * The set in the JSON form of `managedFields[].fieldsV1`. Results are cached by the identity of the set, because most
 * writes change only fields that their manager owns already.
 */
export function toFieldsV1(set: FieldSet): Record<string, unknown> {
  const known = written.get(set);
  if (known !== undefined) return known;
  const result = jsonOf(set);
  written.set(set, result);
  if (set.children.size > 0) read.set(result, set);
  return result;
}

function jsonOf(set: FieldSet): Record<string, unknown> {
  const result: Record<string, unknown> = {};
  if (set.isMember && set.children.size > 0) result["."] = {};
  for (const edge of [...set.children.keys()].sort()) {
    result[edge] = jsonOf(set.children.get(edge) as FieldSet);
  }
  return result;
}

/** The edge of one item of a keyed list. */
export function keyEdge(keys: Readonly<Record<string, unknown>>): string {
  return `k:${canonicalJson(keys)}`;
}

/** The edge of one value of a set. */
export function valueEdge(value: unknown): string {
  return `v:${canonicalJson(value)}`;
}
