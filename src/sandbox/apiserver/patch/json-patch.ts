/** RFC 6902 over any JSON value. Refusals are worded as kube-apiserver words them. */
import { applyPatch, type Operation } from "rfc6902";
import { clone, isObject } from "../../../base/json.ts";
import { ApiError, badRequest } from "../status.ts";

/** Which operation it was kube-apiserver keeps to itself. */
const OPERATION_FAILED = "the server rejected our request due to an error in our request";

/** What the operations make of `current`, which stays as it is. Throws 400 and 422. */
export function applyJsonPatch(current: unknown, body: unknown): unknown {
  if (!Array.isArray(body)) {
    throw badRequest(
      `error decoding patch: json: cannot unmarshal ${isObject(body) ? "object" : typeof body} into Go value of type []handlers.jsonPatchOp`,
    );
  }
  const target = { root: clone(current) };
  // Rooted one level down so that replacing the whole document works like any other path.
  for (const operation of body as (Operation & { from?: string })[]) {
    const rooted = {
      ...operation,
      path: `/root${operation.path ?? ""}`,
      ...(operation.from === undefined ? {} : { from: `/root${operation.from}` }),
    } as Operation;
    const [error] = applyPatch(target, [rooted]);
    if (error) throw new ApiError(422, "Invalid", OPERATION_FAILED, {});
  }
  return target.root;
}
