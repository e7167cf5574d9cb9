/**
 * Reads and checks the answer of an admission webhook: it must be an AdmissionReview with the UID of the request. A
 * patch must leave an object of the same kind.
 * upstream: apiserver pkg/admission/plugin/webhook/request/admissionreview.go, pkg/admission/plugin/webhook/mutating/dispatcher.go
 */
import type { KubeObject } from "../../../apis/meta.ts";
import { isObject } from "../../../base/json.ts";
import { groupVersionOf, isCustom } from "../engine.ts";
import { kindProblem } from "../objects/object-meta.ts";
import { applyJsonPatch, type Operation, PatchError } from "../patch/json-patch.ts";
import { goJson, goKind } from "../request/go-json.ts";
import { ApiError, invalid, type StatusDetails } from "../request/status.ts";
import type { ResourceDefinition } from "../resource-definition.ts";
import { decode } from "../schema/decode.ts";
import { invalid as invalidField } from "../schema/field-error.ts";
import { goStruct } from "../schema/link.ts";
import type { Schema } from "../schema/schema.ts";

/** The response of a webhook, before it is checked. */
export interface Answer {
  readonly uid?: string;
  readonly allowed?: boolean;
  readonly status?: {
    readonly code?: number;
    readonly message?: string;
    readonly reason?: string;
    readonly details?: StatusDetails;
  };
  readonly patch?: string;
  readonly patchType?: string;
  readonly warnings?: readonly string[];
}

/**
 * A patch that is not a JSON list of operations. The webhook's failurePolicy decides whether the write
 * continues.
 */
export class UndecodablePatchError extends Error {
  override readonly name = "UndecodablePatchError";
}

const TEXT: Schema = { type: "string" };
const STATUS = goStruct("v1.Status", {
  code: { type: "integer", format: "int32" },
  message: TEXT,
  reason: TEXT,
  details: goStruct("v1.StatusDetails", {
    name: TEXT,
    group: TEXT,
    kind: TEXT,
    uid: TEXT,
    causes: {
      type: "array",
      items: goStruct("v1.StatusCause", { reason: TEXT, message: TEXT, field: TEXT }),
    },
    retryAfterSeconds: { type: "integer", format: "int32" },
  }),
});
/** The fields of AdmissionReview that are read, with their Go types. */
const REVIEW = goStruct("v1.AdmissionReview", {
  apiVersion: TEXT,
  kind: TEXT,
  response: goStruct("v1.AdmissionResponse", {
    uid: TEXT,
    allowed: { type: "boolean" },
    status: STATUS,
    patch: TEXT,
    patchType: TEXT,
    warnings: { type: "array", items: TEXT },
    auditAnnotations: { type: "object", additionalProperties: TEXT },
  }),
});

/** The answer in a review. Throws an Error that names the problem. */
export function answerIn(review: unknown, uid: string, isMutating: boolean): Answer {
  const { value, problem } = decode(REVIEW, review);
  if (problem !== undefined) throw new Error(`failed to call webhook: ${problem}`);
  const {
    apiVersion = "",
    kind = "",
    response,
  } = value as {
    apiVersion?: string;
    kind?: string;
    response?: Answer;
  };
  const wrong = problemOf({ apiVersion, kind, response }, uid, isMutating);
  if (wrong !== undefined) throw new Error(`received invalid webhook response: ${wrong}`);
  return response as Answer;
}

function problemOf(
  review: { apiVersion: string; kind: string; response: Answer | undefined },
  uid: string,
  isMutating: boolean,
): string | undefined {
  const { apiVersion, kind, response } = review;
  if (response === undefined) return "webhook response was absent";
  const { patch = "", patchType } = response;
  if ((response.uid ?? "") !== uid)
    return `expected response.uid="${uid}", got "${response.uid ?? ""}"`;
  if (apiVersion !== "admission.k8s.io/v1" || kind !== "AdmissionReview") {
    const group = apiVersion.includes("/") ? apiVersion : `/${apiVersion}`;
    const wanted = "admission.k8s.io/v1, Kind=AdmissionReview";
    return `expected webhook response of ${wanted}, got ${group}, Kind=${kind}`;
  }
  if (!isMutating) {
    if (patch !== "") return "validating webhook may not return response.patch";
    return patchType === undefined
      ? undefined
      : "validating webhook may not return response.patchType";
  }
  if (patch !== "" && patchType === undefined)
    return "webhook returned response.patch but not response.patchType";
  if (patch === "" && patchType !== undefined)
    return "webhook returned response.patchType but not response.patch";
  return patchType === "" ? 'webhook returned invalid response.patchType of ""' : undefined;
}

