/**
 * Strategic merge patch. It differs from a merge patch in two ways. The schema says which lists have keys,
 * and those are merged item by item. And it has the directives `$patch`, `$retainKeys`,
 * `$setElementOrder/<list>` and `$deleteFromPrimitiveList/<list>`.
 * upstream: apimachinery pkg/util/strategicpatch
 */
import { clone, fieldOf, isObject, setField } from "../../../base/json.ts";
import { goText } from "../request/go-json.ts";
import { ApiError } from "../request/status.ts";
import { propertySchema, type Schema } from "../schema/schema.ts";

type Item = Record<string, unknown>;

const SET_ORDER = "$setElementOrder/";
const DELETE_PRIMITIVES = "$deleteFromPrimitiveList/";

/**
 * Applies `patch` to `target`, and changes neither. Throws 500 for a contradictory patch, as kube-apiserver
 * does.
 */
export function applyStrategicPatch(target: unknown, patch: unknown, schema: Schema): unknown {
  if (!isObject(patch)) return clone(patch);
  return mergeObject(isObject(target) ? target : {}, patch, schema);
}

function mergeObject(target: Item, patch: Item, schema: Schema | undefined): Item {
  const directive = patch["$patch"];
  if (directive === "replace") return withoutDirectives(patch, schema);
  if (directive === "delete") return {};
  if (directive !== undefined && directive !== "merge")
    throw senseless(`unknown patch type: ${String(directive)} in map: ${goText(patch)}`);
  const result: Item = { ...target };
  const retained = patch["$retainKeys"];
  if (Array.isArray(retained)) {
    const kept = new Set(retained);
    for (const key of Object.keys(result)) if (!kept.has(key)) delete result[key];
  }
  for (const [key, value] of Object.entries(patch)) {
    if (key === "$patch" || key === "$retainKeys") continue;
    if (key.startsWith(SET_ORDER)) {
      const field = key.slice(SET_ORDER.length);
      checkOrder(fieldOf(patch, field), value, schema, field);
      continue;
    }
    if (key.startsWith(DELETE_PRIMITIVES)) {
      removePrimitives(result, key.slice(DELETE_PRIMITIVES.length), value);
    } else if (value === null) delete result[key];
    else setField(result, key, mergeValue(fieldOf(result, key), value, childSchema(schema, key)));
  }
  for (const [key, order] of Object.entries(patch)) {
    if (!key.startsWith(SET_ORDER) || !Array.isArray(order)) continue;
    const field = key.slice(SET_ORDER.length);
    const list = fieldOf(result, field);
    if (Array.isArray(list))
      setField(result, field, reordered(list, order, childSchema(schema, field)));
  }
  return result;
}

function mergeValue(target: unknown, patch: unknown, schema: Schema | undefined): unknown {
  const strategies = (schema?.["x-kubernetes-patch-strategy"] ?? "").split(",");
  if (isObject(patch)) {
    const isReplaced = strategies.includes("replace");
    return mergeObject(isObject(target) && !isReplaced ? target : {}, patch, schema);
  }
  if (!Array.isArray(patch)) return patch;
  if (!strategies.includes("merge")) return clone(patch);
  const list = Array.isArray(target) ? target : [];
  if ([...list, ...patch].every((item) => !isObject(item))) {
    const known = new Set<unknown>(list);
    return [...list, ...patch.filter((item) => !known.has(item))];
  }
  return mergeItems(list as Item[], patch as Item[], schema);
}

function mergeItems(
  list: readonly Item[],
  patch: readonly Item[],
  schema: Schema | undefined,
): Item[] {
  const mergeKey = schema?.["x-kubernetes-patch-merge-key"] ?? "name";
  const additions = patch.filter((item) => item["$patch"] !== "delete" && !isReplaceMark(item));
  if (patch.some(isReplaceMark)) {
    return additions.map((item) => withoutDirectives(item, schema?.items));
  }
  for (const item of patch) {
    if (item[mergeKey] !== undefined) continue;
    throw senseless(`map: ${goText(item)} does not contain declared merge key: ${mergeKey}`);
  }
  const deleted = new Set(
    patch.filter((item) => item["$patch"] === "delete").map((item) => item[mergeKey]),
  );
  const result = list.filter((item) => !deleted.has(item[mergeKey]));
  const positions = new Map<unknown, number>();
  result.forEach((item, index) => {
    if (!positions.has(item[mergeKey])) positions.set(item[mergeKey], index);
  });
  const added: Item[] = [];
  for (const item of additions) {
    const at = positions.get(item[mergeKey]);
    if (at === undefined) added.push(mergeObject({}, item, schema?.items));
    else result[at] = mergeObject(result[at] as Item, item, schema?.items);
  }
  const keys = additions.map((item) => item[mergeKey]);
  return interleaved(result, added, keys, mergeKey);
}

