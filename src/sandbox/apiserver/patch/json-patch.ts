/**
 * JSON patches as kube-apiserver applies them, which is RFC 6902 with what its library (evanphx/json-patch v4) makes
 * of it: a member that is not there can be replaced, copied and tested as null, and indices may count from the end.
 * Refusals are worded as kube-apiserver words them.
 */
import { clone, deepEqual, isObject } from "../../../base/json.ts";
import { goKind } from "../request/go-json.ts";
import { ApiError, badRequest } from "../request/status.ts";

/** Which operation it was kube-apiserver keeps to itself. */
const OPERATION_FAILED = "the server rejected our request due to an error in our request";

interface Operation {
  readonly op?: unknown;
  readonly path?: unknown;
  readonly from?: unknown;
  readonly value?: unknown;
}

/** Something with members, and the name of one of them. */
interface Place {
  readonly container: Record<string, unknown> | unknown[];
  readonly key: string;
}

/** What the operations make of `current`, which stays as it is. Throws 400 and 422. */
export function applyJsonPatch(current: unknown, body: unknown): unknown {
  if (!Array.isArray(body)) throw unreadable(body, "[]handlers.jsonPatchOp");
  let root = clone(current);
  for (const operation of body as readonly (Operation | null)[]) {
    if (operation !== null && !isObject(operation))
      throw unreadable(operation, "handlers.jsonPatchOp");
    root = applied(root, operation ?? {});
  }
  return root;
}

function applied(root: unknown, { op, path, from, value = null }: Operation): unknown {
  if (path === "" && op === "replace") return isContainer(value) ? clone(value) : fail();
  if (path === "" && op === "test") return deepEqual(root, value) ? root : fail();
  switch (op) {
    case "add":
      add(placeOf(root, path), clone(value));
      break;
    case "remove":
      remove(placeOf(root, path));
      break;
    case "replace":
      replace(placeOf(root, path), clone(value));
      break;
    case "test":
      if (!deepEqual(read(placeOf(root, path)), value)) fail();
      break;
    case "move": {
      const source = placeOf(root, from);
      const moved = read(source);
      remove(source);
      add(placeOf(root, path), moved);
      break;
    }
    case "copy": {
      const copied = read(placeOf(root, from));
      add(placeOf(root, path), clone(copied));
      break;
    }
    default:
      fail();
  }
  return root;
}

/** Everything on the way to the last part must be there. */
function placeOf(root: unknown, path: unknown): Place {
  if (typeof path !== "string") return fail();
  const [first, ...parts] = path.split("/").map(unescaped);
  const key = parts.pop();
  if (key === undefined || first === undefined) return fail();
  let container = root;
  for (const part of parts) {
    if (!isContainer(container)) return fail();
    container = read({ container, key: part });
  }
  return isContainer(container) ? { container, key } : fail();
}

function unescaped(part: string): string {
  return part.replaceAll("~1", "/").replaceAll("~0", "~");
}

function isContainer(value: unknown): value is Place["container"] {
  return Array.isArray(value) || isObject(value);
}

/** Null for a member that is not there; an index has to be. */
function read({ container, key }: Place): unknown {
  if (Array.isArray(container)) return container[indexOf(key, container.length)];
  return Object.hasOwn(container, key) ? container[key] : null;
}

function add({ container, key }: Place, value: unknown): void {
  if (!Array.isArray(container)) container[key] = value;
  else if (key === "-") container.push(value);
  else container.splice(indexOf(key, container.length + 1), 0, value);
}

function remove({ container, key }: Place): void {
  if (Array.isArray(container)) container.splice(indexOf(key, container.length), 1);
  else if (Object.hasOwn(container, key)) delete container[key];
  else fail();
}

function replace({ container, key }: Place, value: unknown): void {
  if (Array.isArray(container)) container[indexOf(key, container.length)] = value;
  else container[key] = value;
}

function indexOf(key: string, length: number): number {
  if (!/^[-+]?\d+$/.test(key)) return fail();
  const index = Number(key) < 0 ? Number(key) + length : Number(key);
  return index >= 0 && index < length ? index : fail();
}

function unreadable(value: unknown, wanted: string): ApiError {
  return badRequest(
    `error decoding patch: json: cannot unmarshal ${goKind(value)} into Go value of type ${wanted}`,
  );
}

function fail(): never {
  throw new ApiError(422, "Invalid", OPERATION_FAILED, {});
}
