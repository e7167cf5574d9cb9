/** The calls of SQS: the interruption queue. */

/** The name of a queue. The call rejects with QueueDoesNotExist if there is no such queue. */
export interface GetQueueUrlInput {
  readonly QueueName: string;
}

/** The URL of a queue, by which all other calls name the queue. */
export interface GetQueueUrlOutput {
  readonly QueueUrl: string;
}

/**
 * How to receive messages. A received message is hidden for the visibility timeout. Then it can be received again,
 * unless it was deleted.
 */
export interface ReceiveMessageInput {
  readonly QueueUrl: string;
  /** Maximum number of messages, at most 10. */
  readonly MaxNumberOfMessages?: number;
  /** Seconds that the answer may wait for a first message (long polling), at most 20. */
  readonly WaitTimeSeconds?: number;
  /** Seconds for which received messages stay hidden from other receivers. */
  readonly VisibilityTimeout?: number;
  readonly MessageSystemAttributeNames?: readonly string[];
  readonly MessageAttributeNames?: readonly string[];
}

/** A message. SQS may deliver it more than once. */
export interface QueueMessage {
  readonly MessageId: string;
  /** Identifies this receipt of the message. A deletion needs it. */
  readonly ReceiptHandle: string;
  readonly Body: string;
  /** The requested attributes, such as `SentTimestamp` (epoch milliseconds as text). */
  readonly Attributes?: Readonly<Record<string, string>>;
}

/** The received messages. Empty when the wait ended without a message. */
export interface ReceiveMessageOutput {
  readonly Messages: readonly QueueMessage[];
}

/** The messages to delete, by their receipt handles. */
export interface DeleteMessageBatchInput {
  readonly QueueUrl: string;
  /** The messages to delete, at most 10. The caller chooses each `Id`. */
  readonly Entries: readonly { readonly Id: string; readonly ReceiptHandle: string }[];
}

/** Results of the deletions. The call succeeds even if single deletions failed. */
export interface DeleteMessageBatchOutput {
  readonly Successful: readonly { readonly Id: string }[];
  readonly Failed: readonly {
    readonly Id: string;
    readonly Code: string;
    readonly Message?: string;
  }[];
}

/**
 * The SQS calls that are used. They reject with `QueueDoesNotExist` for a missing queue, and with `AccessDenied` for a
 * missing permission.
 */
export interface SqsApi {
  getQueueUrl(input: GetQueueUrlInput): Promise<GetQueueUrlOutput>;
  /** An aborted wait rejects or returns no messages; the messages stay in the queue. */
  receiveMessage(
    input: ReceiveMessageInput,
    options?: { readonly signal?: AbortSignal },
  ): Promise<ReceiveMessageOutput>;
  deleteMessageBatch(input: DeleteMessageBatchInput): Promise<DeleteMessageBatchOutput>;
}
