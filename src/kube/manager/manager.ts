/**
 * Runs controllers. Each has a work queue that mirrors fill. No reconcile starts before every mirror has its first
 * list, because decisions need the whole cluster. No reconcile starts while a vital mirror is outdated, because
 * decisions need the present state.
 */
import { keyOf } from "../../apis/meta.ts";
import { AssertionError } from "../../base/assert.ts";
import type { Clock } from "../../base/clock.ts";
import type { Logger } from "../../base/log.ts";
import type { Metrics, Sample } from "../../base/metrics.ts";
import type { Random } from "../../base/random.ts";
import { besideOthers, type Steps } from "../../base/steps.ts";
import { eachOf, isConflict, SeveralErrors, severalTexts, TerminalError } from "../errors.ts";
import type { LiveMirrors } from "../mirror/mirrors.ts";
import type { AwaitRoom } from "../transport/call-room.ts";
import { Asker } from "./asker.ts";
import {
  type Controller,
  type Manager,
  type Outcome,
  type Request,
  requestFor,
} from "./controller.ts";
import { WorkQueue } from "./work-queue.ts";

/** Milliseconds until an outdated mirror is checked again. */
const STALE_RETRY_MS = 250;
/**
 * Milliseconds after which an outdated mirror is logged. A reopened watch is outdated for a moment, which is normal.
 */
const STALE_TOLD_MS = 5_000;
/**
 * Controllers with so few workers do not wait for room: they cannot use up the connections, and some of them, such as
 * that of interruptions, have much to do without the API server.
 */
const FEW_WORKERS = 10;
const DEFAULT_BACKOFF_MS = { base: 1_000, max: 60_000 } as const;

/** Wraps reconciles, so that log lines can name the reconcile that they come from. */
export interface ReconcileScope {
  /** Runs the reconcile. */
  during<T>(controller: Controller, request: Request, work: () => T): T;
  /** Runs work that belongs to the last reconcile of the request. */
  after<T>(request: Request, work: () => T): T;
}

const NO_SCOPE: ReconcileScope = {
  during: (_controller, _request, work) => work(),
  after: (_request, work) => work(),
};

/** The dependencies of the manager. */
export interface ManagerDeps {
  readonly mirrors: LiveMirrors;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  /** Receives the metrics of controllers and queues that `KUBE_METRICS` declares. */
  readonly metrics?: Metrics;
  readonly scope?: ReconcileScope;
  /** Lets reconciles wait while the API server has many calls to answer. Absent: they begin at once. */
  readonly awaitRoom?: AwaitRoom | undefined;
}

/** Creates a manager that runs controllers over shared mirrors. */
export function createManager(deps: ManagerDeps): Manager {
  const controllers: Controller[] = [];
  const queues: WorkQueue<Request>[] = [];
  const stops: (() => void)[] = [];
  const byName = new Map<string, WorkQueue<Request>>();
  let stopped = false;
  const isCurrent = createGate(deps);
  const mayWork = (): boolean => !stopped && isCurrent();

  /** Passes all existing objects to each controller. */
  function* feed(): Steps<void> {
    for (const controller of controllers) {
      const queue = queueOf(controller, deps, mayWork);
      queues.push(queue);
      byName.set(controller.name, queue);
      for (const { kind, toRequests, toMany } of controller.watches) {
        if (stopped) return;
        const asker = askerFor(queue, controller.name, kind.kind, deps);
        stops.push(() => asker.stop());
        const { feeding, stop } = deps.mirrors.of(kind).onInSteps((event, object, before) => {
          if (toMany !== undefined) {
            const many = toMany(object, event, before);
            if (many !== undefined) asker.ask(keyOf(object), many);
            return;
          }
          const requests = toRequests?.(object, event, before) ?? [requestFor(kind.kind, object)];
          for (const request of requests) queue.add(request);
        });
        stops.push(stop);
        yield* feeding;
      }
      if (stopped) return;
      if (controller.listen !== undefined)
        stops.push(controller.listen((request) => queue.add(request)));
      for (const request of controller.initialRequests ?? []) queue.add(request);
    }
  }

  return {
    add: (controller) => {
      controllers.push(controller);
      // The mirror is opened now, so that `start` waits for all mirrors.
      for (const { kind } of controller.watches) deps.mirrors.of(kind);
    },
    start: async () => {
      await deps.mirrors.synced();
      const rest = besideOthers(deps.clock, feed());
      if (rest !== undefined) await rest;
      if (stopped) return;
      // Queues start only after all objects have been passed on, so that no decision is made with half of the cluster.
      for (const queue of queues) queue.open();
      if (deps.metrics !== undefined)
        stops.push(...showQueues(deps.metrics, deps.clock, controllers, byName));
    },
    stop: async () => {
      stopped = true;
      for (const stop of stops.splice(0)) stop();
      await Promise.all(queues.map((queue) => queue.stop()));
    },
  };
}

