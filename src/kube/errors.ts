/** What can go wrong when talking to Kubernetes. Asked by question, never matched by message. */

/** `metav1.Status` as far as errors need it. */
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

/** No answer: refused, reset, timed out. Worth trying again. */
export class ConnectionError extends Error {
  override readonly name = "ConnectionError";
}

/** What a watch brought cannot be read in the encoding it came in. */
export class UnreadableFrame extends Error {
  override readonly name = "UnreadableFrame";
}

/** A reconcile that fails like this is logged and counted but not tried again until something changes. */
export class TerminalError extends Error {
  override readonly name = "TerminalError";
}

/** What went wrong in several steps of one piece of work. */
export class SeveralErrors extends Error {
  override readonly name = "SeveralErrors";
  readonly errors: readonly unknown[];

  constructor(errors: readonly unknown[]) {
    super(errors.map(String).join("; "));
    this.errors = errors;
  }
}

/** One error that tells of them all; there is at least one. */
export function joined(errors: readonly unknown[]): unknown {
  return errors.length === 1 ? errors[0] : new SeveralErrors(errors.flatMap(eachOf));
}

/** What an error is made of: itself, mostly. */
export function eachOf(error: unknown): readonly unknown[] {
  return error instanceof SeveralErrors ? error.errors : [error];
}

/**
 * The API server looked for this object and has none of its name. A 404 that names no object says nothing about
 * one: its kind may not be served just now, or a proxy answered. See {@link isNotServed}.
 */
export function isNotFound(error: unknown): boolean {
  return error instanceof KubeError && error.status === 404 && namesObject(error);
}

/** 404 without an object's name: the path, and so the kind and version in it, is not served here and now. */
export function isNotServed(error: unknown): boolean {
  return error instanceof KubeError && error.status === 404 && !namesObject(error);
}

/** apimachinery's NewNotFound fills in details.name; a path that is not served has no object to name. */
function namesObject({ reason, body }: KubeError): boolean {
  return reason === "NotFound" && (body?.details?.name ?? "") !== "";
}

/** The account lacks the right; the message names verb, resource and account. */
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

/** 410: the version asked for is compacted; list again. */
export function isTooOldResourceVersion(error: unknown): boolean {
  return error instanceof KubeError && error.status === 410;
}

/** 429: throttled, or an eviction that a PodDisruptionBudget forbids now. */
export function isTooManyRequests(error: unknown): boolean {
  return error instanceof KubeError && error.status === 429;
}
