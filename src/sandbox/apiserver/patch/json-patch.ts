/** RFC 6902 over any JSON value. Refusals are worded as kube-apiserver words them. */
import { applyPatch, type Operation } from "rfc6902";
import { clone } from "../../../base/json.ts";
import { ApiError, badRequest } from "../status.ts";

/** What the operations make of `current`, which stays as it is. Throws 400 and 422. */
export function applyJsonPatch(current: unknown, body: unknown): unknown {
  if (!Array.isArray(body)) throw badRequest("a JSON patch must be a list of operations");
  const target = { root: clone(current) };
  // Rooted one level down so that replacing the whole document works like any other path.
  for (const operation of body as (Operation & { from?: string })[]) {
    const rooted = {
      ...operation,
      path: `/root${operation.path ?? ""}`,
      ...(operation.from === undefined ? {} : { from: `/root${operation.from}` }),
    } as Operation;
    const [error] = applyPatch(target, [rooted]);
    if (error) throw operationFailed(operation, error);
  }
  return target.root;
}

function operationFailed(operation: Operation, error: Error): ApiError {
  const { op, path } = operation;
  if (op === "test") {
    return new ApiError(
      422,
      "Invalid",
      `the server rejected our request due to an error in our request: testing value ${path} failed`,
      {},
    );
  }
  return new ApiError(
    422,
    "Invalid",
    `the server rejected our request due to an error in our request: ${op} operation does not apply: doc is missing path: ${path}: ${error.name}`,
    {},
  );
}