function askerFor(
  queue: WorkQueue<Request>,
  controller: string,
  kind: string,
  { clock, log }: ManagerDeps,
): Asker {
  const tell = (name: string, failures: number, first: unknown): void =>
    log.error("failed finding the objects that a change concerns", {
      controller,
      kind,
      name,
      failures,
      error: describe(first),
    });
  return new Asker(clock, (request) => queue.add(request), tell);
}

/**
 * Returns a function that says whether all vital mirrors are current. It logs if one has been outdated for long, and
 * when it is current again.
 */
function createGate({ mirrors, clock, log }: ManagerDeps): () => boolean {
  let sinceMs: number | undefined;
  let told = false;
  return () => {
    if (mirrors.current) {
      if (told) {
        const staleMs = clock.elapsedMs() - (sinceMs ?? 0);
        log.info("view of the cluster is current again, going on", { staleMs });
      }
      told = false;
      sinceMs = undefined;
      return true;
    }
    sinceMs ??= clock.elapsedMs();
    if (!told && clock.elapsedMs() - sinceMs >= STALE_TOLD_MS) {
      told = true;
      const kinds = mirrors.behind().join(", ");
      log.warn("view of the cluster is stale, deciding nothing until it is current", { kinds });
    }
    return false;
  };
}

function queueOf(
  controller: Controller,
  deps: ManagerDeps,
  mayWork: () => boolean,
): WorkQueue<Request> {
  const log = deps.log.with({ controller: controller.name });
  const { clock, metrics, awaitRoom, scope = NO_SCOPE } = deps;
  const isWaiting = awaitRoom !== undefined && controller.concurrency > FEW_WORKERS;
  const own = { controller: controller.name };
  const queue = { controller: controller.name, name: controller.name };
  return new WorkQueue<Request>({
    clock,
    concurrency: controller.concurrency,
    held: true,
    awaitRoom: isWaiting ? () => awaitRoom(controller.name) : undefined,
    backoffMs: controller.backoffMs ?? DEFAULT_BACKOFF_MS,
    keyOf: ({ kind, namespace, name }) => `${kind}/${namespace ?? ""}/${name}`,
    work: async (request) => {
      if (!mayWork()) return { requeueAfterMs: STALE_RETRY_MS };
      const startMs = clock.elapsedMs();
      const outcome: Outcome = await scope.during(controller, request, () =>
        controller.reconcile(request),
      );
      const result = outcome.requeueAfterMs === undefined ? "success" : "requeue_after";
      metrics?.count("controller_runtime_reconcile_total", { ...own, result });
      const seconds = (clock.elapsedMs() - startMs) / 1_000;
      metrics?.observe("controller_runtime_reconcile_time_seconds", own, seconds);
      return outcome;
    },
    jitter: () => deps.random.fraction(),
    onError: (request, error) => {
      const all = eachOf(error);
      const fields = { ...request, error: describe(error) };
      // A conflict only means that the object has changed. It is retried with little logging, and counts as no error.
      if (all.every(isConflict)) {
        metrics?.count("controller_runtime_reconcile_total", { ...own, result: "requeue" });
        scope.after(request, () => log.debug("reconcile lost a race, trying again", fields));
        return "soon";
      }
      // The request is retried, unless all its errors are terminal. Then it waits for a change.
      const terminal = all.every((one) => one instanceof TerminalError);
      metrics?.count("controller_runtime_reconcile_total", { ...own, result: "error" });
      metrics?.count("controller_runtime_reconcile_errors_total", own);
      if (terminal) metrics?.count("controller_runtime_terminal_reconcile_errors_total", own);
      if (all.some((one) => one instanceof AssertionError))
        metrics?.count("controller_runtime_reconcile_panics_total", own);
      scope.after(request, () => log.error("Reconciler error", fields));
      return terminal ? "never" : "later";
    },
    onDone: (waitedMs, workedMs) => {
      metrics?.observe("workqueue_queue_duration_seconds", queue, waitedMs / 1_000);
      metrics?.observe("workqueue_work_duration_seconds", queue, workedMs / 1_000);
    },
  });
}

