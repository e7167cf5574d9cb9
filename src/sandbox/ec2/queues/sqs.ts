/**
 * SQS's calls: the three of Karpenter, and those by which a person reads or fills a queue. Limits and errors
 * are SQS's. Message sizes, encryption, policies and dead-letter queues are not simulated.
 */
import { AwsError } from "../../../providers/aws/api/call.ts";
import type { AwsState } from "../account/state.ts";
import { Queue, type QueueSettings, queueMissing } from "./queue.ts";

interface OfQueue {
  readonly QueueUrl?: string;
}

interface SendInput extends OfQueue {
  readonly MessageBody?: string;
  readonly DelaySeconds?: number;
}

interface ReceiveInput extends OfQueue {
  readonly MaxNumberOfMessages?: number;
  readonly WaitTimeSeconds?: number;
  readonly VisibilityTimeout?: number;
  readonly AttributeNames?: readonly string[];
  readonly MessageSystemAttributeNames?: readonly string[];
}

interface HideInput extends OfQueue {
  readonly ReceiptHandle?: string;
  readonly VisibilityTimeout?: number;
}

interface BatchInput<Entry> extends OfQueue {
  readonly Entries?: readonly (Entry & { readonly Id?: string })[];
}

const DAY_S = 86_400;

/** The calls by method name. */
export function sqsCalls(
  state: AwsState,
): Readonly<Record<string, (input: never, signal?: AbortSignal) => unknown>> {
  return {
    createQueue(input: { QueueName?: string; Attributes?: Record<string, string> }) {
      const name = required(input.QueueName, "QueueName");
      if (!/^[\w-]{1,80}$/.test(name)) {
        throw invalid("Can only include alphanumeric characters, hyphens, or underscores. 1 to 80");
      }
      const queue = state.queues.get(name) ?? createQueue(state, name, input.Attributes);
      return { QueueUrl: queue.settings.url };
    },
    listQueues({ QueueNamePrefix = "" }: { readonly QueueNamePrefix?: string }) {
      const names = [...state.queues.keys()].filter((name) => name.startsWith(QueueNamePrefix));
      return { QueueUrls: names.sort().map((name) => state.queues.get(name)?.settings.url) };
    },
    getQueueUrl(input: { readonly QueueName?: string }) {
      const queue = state.queues.get(required(input.QueueName, "QueueName"));
      if (queue === undefined) throw queueMissing();
      return { QueueUrl: queue.settings.url };
    },
    deleteQueue(input: OfQueue) {
      const queue = find(state, input);
      state.queues.delete(queue.settings.name);
      queue.close();
    },
    purgeQueue: (input: OfQueue) => find(state, input).purge(),
    getQueueAttributes: (input: OfQueue & { readonly AttributeNames?: readonly string[] }) =>
      attributesOf(find(state, input), input.AttributeNames ?? []),
    setQueueAttributes(input: OfQueue & { readonly Attributes?: Record<string, string> }) {
      const queue = find(state, input);
      queue.settings = { ...queue.settings, ...settingsOf(input.Attributes ?? {}) };
    },
    sendMessage: (input: SendInput) => send(find(state, input), input),
    sendMessageBatch: (input: BatchInput<SendInput>) =>
      batch(input, (entry) => send(find(state, input), entry)),
    receiveMessage: (input: ReceiveInput, signal) => receive(find(state, input), input, signal),
    deleteMessage: (input: HideInput) => remove(find(state, input), input),
    deleteMessageBatch: (input: BatchInput<HideInput>) =>
      batch(input, (entry) => remove(find(state, input), entry)),
    changeMessageVisibility(input: HideInput) {
      const ms = seconds(input.VisibilityTimeout, 0, 43_200, "VisibilityTimeout") ?? 0;
      if (!find(state, input).hide(required(input.ReceiptHandle, "ReceiptHandle"), ms)) {
        throw badHandle();
      }
    },
  };
}

/** Creates a queue. Attributes that are missing get SQS's defaults. */
export function createQueue(
  state: AwsState,
  name: string,
  attributes: Readonly<Record<string, string>> = {},
): Queue {
  const { accountId, region } = state;
  const queue = new Queue(state.clock, state.messageIds, {
    name,
    url: `https://sqs.${region}.amazonaws.com/${accountId}/${name}`,
    arn: `arn:aws:sqs:${region}:${accountId}:${name}`,
    retentionMs: 4 * DAY_S * 1_000,
    visibilityMs: 30_000,
    waitMs: 0,
    delayMs: 0,
    ...settingsOf(attributes),
  });
  state.queues.set(name, queue);
  return queue;
}

function find(state: AwsState, { QueueUrl }: OfQueue): Queue {
  // Only the last part of the URL, the queue's name, is used.
  const name = required(QueueUrl, "QueueUrl").split("/").at(-1) ?? "";
  const queue = state.queues.get(name);
  if (queue === undefined) throw queueMissing();
  return queue;
}

