/**
 * JSON patches (RFC 6902) with the deviations of kube-apiserver's library, evanphx/json-patch v4. A missing
 * member can be replaced, copied, and tested as null. Array indices may count from the end. The size of all
 * copies in one patch is limited.
 */
import { clone, deepEqual, isObject, setField } from "../../../base/json.ts";

/** Maximum number of operations in one patch. upstream: apiserver pkg/endpoints/handlers/patch.go */
export const MAX_OPERATIONS = 10_000;
/** Bytes of JSON that the copies in one patch may add. upstream: apiserver pkg/server/config.go */
const MAX_COPIED_BYTES = 3 * 1_024 * 1_024;

/** An operation that cannot be applied. The message is the library's. */
export class PatchError extends Error {
  override readonly name = "PatchError";
}

/** One operation of a JSON patch (RFC 6902), before it is checked. */
export interface Operation {
  readonly op?: unknown;
  readonly path?: unknown;
  readonly from?: unknown;
  readonly value?: unknown;
}

/** The object or array of a path's last part, and the member's name in it. */
interface Place {
  readonly container: Record<string, unknown> | unknown[];
  readonly key: string;
}

/** Applies the operations to a copy of `current`. Throws PatchError. */
export function applyJsonPatch(
  current: unknown,
  operations: readonly (Operation | null)[],
): unknown {
  let root = clone(current);
  let copiedBytes = 0;
  for (const operation of operations) {
    const { op, path, from, value = null } = operation ?? {};
    if (path === "" && op === "replace") {
      if (!isContainer(value)) fail("replace operation value must be object or array: %!w(<nil>)");
      root = clone(value);
    } else if (path === "" && op === "test") {
      if (!deepEqual(root, value)) fail("testing value  failed: test failed");
    } else if (op === "copy") {
      const copied = read(placeOf(root, from, missing(op, "from path", from)));
      const target = placeOf(root, path, missing(op, "destination path", path));
      copiedBytes += Buffer.byteLength(JSON.stringify(copied));
      if (copiedBytes > MAX_COPIED_BYTES) {
        const size = `the accumulated size increase of copy is ${copiedBytes}`;
        fail(`Unable to complete the copy, ${size}, exceeding the limit ${MAX_COPIED_BYTES}`);
      }
      add(target, clone(copied));
    } else change(root, op, path, from, value);
  }
  return root;
}

function change(root: unknown, op: unknown, path: unknown, from: unknown, value: unknown): void {
  switch (op) {
    case "add":
      add(placeOf(root, path, missing(op, "path", `"${path}"`)), clone(value));
      break;
    case "remove":
      remove(placeOf(root, path, missing(op, "path", `"${path}"`)));
      break;
    case "replace":
      replace(placeOf(root, path, missing(op, "path", path)), clone(value));
      break;
    case "test":
      if (!deepEqual(read(placeOf(root, path, missing(op, "path", path))), value))
        fail(`testing value ${path} failed: test failed`);
      break;
    case "move": {
      const source = placeOf(root, from, missing(op, "from path", from));
      const moved = read(source);
      remove(source);
      add(placeOf(root, path, missing(op, "destination path", path)), moved);
      break;
    }
    default:
      fail(`Unexpected kind: ${typeof op === "string" ? op : "unknown"}`);
  }
}

function missing(op: string, what: string, path: unknown): string {
  const doc = op === "test" ? "" : "doc ";
  return `${op} operation does not apply: ${doc}is missing ${what}: ${path}: missing value`;
}

/** Finds the container of the path's last part. Fails if a part before the last is missing. */
function placeOf(root: unknown, path: unknown, problem: string): Place {
  if (typeof path !== "string") return fail(problem);
  const [first, ...parts] = path.split("/").map(unescaped);
  const key = parts.pop();
  if (key === undefined || first === undefined) return fail(problem);
  let container = root;
  for (const part of parts) {
    if (!isContainer(container)) return fail(problem);
    container = read({ container, key: part });
  }
  return isContainer(container) ? { container, key } : fail(problem);
}

function unescaped(part: string): string {
  return part.replaceAll("~1", "/").replaceAll("~0", "~");
}

function isContainer(value: unknown): value is Place["container"] {
  return Array.isArray(value) || isObject(value);
}

/** The value at the place. Null if the object has no such member. An index outside the list is an error. */
function read({ container, key }: Place): unknown {
  if (Array.isArray(container)) return container[indexOf(key, container.length)];
  return Object.hasOwn(container, key) ? container[key] : null;
}

function add({ container, key }: Place, value: unknown): void {
  if (!Array.isArray(container)) setField(container, key, value);
  else if (key === "-") container.push(value);
  else container.splice(indexOf(key, container.length + 1), 0, value);
}

function remove({ container, key }: Place): void {
  if (Array.isArray(container)) container.splice(indexOf(key, container.length), 1);
  else if (Object.hasOwn(container, key)) delete container[key];
  else fail(`Unable to remove nonexistent key: ${key}: missing value`);
}

function replace({ container, key }: Place, value: unknown): void {
  if (Array.isArray(container)) container[indexOf(key, container.length)] = value;
  else setField(container, key, value);
}

function indexOf(key: string, length: number): number {
  if (!/^[-+]?\d+$/.test(key)) return fail(`value was not a proper array index: '${key}'`);
  const index = Number(key) < 0 ? Number(key) + length : Number(key);
  if (index >= 0 && index < length) return index;
  return fail(`Unable to access invalid index: ${key}: invalid index referenced`);
}

function fail(message: string): never {
  throw new PatchError(message);
}
