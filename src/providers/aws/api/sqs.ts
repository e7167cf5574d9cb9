/** The calls of SQS: the interruption queue. */

/** Unknown names reject with QueueDoesNotExist. */
export interface GetQueueUrlInput {
  readonly QueueName: string;
}

/** All other calls name the queue by this URL. */
export interface GetQueueUrlOutput {
  readonly QueueUrl: string;
}

/** Received messages are hidden for the visibility timeout, and come back unless deleted. */
export interface ReceiveMessageInput {
  readonly QueueUrl: string;
  /** At most 10. */
  readonly MaxNumberOfMessages?: number;
  /** Long polling: how long the answer may wait for a first message. At most 20. */
  readonly WaitTimeSeconds?: number;
  /** How long received messages stay hidden from others. */
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
  /** `SentTimestamp` (epoch milliseconds as text), if asked for. */
  readonly Attributes?: Readonly<Record<string, string>>;
}

/** Empty when the wait ended without a message. */
export interface ReceiveMessageOutput {
  readonly Messages: readonly QueueMessage[];
}

/** Deletes received messages. */
export interface DeleteMessageBatchInput {
  readonly QueueUrl: string;
  /** At most 10; `Id` is the caller's own. */
  readonly Entries: readonly { readonly Id: string; readonly ReceiptHandle: string }[];
}

/** The call succeeds even if single deletions failed. */
export interface DeleteMessageBatchOutput {
  readonly Successful: readonly { readonly Id: string }[];
  readonly Failed: readonly {
    readonly Id: string;
    readonly Code: string;
    readonly Message?: string;
  }[];
}

/** Missing queues reject with `QueueDoesNotExist`, a missing permission with `AccessDenied`. */
export interface SqsApi {
  getQueueUrl(input: GetQueueUrlInput): Promise<GetQueueUrlOutput>;
  /** An aborted wait rejects or returns no messages; the messages stay in the queue. */
  receiveMessage(
    input: ReceiveMessageInput,
    options?: { readonly signal?: AbortSignal },
  ): Promise<ReceiveMessageOutput>;
  deleteMessageBatch(input: DeleteMessageBatchInput): Promise<DeleteMessageBatchOutput>;
}
