/** What a controller is, for the manager that runs it: data and one function. */
import type { Kind, KubeObject } from "../../apis/meta.ts";
import type { MirrorEvent } from "../mirror/mirror.ts";

/** What to look at. Equal requests (kind and key) waiting in the queue are one. */
export interface Request {
  readonly kind: string;
  readonly namespace?: string | undefined;
  readonly name: string;
}

/** To look at this object, which is of kind `kind` (objects out of lists do not say). */
export function requestFor(kind: string, { metadata }: Pick<KubeObject, "metadata">): Request {
  return { kind, namespace: metadata.namespace, name: metadata.name };
}

/** Nothing to do until something watched changes. */
export const AWAIT_CHANGE = Object.freeze({ requeueAfterMs: undefined });

/** `requeueAfterMs`: look again then, or earlier if something changes. */
export interface Outcome {
  readonly requeueAfterMs: number | undefined;
}

/** Reconcile again in `ms` milliseconds, unless a change comes first. */
export function requeueAfter(ms: number): Outcome {
  return { requeueAfterMs: ms };
}

/** The sooner of several outcomes: how the steps of one reconcile join. */
export function soonest(...outcomes: readonly Outcome[]): Outcome {
  let result: number | undefined;
  for (const { requeueAfterMs } of outcomes) {
    if (requeueAfterMs === undefined) continue;
    result = result === undefined ? requeueAfterMs : Math.min(result, requeueAfterMs);
  }
  return { requeueAfterMs: result };
}

/** One source of requests. Without `toRequests` an object asks for itself. */
export interface Source<T extends KubeObject = KubeObject> {
  readonly kind: Kind<T>;
  readonly toRequests?: (
    object: T,
    event: MirrorEvent,
    before: T | undefined,
  ) => readonly Request[];
  /**
   * In its place, where one object may ask for all there are: they are gone through later, in turns. Undefined in it: not
   * that one; in its place: nobody.
   */
  readonly toMany?: (
    object: T,
    event: MirrorEvent,
    before: T | undefined,
  ) => Iterable<Request | undefined> | undefined;
}

/** Helps inference when a list of sources mixes kinds. */
export function source<T extends KubeObject>(
  kind: Kind<T>,
  toRequests?: (object: T, event: MirrorEvent, before: T | undefined) => readonly Request[],
): Source {
  return (toRequests === undefined ? { kind } : { kind, toRequests }) as unknown as Source;
}

/** As {@link source}, of many: see {@link Source.toMany}. */
export function sourceOfMany<T extends KubeObject>(
  kind: Kind<T>,
  toMany: NonNullable<Source<T>["toMany"]>,
): Source {
  return { kind, toMany } as unknown as Source;
}

/** One reconcile loop, as data: the manager runs it. */
export interface Controller {
  /** Karpenter's own name: `nodeclaim.lifecycle`. In logs, metrics and the docs. */
  readonly name: string;
  readonly watches: readonly Source[];
  /** Requests worked on at once. 1 for singletons. */
  readonly concurrency: number;
  /** Asked for once at start: singletons name themselves here. */
  readonly initialRequests?: readonly Request[];
  /** Backoff of failing requests; default 1 s doubling to 60 s. */
  readonly backoffMs?: { readonly base: number; readonly max: number };
  /**
   * Lets something that is not a watched object ask for work (a queue in memory): is handed `ask` at
   * start, returns "stop".
   */
  readonly listen?: (ask: (request: Request) => void) => () => void;
  /** Resolve when done; throw to be tried again with backoff; TerminalError not to be. */
  reconcile(request: Request): Promise<Outcome>;
}

/** Runs mirrors and controllers. `start` resolves once all mirrors are synced. */
export interface Manager {
  add(controller: Controller): void;
  start(): Promise<void>;
  /** Stops taking requests, lets running reconciles end, closes watches. */
  stop(): Promise<void>;
}
