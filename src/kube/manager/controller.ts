/** What a controller is: data and one function. The manager runs it. */
import type { Kind, KubeObject } from "../../apis/meta.ts";
import type { MirrorEvent } from "../mirror/mirror.ts";

/** A request to reconcile an object. Requests with equal kind and key wait in the queue only once. */
export interface Request {
  readonly kind: string;
  readonly namespace?: string | undefined;
  readonly name: string;
}

/** The request for this object. `kind`: passed because objects in lists may lack it. */
export function requestFor(kind: string, { metadata }: Pick<KubeObject, "metadata">): Request {
  return { kind, namespace: metadata.namespace, name: metadata.name };
}

/** The outcome that no reconcile is needed until a watched object changes. */
export const AWAIT_CHANGE = Object.freeze({ requeueAfterMs: undefined });

/** The outcome of a reconcile. `requeueAfterMs`: when to reconcile again, unless something changes earlier. */
export interface Outcome {
  readonly requeueAfterMs: number | undefined;
}

/** The outcome that the object is reconciled again in `ms` milliseconds, unless it changes earlier. */
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

/** A watched kind whose changes cause requests. Without `toRequests`, a change requests the object itself. */
export interface Source<T extends KubeObject = KubeObject> {
  readonly kind: Kind<T>;
  readonly toRequests?: (
    object: T,
    event: MirrorEvent,
    before: T | undefined,
  ) => readonly Request[];
  /**
   * Used instead of `toRequests` if one object may cause very many requests. They are queued later, in steps. An
   * undefined item means no request for that object. An undefined result means no requests at all.
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

/** One reconcile loop, as data that the manager runs. */
export interface Controller {
  /** The name in logs, metrics and docs. It is upstream's, such as `nodeclaim.lifecycle`. */
  readonly name: string;
  readonly watches: readonly Source[];
  /** The most reconciles at the same time. It is 1 for a controller with a single request. */
  readonly concurrency: number;
  /** Requests at the start. A controller that needs no object requests itself here. */
  readonly initialRequests?: readonly Request[];
  /** The wait after a failed reconcile, doubled with each failure. Absent: 1 s up to 60 s. */
  readonly backoffMs?: { readonly base: number; readonly max: number };
  /**
   * For requests that do not come from a watch, such as those of a queue in memory. It is called with `ask` at the
   * start, and returns a function that stops it.
   */
  readonly listen?: (ask: (request: Request) => void) => () => void;
  /** Reconciles one object. If it rejects, it is retried after a wait, except for TerminalError. */
  reconcile(request: Request): Promise<Outcome>;
}

/** Runs mirrors and controllers. `start` resolves when all mirrors have their first list. */
export interface Manager {
  add(controller: Controller): void;
  start(): Promise<void>;
  /** Accepts no more requests, waits for running reconciles, and stops listening to the mirrors. */
  stop(): Promise<void>;
}
