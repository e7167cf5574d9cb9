/** Compares, copies, freezes and merges plain JSON values. Objects of the API are plain JSON everywhere. */

/** Whether the value is an object `{...}`, not an array or null. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The value if it is a text; otherwise the empty text. */
export function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

/**
 * The value as text: lists and objects as JSON, others by `String`. For an object with a key `toString`, `String` would
 * throw.
 */
export function asText(value: unknown): string {
  return typeof value === "object" && value !== null ? JSON.stringify(value) : String(value);
}

/**
 * Sets a field whose name a user may have chosen. Assigning to `__proto__` would change what the object inherits and
 * lose the field.
 */
export function setField(target: Record<string, unknown>, name: string, value: unknown): void {
  if (name !== "__proto__") target[name] = value;
  else {
    const property = { value, configurable: true, enumerable: true, writable: true };
    Object.defineProperty(target, name, property);
  }
}

/** A field whose name a user may have chosen. Undefined: the object has no own field of that name. */
export function fieldOf<T>(target: Readonly<Record<string, T>>, name: string): T | undefined {
  return Object.hasOwn(target, name) ? target[name] : undefined;
}

/** Whether both values have equal contents. A key whose value is `undefined` counts as absent. */
export function deepEqual(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (Array.isArray(a)) {
    return (
      Array.isArray(b) &&
      a.length === b.length &&
      a.every((item, index) => deepEqual(item, b[index]))
    );
  }
  if (!isObject(a) || !isObject(b)) return false;
  let surplus = 0;
  for (const key in a) {
    const value = a[key];
    if (value === undefined) continue;
    const other = b[key];
    // Without an own field `__proto__`, `b.__proto__` is the prototype, which would equal {}.
    if (other === Object.prototype || !deepEqual(value, other)) return false;
    surplus++;
  }
  for (const key in b) if (b[key] !== undefined) surplus--;
  return surplus === 0;
}

/**
 * `value`, with each part that equals the same part of `known` replaced by that part. Values that share parts are
 * compared by identity, which is fast. Neither argument is changed.
 */
export function sharing<T>(value: T, known: unknown): T {
  if (Array.isArray(value) && Array.isArray(known)) {
    let isSame = value.length === known.length;
    const items = value.map((item, index) => {
      const shared = sharing(item, known[index]);
      if (shared !== known[index]) isSame = false;
      return shared;
    });
    return (isSame ? known : items) as T;
  }
  if (value === known || !isObject(value) || !isObject(known)) return value;
  const copy: Record<string, unknown> = {};
  let isSame = true;
  let count = 0;
  for (const key in value) {
    if (value[key] === undefined) continue;
    const before = fieldOf(known, key);
    const shared = sharing(value[key], before);
    if (shared !== before) isSame = false;
    setField(copy, key, shared);
    count++;
  }
  for (const key in known) if (known[key] !== undefined) count--;
  return (isSame && count === 0 ? known : copy) as T;
}

/** A deep copy of plain JSON, without keys whose value is `undefined`. It is never frozen. */
export function clone<T>(value: T): T {
  if (Array.isArray(value)) return value.map((item) => clone(item)) as T;
  if (!isObject(value)) return value;
  const copy: Record<string, unknown> = {};
  for (const key in value) if (value[key] !== undefined) setField(copy, key, clone(value[key]));
  return copy as T;
}

/**
 * A copy without fields that are null, because Go reads them as absent. Nulls in lists are kept, because positions
 * count there.
 */
export function withoutNulls<T>(value: T): T {
  if (Array.isArray(value)) return value.map((item) => withoutNulls(item)) as T;
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).flatMap(([key, item]) =>
      item === null ? [] : [[key, withoutNulls(item)]],
    ),
  ) as T;
}

/** Freezes a value and everything in it, and returns it. A part that is frozen counts as frozen in depth. */
export function deepFreeze<T>(value: T): T {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return value;
  for (const child of Object.values(value)) deepFreeze(child);
  return Object.freeze(value);
}

/** Applies a merge patch (RFC 7396) to `target` and returns the result. Neither argument is changed. */
export function applyMergePatch(target: unknown, patch: unknown): unknown {
  if (!isObject(patch)) return clone(patch);
  const result: Record<string, unknown> = isObject(target) ? { ...target } : {};
  for (const key in patch) {
    const value = patch[key];
    if (value === null) delete result[key];
    else if (value !== undefined)
      setField(result, key, applyMergePatch(fieldOf(result, key), value));
  }
  return result;
}

/** The merge patch (RFC 7396) that turns `before` into `after`. Undefined: they are equal. */
export function createMergePatch(before: unknown, after: unknown): unknown {
  if (before === after) return undefined;
  if (!isObject(before) || !isObject(after)) return deepEqual(before, after) ? undefined : after;
  const patch: Record<string, unknown> = {};
  for (const key in before) {
    if (before[key] !== undefined && fieldOf(after, key) === undefined) setField(patch, key, null);
  }
  for (const key in after) {
    if (after[key] === undefined) continue;
    const known = fieldOf(before, key);
    const change = known === undefined ? after[key] : createMergePatch(known, after[key]);
    if (change !== undefined) setField(patch, key, change);
  }
  return Object.keys(patch).length === 0 ? undefined : patch;
}

/** JSON text with sorted keys, so that equal values give equal text. */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value))
    return `[${value.map((item) => canonicalJson(item ?? null)).join(",")}]`;
  if (!isObject(value)) return JSON.stringify(value) ?? "null";
  const fields = Object.keys(value)
    .filter((key) => value[key] !== undefined)
    .sort()
    .map((key) => `${JSON.stringify(key)}:${canonicalJson(value[key])}`);
  return `{${fields.join(",")}}`;
}
