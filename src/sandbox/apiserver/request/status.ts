/**
 * Errors as kube-apiserver words them. Each function makes an `ApiError` with the `metav1.Status` of the answer; the
 * outermost layer of the server sends it. Wording, codes and details follow k8s.io/apimachinery `pkg/api/errors`.
 */
import type { KubeObject } from "../../../apis/meta.ts";
import type { ResourceDefinition } from "../resource-definition.ts";
import type { FieldError } from "../schema/schema.ts";

/** One invalid field. */
export interface StatusCause {
  readonly reason?: string;
  readonly message?: string;
  readonly field?: string;
}

/** The object that the error is about. */
export interface StatusDetails {
  readonly name?: string;
  readonly group?: string;
  readonly kind?: string;
  readonly uid?: string;
  readonly causes?: readonly StatusCause[];
  readonly retryAfterSeconds?: number;
}

/** The body of an error answer, and of some successful ones. */
export interface Status {
  readonly kind: "Status";
  readonly apiVersion: "v1";
  readonly metadata: Readonly<Record<string, string>>;
  readonly status: "Success" | "Failure";
  readonly message?: string;
  readonly reason?: string;
  readonly details?: StatusDetails;
  readonly code?: number;
}

/** A request that is refused; `status` is its answer. */
export class ApiError extends Error {
  override readonly name = "ApiError";
  readonly status: Status;

  constructor(
    code: number,
    reason: string,
    message: string,
    details?: StatusDetails,
    metadata: Status["metadata"] = {},
  ) {
    super(message);
    this.status = { ...failure(code, reason, message, details), metadata };
  }

  get code(): number {
    return this.status.code ?? 500;
  }
}

/** An error that is answered as plain text, because the request was refused before routing. */
export class PlainError extends Error {
  override readonly name = "PlainError";
}

/** The body of an error. Clients check its `reason`. */
export function failure(
  code: number,
  reason: string,
  message: string,
  details?: StatusDetails,
): Status {
  return {
    kind: "Status",
    apiVersion: "v1",
    metadata: {},
    status: "Failure",
    message,
    ...(reason === "" ? {} : { reason }),
    ...(details === undefined ? {} : { details }),
    code,
  };
}

/** The answer to a delete that removed the object at once. */
export function deleted(definition: ResourceDefinition, object: KubeObject): Status {
  return {
    kind: "Status",
    apiVersion: "v1",
    metadata: {},
    status: "Success",
    details: {
      ...detailsOf(definition, object.metadata.name),
      ...(object.metadata.uid === undefined ? {} : { uid: object.metadata.uid }),
    },
  };
}

/** The resource with its group: `pods`, `nodepools.karpenter.sh`. */
function qualifiedResource(definition: { group: string; plural: string }): string {
  return definition.group === "" ? definition.plural : `${definition.plural}.${definition.group}`;
}

function detailsOf(definition: { group: string; plural: string }, name: string): StatusDetails {
  return {
    ...(name === "" ? {} : { name }),
    ...(definition.group === "" ? {} : { group: definition.group }),
    kind: definition.plural,
  };
}

type Resource = Pick<ResourceDefinition, "group" | "plural">;

/** Status 404: the object does not exist. */
export function notFound(resource: Resource, name: string): ApiError {
  const message = `${qualifiedResource(resource)} "${name}" not found`;
  return new ApiError(404, "NotFound", message, detailsOf(resource, name));
}

/** Status 409 with the reason AlreadyExists. */
export function alreadyExists(resource: Resource, name: string, isEnding = false): ApiError {
  const ending = isEnding ? "object is being deleted: " : "";
  const message = `${ending}${qualifiedResource(resource)} "${name}" already exists`;
  return new ApiError(409, "AlreadyExists", message, detailsOf(resource, name));
}

export const STALE_WRITE =
  "the object has been modified; please apply your changes to the latest version and try again";

/** Status 409 with the reason Conflict: the object changed since the client read it. */
export function conflict(resource: Resource, name: string, why: string): ApiError {
  const message = `Operation cannot be fulfilled on ${qualifiedResource(resource)} "${name}": ${why}`;
  return new ApiError(409, "Conflict", message, detailsOf(resource, name));
}

/** Status 403, from authorization or admission. */
export function forbidden(
  resource: Resource,
  name: string,
  why: string,
  causes?: readonly StatusCause[],
): ApiError {
  const subject =
    name === "" ? qualifiedResource(resource) : `${qualifiedResource(resource)} "${name}"`;
  return new ApiError(403, "Forbidden", `${subject} is forbidden: ${why}`, {
    ...detailsOf(resource, name),
    ...(causes === undefined ? {} : { causes }),
  });
}

/** Status 400: the request is malformed. */
export function badRequest(message: string): ApiError {
  return new ApiError(400, "BadRequest", message);
}

/** Status 405: the resource does not support the verb. */
export function methodNotAllowed(): ApiError {
  return new ApiError(
    405,
    "MethodNotAllowed",
    "the server does not allow this method on the requested resource",
    {},
  );
}

/** Status 410: the requested version is too old, so the client must list again. */
export function expired(message: string): ApiError {
  return new ApiError(410, "Expired", message);
}

/** Status 410 with a token that continues the list at the current revision. */
export function expiredPage(token: string): ApiError {
  return new ApiError(
    410,
    "Expired",
    "The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter, or use the continue token in this response to retrieve the remainder of the results. Continuing with the provided token results in an inconsistent list - objects that were created, modified, or deleted between the time the first chunk was returned and now may show up in the list.",
    undefined,
    { continue: token },
  );
}

/** Status 410 for a watch from a version that the store has dropped. */
export function tooOld(asked: number, oldest: number): ApiError {
  return expired(`too old resource version: ${asked} (${oldest})`);
}

/** Status 415, with the types that are accepted. */
export function unsupportedMediaType(accepted: readonly string[]): ApiError {
  return new ApiError(
    415,
    "UnsupportedMediaType",
    `the body of the request was in an unknown format - accepted media types include: ${accepted.join(", ")}`,
  );
}

/** Status 422 with one cause for each field error of the object. */
export function invalid(
  definition: { readonly group: string; readonly kind: string },
  name: string,
  errors: readonly FieldError[],
): ApiError {
  const kind = definition.group === "" ? definition.kind : `${definition.kind}.${definition.group}`;
  const texts = [...new Set(errors.map((error) => `${error.field}: ${error.message}`))];
  const list = texts.length === 1 ? texts[0] : `[${texts.join(", ")}]`;
  return new ApiError(422, "Invalid", `${kind} "${name}" is invalid: ${list}`, {
    ...(name === "" ? {} : { name }),
    ...(definition.group === "" ? {} : { group: definition.group }),
    ...(definition.kind === "" ? {} : { kind: definition.kind }),
    causes: errors.map(({ field, reason, message }) => ({ reason, message, field })),
  });
}
