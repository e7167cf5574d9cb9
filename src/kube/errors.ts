/** Errors of requests to Kubernetes. Callers use the functions below and never compare messages. */

/** `metav1.Status`, with the fields that errors need. */
export interface StatusBody {
  readonly code?: number;
  readonly reason?: string;
  readonly message?: string;
  readonly details?: {
    /** The object that the answer is about. */
    readonly name?: string;
    readonly causes?: readonly {
      readonly reason?: string;
      readonly message?: string;
      readonly field?: string;
    }[];
    readonly retryAfterSeconds?: number;
    readonly [field: string]: unknown;
  };
}

/** The API server refused. `status` is the HTTP code, `reason` the Status reason (`NotFound`, …). */
export class KubeError extends Error {
  override readonly name = "KubeError";
  readonly status: number;
  readonly reason: string;
  readonly body: StatusBody | undefined;

  constructor(status: number, body: StatusBody | undefined, doing: string) {
    super(`${doing}: ${body?.message ?? `HTTP ${status}`}`);
    this.status = status;
    this.reason = body?.reason ?? "";
    this.body = body;
  }
}

/** No answer: the connection was refused, reset or timed out. A retry may help. */
export class ConnectionError extends Error {
  override readonly name = "ConnectionError";
}

/** A frame of a watch cannot be decoded in the requested encoding. */
export class UnreadableFrame extends Error {
  override readonly name = "UnreadableFrame";
}

/** The reconcile failed and is not retried until something changes. The failure is logged and counted. */
export class TerminalError extends Error {
  override readonly name = "TerminalError";
}

/** Errors of several steps of one task. */
export class SeveralErrors extends Error {
  override readonly name = "SeveralErrors";
  readonly errors: readonly unknown[];

  constructor(errors: readonly unknown[]) {
    super(errors.map(String).join("; "));
    this.errors = errors;
  }
}

/**
 * Joins errors: a single one is returned as it is, several become SeveralErrors. The list must not be empty.
 */
export function joined(errors: readonly unknown[]): unknown {
  return errors.length === 1 ? errors[0] : new SeveralErrors(errors.flatMap(eachOf));
}

/** The parts of an error: those of SeveralErrors, otherwise the error itself. */
export function eachOf(error: unknown): readonly unknown[] {
  return error instanceof SeveralErrors ? error.errors : [error];
}

/**
 * 404 for an object: the API server serves the kind, but has no object of this name. A 404 without an
 * object's name proves nothing about objects: the kind may not be served now, or a proxy answered. See {@link
 * isNotServed}.
 */
export function isNotFound(error: unknown): boolean {
  return error instanceof KubeError && error.status === 404 && namesObject(error);
}

/** 404 without an object's name: the path, with its kind and version, is not served now. */
export function isNotServed(error: unknown): boolean {
  return error instanceof KubeError && error.status === 404 && !namesObject(error);
}

/** apimachinery's NewNotFound fills in details.name; a path that is not served has no object to name. */
function namesObject({ reason, body }: KubeError): boolean {
  return reason === "NotFound" && (body?.details?.name ?? "") !== "";
}

/** 403: the account lacks a right. The message names verb, resource and account. */
export function isForbidden(error: unknown): boolean {
  return error instanceof KubeError && error.status === 403;
}

/** 409 for a stale resourceVersion or a lost race; not for AlreadyExists. */
export function isConflict(error: unknown): boolean {
  return error instanceof KubeError && error.status === 409 && error.reason !== "AlreadyExists";
}

/** 409 with the reason AlreadyExists; a lost race has the reason Conflict. */
export function isAlreadyExists(error: unknown): boolean {
  return error instanceof KubeError && error.status === 409 && error.reason === "AlreadyExists";
}

/** 410: the requested version is no longer kept, so list again. */
export function isTooOldResourceVersion(error: unknown): boolean {
  return error instanceof KubeError && error.status === 410;
}

/** 429: throttled, or an eviction that a PodDisruptionBudget forbids now. */
export function isTooManyRequests(error: unknown): boolean {
  return error instanceof KubeError && error.status === 429;
}