async function receive(
  queue: Queue,
  input: ReceiveInput,
  signal: AbortSignal | undefined,
): Promise<unknown> {
  const max = input.MaxNumberOfMessages ?? 1;
  if (!Number.isInteger(max) || max < 1 || max > 10) {
    throw invalid(`Value ${max} for parameter MaxNumberOfMessages is invalid. Reason: 1 to 10`);
  }
  const { settings } = queue;
  const messages = await queue.receive({
    max,
    waitMs: seconds(input.WaitTimeSeconds, 0, 20, "WaitTimeSeconds") ?? settings.waitMs,
    visibilityMs:
      seconds(input.VisibilityTimeout, 0, 43_200, "VisibilityTimeout") ?? settings.visibilityMs,
    signal,
  });
  const names = [...(input.MessageSystemAttributeNames ?? []), ...(input.AttributeNames ?? [])];
  const Messages = messages.map(({ Attributes, ...message }) => {
    const shown = Object.entries(Attributes).filter(
      ([name]) => names.includes("All") || names.includes(name),
    );
    return shown.length === 0 ? message : { ...message, Attributes: Object.fromEntries(shown) };
  });
  return Messages.length === 0 ? {} : { Messages };
}

function send(queue: Queue, input: SendInput): unknown {
  const body = required(input.MessageBody, "MessageBody");
  const { id, md5: digest } = queue.send(
    body,
    seconds(input.DelaySeconds, 0, 900, "DelaySeconds") ?? queue.settings.delayMs,
  );
  return { MessageId: id, MD5OfMessageBody: digest };
}

function remove(queue: Queue, input: HideInput): void {
  if (!queue.delete(required(input.ReceiptHandle, "ReceiptHandle"))) throw badHandle();
}

/** Handles each entry of a batch. One may fail while others succeed. */
function batch<Entry>(input: BatchInput<Entry>, one: (entry: Entry) => unknown): unknown {
  const entries = input.Entries ?? [];
  const ids = new Set(entries.map(({ Id }) => Id));
  if (entries.length === 0) {
    throw new AwsError("EmptyBatchRequest", "There should be at least one entry in the request.");
  }
  if (entries.length > 10) {
    throw new AwsError("TooManyEntriesInBatchRequest", "Maximum number of entries is 10.");
  }
  if (ids.size < entries.length) {
    throw new AwsError("BatchEntryIdsNotDistinct", "Two or more batch entries have the same Id.");
  }
  const Successful: unknown[] = [];
  const Failed: unknown[] = [];
  for (const entry of entries) {
    try {
      Successful.push({ Id: entry.Id, ...(one(entry) as object | undefined) });
    } catch (error) {
      if (!(error instanceof AwsError)) throw error;
      Failed.push({
        Id: entry.Id,
        Code: error.code,
        Message: error.message,
        SenderFault: true,
      });
    }
  }
  return { Successful, Failed };
}

function attributesOf(queue: Queue, names: readonly string[]): unknown {
  const { settings } = queue;
  const { visible, hidden, delayed } = queue.counts();
  const text = (ms: number): string => String(Math.floor(ms / 1_000));
  const all: Readonly<Record<string, string>> = {
    QueueArn: settings.arn,
    ApproximateNumberOfMessages: String(visible),
    ApproximateNumberOfMessagesNotVisible: String(hidden),
    ApproximateNumberOfMessagesDelayed: String(delayed),
    CreatedTimestamp: text(queue.createdMs),
    DelaySeconds: text(settings.delayMs),
    MessageRetentionPeriod: text(settings.retentionMs),
    ReceiveMessageWaitTimeSeconds: text(settings.waitMs),
    VisibilityTimeout: text(settings.visibilityMs),
  };
  const shown = Object.entries(all).filter(
    ([name]) => names.includes("All") || names.includes(name),
  );
  return shown.length === 0 ? {} : { Attributes: Object.fromEntries(shown) };
}

const SETTINGS: Readonly<Record<string, keyof QueueSettings>> = {
  MessageRetentionPeriod: "retentionMs",
  VisibilityTimeout: "visibilityMs",
  ReceiveMessageWaitTimeSeconds: "waitMs",
  DelaySeconds: "delayMs",
};

/** The attributes that change the simulated queue. SQS's other attributes are accepted without effect. */
function settingsOf(attributes: Readonly<Record<string, string>>): Partial<QueueSettings> {
  const settings: Record<string, number> = {};
  for (const [name, key] of Object.entries(SETTINGS)) {
    const ms = seconds(attributes[name], 0, 14 * DAY_S, name);
    if (ms !== undefined) settings[key] = ms;
  }
  return settings;
}

/** Converts seconds, given as number or text, to milliseconds. */
function seconds(
  value: number | string | undefined,
  least: number,
  most: number,
  name: string,
): number | undefined {
  if (value === undefined) return undefined;
  const n = Number(value);
  if (!Number.isInteger(n) || n < least || n > most) {
    throw invalid(`Value ${value} for parameter ${name} is invalid. Reason: ${least} to ${most}`);
  }
  return n * 1_000;
}

function required(value: string | undefined, name: string): string {
  if (value !== undefined && value !== "") return value;
  throw new AwsError("MissingParameter", `The request must contain the parameter ${name}.`);
}

function invalid(message: string): AwsError {
  return new AwsError("InvalidParameterValue", message);
}

function badHandle(): AwsError {
  return new AwsError("ReceiptHandleIsInvalid", "The input receipt handle is invalid.");
}
