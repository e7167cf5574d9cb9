/**
 * The interruption queue for the controller: receive messages, delete handled ones. Its URL is looked up by name, and
 * again after the queue was missing.
 * upstream: pkg/providers/sqs
 */
import type { Logger } from "../../../base/log.ts";
import { AwsError } from "../api/call.ts";
import type { QueueMessage, SqsApi } from "../api/sqs.ts";
import { isNotFound } from "../errors.ts";

/** Maximum number of messages that one call receives. */
export const BATCH = 10;
/** Seconds that a receive call waits for messages: the most that SQS allows. */
export const LONG_POLL_S = 20;
const VISIBILITY_S = 20;

/** The error that the queue cannot be used. `message` names the queue and includes AWS's error. */
class InterruptionQueueError extends Error {
  override readonly name = "InterruptionQueueError";
}

/** The SQS queue. Its URL is looked up once, and again after the queue was missing. */
export class InterruptionQueue {
  readonly name: string;
  readonly #sqs: SqsApi;
  #url: string | undefined;

  constructor(sqs: SqsApi, name: string) {
    this.#sqs = sqs;
    this.name = name;
  }

  /** Waits up to `waitS` for a first message. Empty: none arrived, or `signal` ended the wait. */
  async receive(waitS: number, signal: AbortSignal): Promise<readonly QueueMessage[]> {
    try {
      this.#url ??= (await this.#sqs.getQueueUrl({ QueueName: this.name })).QueueUrl;
      const { Messages } = await this.#sqs.receiveMessage(
        {
          QueueUrl: this.#url,
          MaxNumberOfMessages: BATCH,
          WaitTimeSeconds: waitS,
          VisibilityTimeout: VISIBILITY_S,
          MessageSystemAttributeNames: ["SentTimestamp"],
          MessageAttributeNames: ["All"],
        },
        // A call that does not wait need not be aborted.
        waitS === 0 ? {} : { signal },
      );
      return Messages ?? [];
    } catch (error) {
      if (signal.aborted) return [];
      throw this.#refused(error, "receiving messages from");
    }
  }

  /**
   * Deletes messages in one call, because SQS charges for calls, not for messages. Resolves with the number deleted.
   */
  async delete(messages: readonly QueueMessage[], log: Logger): Promise<number> {
    if (messages.length === 0 || this.#url === undefined) return 0;
    const Entries = messages.map(({ ReceiptHandle }, index) => ({
      Id: String(index),
      ReceiptHandle,
    }));
    try {
      const { Failed } = await this.#sqs.deleteMessageBatch({ QueueUrl: this.#url, Entries });
      for (const { Id, Code, Message = "" } of Failed ?? []) {
        const messageId = messages[Number(Id)]?.MessageId;
        log.error("deleting message", { messageId, error: `${Code}: ${Message}` });
      }
      return messages.length - (Failed?.length ?? 0);
    } catch (error) {
      throw this.#refused(error, "deleting messages from");
    }
  }

  #refused(error: unknown, doing: string): unknown {
    // If the queue is created again, its URL may differ.
    if (isNotFound(error)) this.#url = undefined;
    if (!(error instanceof AwsError)) return error;
    const text = `${doing} interruption queue ${this.name}: ${error.code}`;
    return new InterruptionQueueError(text, { cause: error });
  }
}