/**
 * The object after a webhook's patch, which is base64. `isOwnKind` is false for a Scale or an Eviction.
 * Throws UndecodablePatchError, or ApiError if the patch does not apply or its result is of another kind.
 */
export function patchedBy(
  { patch = "", patchType = "" }: Answer,
  definition: ResourceDefinition,
  object: KubeObject,
  isOwnKind: boolean,
): KubeObject {
  const read = goJson(Buffer.from(patch, "base64"));
  if ("problem" in read) throw new UndecodablePatchError(read.problem);
  const operations = read.value;
  if (!Array.isArray(operations) || operations.some((one) => one !== null && !isObject(one))) {
    const type = Array.isArray(operations) ? "jsonpatch.Operation" : "jsonpatch.Patch";
    const found = Array.isArray(operations) ? operations.find((one) => !isObject(one)) : operations;
    throw new UndecodablePatchError(
      `json: cannot unmarshal ${goKind(found)} into Go value of type ${type}`,
    );
  }
  if (operations.length === 0) return object;
  if (patchType !== "JSONPatch")
    throw new UndecodablePatchError(`unsupported patch type "${patchType}"`);
  const result = applied(object, operations as readonly (Operation | null)[]);
  return isOwnKind ? ofSameKind(definition, result) : (result as KubeObject);
}

function applied(object: KubeObject, operations: readonly (Operation | null)[]): unknown {
  try {
    return applyJsonPatch(object, operations);
  } catch (error) {
    if (error instanceof PatchError) throw internal(error.message);
    throw error;
  }
}

/** Checks that the result of a patch is a complete object of the same kind, with the right types. */
function ofSameKind(definition: ResourceDefinition, result: unknown): KubeObject {
  if (!isObject(result)) {
    const struct =
      'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }';
    const found = `json: cannot unmarshal ${goKind(result)} into Go value of type ${struct}`;
    throw internal(`couldn't get version/kind; json parse error: ${found}`);
  }
  checkKind(definition, result);
  const metadata = result["metadata"] ?? { name: "" };
  if (isCustom(definition) && !isObject(metadata))
    throw internal("system metadata was not initialized");
  const apiVersion = groupVersionOf(definition);
  const whole = { ...result, apiVersion, kind: definition.kind, metadata };
  const { value, malformed } = definition.prune(whole as unknown as KubeObject);
  if (malformed !== undefined) throw internal(malformed);
  return definition.applyDefaults(value);
}

/**
 * Throws if the result names another kind. A result of a built-in kind may name none, because Go decodes it into a
 * known type. A custom object must name its kind.
 */
function checkKind(definition: ResourceDefinition, result: Record<string, unknown>): void {
  const wanted = groupVersionOf(definition);
  const apiVersion = String(result["apiVersion"] ?? (isCustom(definition) ? "" : wanted));
  const kind = String(result["kind"] ?? (isCustom(definition) ? "" : definition.kind));
  if (apiVersion === wanted && kind === definition.kind) return;
  if (!isCustom(definition)) {
    const problem = kindProblem(definition, apiVersion, kind);
    throw apiVersion === wanted ? new ApiError(500, "", problem) : internal(problem);
  }
  if (kind === "") throw internal(`Object 'Kind' is missing in '${JSON.stringify(result)}'`);
  if (apiVersion === wanted) {
    const { name = "" } = isObject(result["metadata"]) ? result["metadata"] : {};
    const problem = invalidField("kind", kind, `must be ${definition.kind}`);
    throw invalid({ group: definition.group, kind }, String(name), [problem]);
  }
  const groupVersion = apiVersion.includes("/") ? apiVersion : `/${apiVersion}`;
  const text = `is unstructured and is not suitable for converting to "${wanted}"`;
  throw new ApiError(500, "", `${groupVersion}, Kind=${kind} ${text}`);
}

function internal(message: string): ApiError {
  return new ApiError(500, "InternalError", `Internal error occurred: ${message}`, {
    causes: [{ message }],
  });
}