/** Registers gauges of the queues, computed at each scrape. Returns functions that remove them. */
function showQueues(
  metrics: Metrics,
  clock: Clock,
  controllers: readonly Controller[],
  queues: ReadonlyMap<string, WorkQueue<Request>>,
): readonly (() => void)[] {
  type Value = (queue: WorkQueue<Request>) => number;
  const perQueue = (value: Value, more: Readonly<Record<string, string>> = {}) =>
    function* (): Iterable<Sample> {
      for (const [name, queue] of queues)
        yield { labels: { controller: name, name, ...more }, value: value(queue) };
    };
  const seconds = (queue: WorkQueue<Request>) =>
    queue.runningSinceMs().map((sinceMs) => (clock.elapsedMs() - sinceMs) / 1_000);
  const perController = (value: (controller: Controller) => number) =>
    function* (): Iterable<Sample> {
      for (const one of controllers) yield { labels: { controller: one.name }, value: value(one) };
    };
  const active = ({ name }: Controller) => queues.get(name)?.runningSinceMs().length ?? 0;
  return [
    metrics.read(
      "workqueue_depth",
      perQueue(({ depth }) => depth, { priority: "0" }),
    ),
    metrics.read(
      "workqueue_adds_total",
      perQueue(({ adds }) => adds),
    ),
    metrics.read(
      "workqueue_retries_total",
      perQueue(({ retries }) => retries),
    ),
    metrics.read(
      "workqueue_unfinished_work_seconds",
      perQueue((queue) => seconds(queue).reduce((sum, one) => sum + one, 0)),
    ),
    metrics.read(
      "workqueue_longest_running_processor_seconds",
      perQueue((queue) => Math.max(0, ...seconds(queue))),
    ),
    metrics.read(
      "controller_runtime_max_concurrent_reconciles",
      perController(({ concurrency }) => concurrency),
    ),
    metrics.read("controller_runtime_active_workers", perController(active)),
  ];
}

/** Whether the error has a class of its own, so that its message is enough. Other errors need a stack trace. */
function isKnown(error: Error): boolean {
  return error.name !== "Error" && error.name !== "TypeError" && error.name !== "AssertionError";
}

/**
 * The messages of an error and its causes. Unknown errors also show their place in the code. A cause's message is not
 * repeated.
 */
export function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error instanceof SeveralErrors) return severalTexts(error.errors.map(describe));
  const told =
    error.cause instanceof Error &&
    isKnown(error.cause) &&
    error.message.includes(error.cause.message);
  const cause = error.cause === undefined || told ? "" : `: ${describe(error.cause)}`;
  return isKnown(error) ? `${textOf(error)}${cause}` : `${error.stack ?? error.message}${cause}`;
}

/** The error's text, with the failed call and the service's error code if it has them. */
function textOf(error: Error): string {
  const { action, code } = error as { action?: unknown; code?: unknown };
  const known = [action, code].filter(
    (one) => typeof one === "string" && !error.message.includes(one),
  );
  return [...known, error.message].join(": ");
}
