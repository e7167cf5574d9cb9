/**
 * PATCH. The content type selects the patch language, which computes the next state. From there on it is an
 * ordinary update.
 */
import type { KubeObject } from "../../../apis/meta.ts";
import { applyMergePatch, isObject } from "../../../base/json.ts";
import { type Call, isCustom } from "../engine.ts";
import { type PartialUpdate, update } from "../objects/write.ts";
import { goKind } from "../request/go-json.ts";
import { ApiError, badRequest, invalid, unsupportedMediaType } from "../request/status.ts";
import { forbidden } from "../schema/field-error.ts";
import { apply } from "./apply.ts";
import { applyJsonPatch, MAX_OPERATIONS, type Operation, PatchError } from "./json-patch.ts";
import { applyStrategicPatch } from "./strategic.ts";

const JSON_PATCH = "application/json-patch+json";
const MERGE_PATCH = "application/merge-patch+json";
const STRATEGIC_PATCH = "application/strategic-merge-patch+json";
const APPLY_PATCHES: readonly string[] = [
  "application/apply-patch+yaml",
  "application/apply-patch+json",
];

/** Patches the object of the URL. `created` is true only if a server-side apply created the object. */
export async function patchObject(
  call: Call,
  subresource: string | undefined,
  partial?: PartialUpdate,
): Promise<{ readonly object: KubeObject; readonly created: boolean }> {
  const type = ((call.headers["content-type"] ?? "").split(";")[0] as string).trim();
  if (APPLY_PATCHES.includes(type)) return apply(call, subresource, partial);
  if (call.query.get("force") !== null) {
    throw invalid({ group: "meta.k8s.io", kind: "PatchOptions" }, "", [
      forbidden("force", "may not be specified for non-apply patch"),
    ]);
  }
  const change = changeOf(call, type);
  const object = await update(call, {
    subresource,
    ...(partial === undefined ? {} : { partial }),
    next: (current) => {
      const next = change(current);
      if (!isObject(next)) throw badRequest("the patch leaves no object");
      return next as unknown as KubeObject;
    },
  });
  return { object, created: false };
}

function changeOf(call: Call, type: string): (current: KubeObject) => unknown {
  const { body, definition } = call;
  if (type === JSON_PATCH) return (current) => jsonPatched(current, body);
  if (type === MERGE_PATCH) {
    if (!isObject(body)) throw badRequest(`error decoding patch: ${noMap(body)}`);
    return (current) => applyMergePatch(current, body);
  }
  if (type === STRATEGIC_PATCH && !isCustom(definition)) {
    if (!isObject(body)) throw badRequest(noMap(body));
    return (current) => applyStrategicPatch(current, body, definition.schema);
  }
  // For built-in kinds the router refuses the content type, without a list of accepted types.
  if (!isCustom(definition))
    throw new ApiError(415, "UnsupportedMediaType", "415: Unsupported Media Type", {});
  throw unsupportedMediaType([JSON_PATCH, MERGE_PATCH, "application/apply-patch+yaml"]);
}

/** Applies a client's JSON patch to `current`. Throws ApiError 400, 413 and 422. */
export function jsonPatched(current: unknown, body: unknown): unknown {
  const operations = operationsOf(body);
  return refusable(() => applyJsonPatch(current, operations));
}

function operationsOf(body: unknown): readonly (Operation | null)[] {
  if (!Array.isArray(body)) throw unreadable(body, "[]handlers.jsonPatchOp");
  for (const operation of body) {
    if (operation !== null && !isObject(operation))
      throw unreadable(operation, "handlers.jsonPatchOp");
  }
  if (body.length > MAX_OPERATIONS) {
    const allowed = `The allowed maximum operations in a JSON patch is ${MAX_OPERATIONS}`;
    const message = `Request entity too large: ${allowed}, got ${body.length}`;
    throw new ApiError(413, "RequestEntityTooLarge", message);
  }
  return body as readonly (Operation | null)[];
}

function unreadable(value: unknown, wanted: string): ApiError {
  return badRequest(
    `error decoding patch: json: cannot unmarshal ${goKind(value)} into Go value of type ${wanted}`,
  );
}

/** Replaces the message of a failed operation: kube-apiserver does not tell clients which one failed. */
function refusable<T>(act: () => T): T {
  try {
    return act();
  } catch (error) {
    if (!(error instanceof PatchError)) throw error;
    const message = "the server rejected our request due to an error in our request";
    throw new ApiError(422, "Invalid", message, {});
  }
}

function noMap(body: unknown): string {
  return `json: cannot unmarshal ${goKind(body)} into Go value of type map[string]interface {}`;
}
