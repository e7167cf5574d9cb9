/** Errors of requests to Kubernetes. Callers use the functions below and never compare messages. */
import { counted } from "../base/counted.ts";

/** The fields of `metav1.Status` that errors need. */
export interface StatusBody {
  readonly code?: number;
  readonly reason?: string;
  readonly message?: string;
  readonly details?: {
    /** The name of the object that the answer is about. */
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

/**
 * The error that the API server refused the request. `status`: the HTTP code. `reason`: the reason in the Status, such
 * as `NotFound`.
 */
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

/** The error that no answer came: the connection was refused, reset or timed out. A retry may help. */
export class ConnectionError extends Error {
  override readonly name = "ConnectionError";
}

/** The error that a frame of a watch cannot be decoded in the requested encoding. */
export class UnreadableFrame extends Error {
  override readonly name = "UnreadableFrame";
}

/**
 * The error that the API server answered a write and did not store it. Only writes that something irreversible rests on
 * are checked. Other fields prove nothing, because an older CustomResourceDefinition removes those that it does not
 * know. `what`: what was written.
 */
export class NotStoredError extends Error {
  override readonly name = "NotStoredError";

  constructor(what: string) {
    super(`the API server answered ${what} and did not store it`);
  }
}

/** The error that a reconcile failed and is not retried until something changes. It is logged and counted. */
export class TerminalError extends Error {
  override readonly name = "TerminalError";
}

/** Errors of several steps of one task, in one error. */
export class SeveralErrors extends Error {
  override readonly name = "SeveralErrors";
  readonly errors: readonly unknown[];

  constructor(errors: readonly unknown[]) {
    super(severalTexts(errors.map(String)));
    this.errors = errors;
  }
}

/** Maximum number of different texts of errors in one text. */
const MOST_TEXTS = 5;

/** The texts of several errors in one: each once, and only the first five. Thousands may fail for one reason. */
export function severalTexts(texts: readonly string[]): string {
  const different = [...new Set(texts)];
  const more = different.length - MOST_TEXTS;
  const rest = more > 0 ? [`and ${counted(more, "more error")}`] : [];
  return [...different.slice(0, MOST_TEXTS), ...rest].join("; ");
}

/** Combines errors: a single one is returned unchanged, several become SeveralErrors. The list must not be empty. */
export function joined(errors: readonly unknown[]): unknown {
  return errors.length === 1 ? errors[0] : new SeveralErrors(errors.flatMap(eachOf));
}

/**
 * Calls `act` for each item, one after the other. An error does not stop the calls for the other items: errors are
 * thrown together at the end. So an object that cannot be changed keeps no other object waiting.
 */
export async function tryEach<T>(items: Iterable<T>, act: (item: T) => unknown): Promise<void> {
  const errors: unknown[] = [];
  for (const item of items) await collect(errors, () => act(item));
  if (errors.length > 0) throw joined(errors);
}

/** Runs the work. Its error goes to `errors`, so that the caller can go on. */
export async function collect(errors: unknown[], work: () => unknown): Promise<void> {
  try {
    await work();
  } catch (error) {
    errors.push(error);
  }
}

/** The parts of an error: those of SeveralErrors, otherwise the error itself. */
export function eachOf(error: unknown): readonly unknown[] {
  return error instanceof SeveralErrors ? error.errors : [error];
}

/**
 * Whether it is a 404 for an object: the API server serves the kind, but has no object of this name. A 404 without an
 * object's name proves nothing about objects. The kind may not be served now, or a proxy answered; see {@link
 * isNotServed}.
 */
export function isNotFound(error: unknown): boolean {
  return error instanceof KubeError && error.status === 404 && namesObject(error);
}

/** Whether it is a 404 without an object's name: the path, with its kind and version, is not served now. */
export function isNotServed(error: unknown): boolean {
  return error instanceof KubeError && error.status === 404 && !namesObject(error);
}

/**
 * Whether a 404 names an object. apimachinery's NewNotFound fills in details.name; for a path that is not served there
 * is no object to name.
 */
function namesObject({ reason, body }: KubeError): boolean {
  return reason === "NotFound" && (body?.details?.name ?? "") !== "";
}

/** Whether it is a 401: the server does not accept the credentials. */
export function isUnauthorized(error: unknown): boolean {
  return error instanceof KubeError && error.status === 401;
}

/** Whether it is a 403: the account lacks a right. The message names verb, resource and account. */
export function isForbidden(error: unknown): boolean {
  return error instanceof KubeError && error.status === 403;
}

/** Whether it is a 409 because the object has changed since its resourceVersion. False for AlreadyExists. */
export function isConflict(error: unknown): boolean {
  return error instanceof KubeError && error.status === 409 && error.reason !== "AlreadyExists";
}

/** Whether it is a 409 with the reason AlreadyExists. A changed object has the reason Conflict. */
export function isAlreadyExists(error: unknown): boolean {
  return error instanceof KubeError && error.status === 409 && error.reason === "AlreadyExists";
}

/** Whether it is a 410: the requested version is no longer kept, so list again. */
export function isTooOldResourceVersion(error: unknown): boolean {
  return error instanceof KubeError && error.status === 410;
}

/** Whether it is a 429: the server is overloaded, or a PodDisruptionBudget forbids an eviction now. */
export function isTooManyRequests(error: unknown): boolean {
  return error instanceof KubeError && error.status === 429;
}
