/**
 * Receives messages from the interruption queue by long polling. After a first message, the next ten are requested
 * while the last ones are handled. Full answers start more workers, until the queue is empty. Messages that were
 * handled, or that nobody can handle, are deleted. A message that failed is delivered again after its visibility
 * timeout. If the queue is missing or access is denied, an error is logged and the call is retried with growing delay;
 * nothing else stops.
 * upstream: pkg/controllers/interruption/controller.go
 */
import { AWAIT_CHANGE, type Controller, requeueAfter } from "../../../kube/manager/controller.ts";
import type { QueueMessage } from "../api/sqs.ts";
import { describeError } from "../errors.ts";
import type { AwsDeps, AwsParts } from "../parts.ts";
import { createActor, type HandleMessage } from "./act.ts";
import { parseMessage } from "./messages.ts";
import { BATCH, InterruptionQueue, LONG_POLL_S } from "./queue.ts";

/** Workers that receive messages. Each handles one batch while the next is being received. */
const WORKERS = 12;

/** The controller for the queue of this name. `queueName` must not be empty. */
export function interruptionController(
  deps: AwsDeps,
  parts: AwsParts,
  queueName: string,
): Controller {
  const name = "interruption";
  const log = deps.log.with({ controller: name, queue: queueName });
  const queue = new InterruptionQueue(deps.api.sqs, queueName);
  const act = createActor({ ...deps, log }, parts);
  /** Ends the wait for messages when the program stops. */
  const stopping = new AbortController();

  async function finish(messages: readonly QueueMessage[]): Promise<void> {
    const done = await Promise.all(
      messages.map((message) => handle({ ...deps, log }, act, message)),
    );
    const gone = await queue.delete(
      messages.filter((_, index) => done[index] === true),
      log,
    );
    if (gone > 0) deps.metrics.count("interruption_deleted_messages_total", {}, gone);
  }

  /** Handles messages until no more arrive. Rejects with the first failure, after all workers have ended. */
  async function workOff(first: readonly QueueMessage[]): Promise<void> {
    const failures: unknown[] = [];
    const failed = (reason: unknown): [] => {
      failures.push(reason);
      return [];
    };
    const workers: Promise<void>[] = [];
    let open = true;

    async function work(received: readonly QueueMessage[]): Promise<void> {
      let messages = received;
      let full = received.length === BATCH ? 1 : 0;
      do {
        const asks = open && !stopping.signal.aborted;
        // The next messages are received while these are handled.
        const finished = finish(messages).catch(failed);
        const next = asks ? queue.receive(0, stopping.signal).catch(failed) : [];
        [messages] = await Promise.all([next, finished]);
        if (messages.length === 0 || failures.length > 0) open = false;
        if (messages.length < BATCH) continue;
        full += 1;
        // A worker that receives full batches starts one more worker, once. So few messages need few workers.
        if (open && full === 2 && workers.length < WORKERS) workers.push(work([]));
      } while (messages.length > 0);
    }

    workers.push(work(first));
    // Workers may be added while this waits, so the length is read again.
    for (let at = 0; at < workers.length; at++) await workers[at];
    if (failures.length > 0) throw failures[0];
  }

  return {
    name,
    concurrency: 1,
    watches: [],
    initialRequests: [{ kind: "Singleton", name }],
    listen: () => () => stopping.abort(),
    reconcile: async () => {
      const messages = await queue.receive(LONG_POLL_S, stopping.signal);
      if (messages.length > 0) await workOff(messages);
      return stopping.signal.aborted ? AWAIT_CHANGE : requeueAfter(0);
    },
  };
}

/** Whether the message may be deleted: it was handled, or nobody can handle it. */
async function handle(
  { clock, metrics, log }: Pick<AwsDeps, "clock" | "metrics" | "log">,
  act: HandleMessage,
  received: QueueMessage,
): Promise<boolean> {
  const messageId = received.MessageId;
  const message = parseMessage(received.Body);
  const { kind, complaint } = message;
  if (complaint !== undefined) log.error(`parsing message, ${complaint}`, { messageId });
  if (kind === "unreadable") return true;
  metrics.count("interruption_received_messages_total", { message_type: kind });
  try {
    await act(message);
  } catch (error) {
    const fields = { messageId, messageKind: kind, error: describeError(error) };
    log.error("handling message", fields);
    return false;
  }
  const sentMs = Number(received.Attributes?.["SentTimestamp"]);
  if (Number.isFinite(sentMs)) {
    const seconds = Math.max(0, clock.now() - sentMs) / 1_000;
    metrics.observe("interruption_message_queue_duration_seconds", {}, seconds);
  }
  return true;
}
