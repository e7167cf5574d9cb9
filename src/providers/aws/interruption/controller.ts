/**
 * Follows the interruption queue: one long poll after the other, up to ten messages each, all handled at
 * once. A full answer tells of a flood: then many receive, handle and delete side by side until the queue
 * is empty. What was handled, and what nobody can handle, is deleted; what failed comes again when its
 * visibility runs out. A queue that is missing or closed to us is an error in the log, tried again with
 * growing delay, and nothing else stops for it.
 * upstream: pkg/controllers/interruption/controller.go
 */
import { AWAIT_CHANGE, type Controller, requeueAfter } from "../../../kube/controller.ts";
import type { QueueMessage } from "../api.ts";
import { describeError } from "../errors.ts";
import type { AwsDeps, AwsParts } from "../parts.ts";
import { type Act, createActor } from "./act.ts";
import { parseMessage } from "./messages.ts";
import { BATCH, InterruptionQueue, LONG_POLL_S } from "./queue.ts";

/** Batches at once in a flood: calls to SQS and Kubernetes take tens of milliseconds, mostly waiting. */
const FLOOD_WORKERS = 24;

/** `queueName` is not empty. */
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

  /** Receives, handles and deletes one batch; resolves how many messages it had. */
  async function workOff(waitS: number): Promise<number> {
    const messages = await queue.receive(waitS, stopping.signal);
    const done = await Promise.all(
      messages.map((message) => handle({ ...deps, log }, act, message)),
    );
    const gone = await queue.delete(
      messages.filter((_, index) => done[index] === true),
      log,
    );
    if (gone > 0) deps.metrics.count("interruption_deleted_messages_total", {}, gone);
    return messages.length;
  }

  /** Until nothing comes any more or a call fails, whose error it rejects with when all have ended. */
  async function workOffFlood(): Promise<void> {
    let open = true;
    const workers: Promise<void>[] = [];
    const worker = async (): Promise<void> => {
      try {
        for (let size = BATCH; open && size > 0 && !stopping.signal.aborted; ) {
          size = await workOff(0);
          // A full answer lets one more in: a small flood needs few connections.
          if (size === BATCH && workers.length < FLOOD_WORKERS) workers.push(worker());
        }
      } finally {
        open = false;
      }
    };
    workers.push(worker());
    let failure: PromiseRejectedResult | undefined;
    // More of them come while these are waited for.
    for (let at = 0; at < workers.length; at++) {
      const [ended] = await Promise.allSettled([workers[at] as Promise<void>]);
      if (ended?.status === "rejected") failure ??= ended;
    }
    if (failure !== undefined) throw failure.reason;
  }

  return {
    name,
    concurrency: 1,
    watches: [],
    initialRequests: [{ kind: "Singleton", name }],
    listen: () => () => stopping.abort(),
    reconcile: async () => {
      const size = await workOff(LONG_POLL_S);
      if (size === BATCH) await workOffFlood();
      return stopping.signal.aborted ? AWAIT_CHANGE : requeueAfter(0);
    },
  };
}

/** Whether the message has had its effect, or never will have one, and may go. */
async function handle(
  { clock, metrics, log }: Pick<AwsDeps, "clock" | "metrics" | "log">,
  act: Act,
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
