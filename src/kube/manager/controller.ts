/** What a controller is: data and one function. The manager runs it. */
import type { Kind, KubeObject } from "../../apis/meta.ts";
import type { MirrorEvent } from "../mirror/mirror.ts";

/** The object to reconcile. Requests with equal kind and key wait in the queue only once. */
export interface Request {
  readonly kind: string;
  readonly namespace?: string | undefined;
  readonly name: string;
}

/** The request for this object. `kind` is passed because objects in lists may lack it. */
export function requestFor(kind: string, { metadata }: Pick<KubeObject, "metadata">): Request {
  return { kind, namespace: metadata.namespace, name: metadata.name };
}

/** No reconcile is needed until a watched object changes. */
export const AWAIT_CHANGE = Object.freeze({ requeueAfterMs: undefined });

/** `requeueAfterMs`: reconcile again then, or earlier if something changes. */
export interface Outcome {
  readonly requeueAfterMs: number | undefined;
}

/** Reconcile again in `ms` milliseconds, unless a change comes first. */
export function requeueAfter(ms: number): Outcome {
  return { requeueAfterMs: ms };
}

/** The earliest of several outcomes, such as those of the steps of one reconcile. */
export function soonest(...outcomes: readonly Outcome[]): Outcome {
  let result: number | undefined;
  for (const { requeueAfterMs } of outcomes) {
    if (requeueAfterMs === undefined) continue;
    result = result === undefined ? requeueAfterMs : Math.min(result, requeueAfterMs);
  }
  return { requeueAfterMs: result };
}

/** One source of requests. Without `toRequests`, an object requests itself. */
export interface Source<T extends KubeObject = KubeObject> {
  readonly kind: Kind<T>;
  readonly toRequests?: (
    object: T,
    event: MirrorEvent,
    before: T | undefined,
  ) => readonly Request[];
  /**
   * Used instead of `toRequests` if one object may request very many. They are queued later, in steps. An
   * undefined item means no request for that object; an undefined result means no requests at all.
   */
  readonly toMany?: (
    object: T,
    event: MirrorEvent,
    before: T | undefined,
  ) => Iterable<Request | undefined> | undefined;
}

/** Creates a source. It helps TypeScript infer types in a list of sources of different kinds. */
export function source<T extends KubeObject>(
  kind: Kind<T>,
  toRequests?: (object: T, event: MirrorEvent, before: T | undefined) => readonly Request[],
): Source {
  return (toRequests === undefined ? { kind } : { kind, toRequests }) as unknown as Source;
}

/** Like {@link source}, for very many requests: see {@link Source.toMany}. */
export function sourceOfMany<T extends KubeObject>(
  kind: Kind<T>,
  toMany: NonNullable<Source<T>["toMany"]>,
): Source {
  return { kind, toMany } as unknown as Source;
}

/** One reconcile loop, as data: the manager runs it. */
export interface Controller {
  /** The name in logs, metrics and docs, as upstream's: `nodeclaim.lifecycle`. */
  readonly name: string;
  readonly watches: readonly Source[];
  /** Concurrent reconciles. 1 for singletons. */
  readonly concurrency: number;
  /** Requests at the start. A singleton requests itself here. */
  readonly initialRequests?: readonly Request[];
  /** Wait after a failed reconcile, doubled with each failure. Default: 1 s up to 60 s. */
  readonly backoffMs?: { readonly base: number; readonly max: number };
  /**
   * For requests that do not come from a watch, such as a queue in memory. It gets `ask` at the start, and
   * returns a function that stops it.
   */
  readonly listen?: (ask: (request: Request) => void) => () => void;
  /** Resolves when done. If it throws, it is retried after a wait, except for TerminalError. */
  reconcile(request: Request): Promise<Outcome>;
}

/** Runs mirrors and controllers. `start` resolves when all mirrors have their first list. */
export interface Manager {
  add(controller: Controller): void;
  start(): Promise<void>;
  /** Takes no more requests, waits for running reconciles, and stops listening to the mirrors. */
  stop(): Promise<void>;
}