/**
 * Adds new items to a list. Items of the patch take the patch's order. An item that is not in the patch remains before
 * every patched item that it preceded in the list.
 * upstream: apimachinery pkg/util/strategicpatch normalizeElementOrder
 */
function interleaved(
  list: readonly Item[],
  added: readonly Item[],
  patchKeys: readonly unknown[],
  mergeKey: string,
): Item[] {
  if (added.length === 0) return [...list];
  const position = new Map(list.map((item, index) => [item[mergeKey], index]));
  const byKey = new Map([...list, ...added].map((item) => [item[mergeKey], item]));
  const patched = new Set(patchKeys);
  const others = list.filter((item) => !patched.has(item[mergeKey]));
  const result: Item[] = [];
  let next = 0;
  for (const key of patchKeys) {
    const at = position.get(key);
    for (let other = others[next]; at !== undefined && other !== undefined; other = others[next]) {
      if ((position.get(other[mergeKey]) as number) >= at) break;
      result.push(other);
      next++;
    }
    result.push(byKey.get(key) as Item);
  }
  return [...result, ...others.slice(next)];
}

/** True for an item that consists of `$patch: replace`. Such an item empties the list first. */
function isReplaceMark(item: Item): boolean {
  return item["$patch"] === "replace" && Object.keys(item).length === 1;
}

function withoutDirectives(patch: Item, schema: Schema | undefined): Item {
  const { $patch: _directive, ...rest } = patch;
  return mergeObject({}, rest, schema);
}

/** Throws unless `$setElementOrder` names all items that the patch's list does not delete, in the same order. */
function checkOrder(
  list: unknown,
  order: unknown,
  schema: Schema | undefined,
  field: string,
): void {
  if (!Array.isArray(list) || !Array.isArray(order)) return;
  const mergeKey = childSchema(schema, field)?.["x-kubernetes-patch-merge-key"] ?? "name";
  const keyOf = (item: unknown): unknown => (isObject(item) ? item[mergeKey] : item);
  const keys = order.map(keyOf);
  const kept = list.filter((item) => !isObject(item) || item["$patch"] !== "delete");
  let from = 0;
  for (const item of kept) {
    from = keys.indexOf(keyOf(item), from) + 1;
    if (from > 0) continue;
    const [patched, wanted] = [goText(list), goText(order)];
    throw senseless(
      `The order in patch list:\n${patched}\n doesn't match $setElementOrder list:\n${wanted}\n`,
    );
  }
}

function senseless(text: string): ApiError {
  return new ApiError(500, "", text);
}

function removePrimitives(result: Item, field: string, values: unknown): void {
  const list = fieldOf(result, field);
  if (!Array.isArray(list) || !Array.isArray(values)) return;
  const removed = new Set(values);
  setField(
    result,
    field,
    list.filter((item) => !removed.has(item)),
  );
}

/**
 * Sorts the items that `order` names; together they keep the positions that they have now. Other items do not
 * move.
 */
function reordered(
  list: readonly unknown[],
  order: readonly unknown[],
  schema: Schema | undefined,
): unknown[] {
  const mergeKey = schema?.["x-kubernetes-patch-merge-key"] ?? "name";
  const keyOf = (item: unknown): unknown => (isObject(item) ? item[mergeKey] : item);
  const positions = new Map(order.map((item, index) => [keyOf(item), index]));
  const listed = list
    .filter((item) => positions.has(keyOf(item)))
    .sort((a, b) => (positions.get(keyOf(a)) as number) - (positions.get(keyOf(b)) as number));
  let next = 0;
  return list.map((item) => (positions.has(keyOf(item)) ? listed[next++] : item));
}

function childSchema(schema: Schema | undefined, key: string): Schema | undefined {
  const property = propertySchema(schema, key);
  if (property !== undefined) return property;
  const extra = schema?.additionalProperties;
  return typeof extra === "object" ? extra : undefined;
}
