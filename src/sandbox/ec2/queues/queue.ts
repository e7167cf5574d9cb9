/**
 * One simulated SQS standard queue: messages, visibility timeouts, long polling and retention. A message is
 * removed when a receiver deletes it with its newest receipt handle, or when it is too old. Otherwise it
 * becomes visible again after its timeout.
 */
import { createHash } from "node:crypto";
import type { Clock } from "../../../base/clock.ts";
import type { Random } from "../../../base/random.ts";
import { AwsError } from "../../../providers/aws/api/call.ts";

interface Stored {
  readonly id: string;
  readonly body: string;
  readonly sentMs: number;
  receipts: number;
  firstReceivedMs: number | undefined;
  /** The message is hidden until this time. */
  visibleMs: number;
}

/** A message as `ReceiveMessage` answers it. */
export interface ReceivedMessage {
  readonly MessageId: string;
  readonly ReceiptHandle: string;
  readonly MD5OfBody: string;
  readonly Body: string;
  readonly Attributes: Readonly<Record<string, string>>;
}

/** Attributes of an SQS queue. */
export interface QueueSettings {
  readonly name: string;
  readonly url: string;
  readonly arn: string;
  readonly retentionMs: number;
  /** How long a received message is hidden, if the receiver does not set it. */
  readonly visibilityMs: number;
  /** How long a receive waits for a message, if the receiver does not set it. */
  readonly waitMs: number;
  readonly delayMs: number;
}

/** One receive call: how many messages, and how long to wait for them. */
export interface Receive {
  readonly max: number;
  readonly waitMs: number;
  readonly visibilityMs: number;
  readonly signal: AbortSignal | undefined;
}

/** An SQS queue. A received message becomes visible again after its visibility timeout, unless it is deleted before. */
export class Queue {
  settings: QueueSettings;
  readonly createdMs: number;
  readonly #clock: Clock;
  readonly #random: Random;
  /** The messages in the order in which they were sent. */
  readonly #messages = new Map<string, Stored>();
  readonly #waiting = new Set<() => void>();
  #deleted = false;

  constructor(clock: Clock, random: Random, settings: QueueSettings) {
    this.#clock = clock;
    this.#random = random;
    this.settings = settings;
    this.createdMs = clock.now();
  }

  /** Adds a message. Returns its id and the MD5 of its body. */
  send(body: string, delayMs = this.settings.delayMs): { id: string; md5: string } {
    const id = this.#random.uuid();
    const nowMs = this.#clock.now();
    this.#messages.set(id, {
      id,
      body,
      sentMs: nowMs,
      receipts: 0,
      firstReceivedMs: undefined,
      visibleMs: nowMs + delayMs,
    });
    this.#wake();
    return { id, md5: md5(body) };
  }

  /** Waits if there is no message. Returns nothing if the wait ends or is aborted. */
  async receive(request: Receive): Promise<ReceivedMessage[]> {
    const deadlineMs = this.#clock.now() + request.waitMs;
    for (;;) {
      if (this.#deleted) throw queueMissing();
      if (request.signal?.aborted === true) return [];
      const found = this.#take(request);
      if (found.length > 0 || this.#clock.now() >= deadlineMs) return found;
      await this.#change(deadlineMs, request.signal);
    }
  }

  /** Deletes a message, if the handle is its newest one. False if the text has not the form of a handle. */
  delete(receiptHandle: string): boolean {
    const [id = "", receipt] = decodeHandle(receiptHandle);
    if (receipt === undefined) return false;
    if (this.#messages.get(id)?.receipts === receipt) this.#messages.delete(id);
    return true;
  }

  /** Hides a message for this time from now on, if the handle is its newest one. False as in `delete`. */
  hide(receiptHandle: string, visibilityMs: number): boolean {
    const [id = "", receipt] = decodeHandle(receiptHandle);
    if (receipt === undefined) return false;
    const message = this.#messages.get(id);
    if (message?.receipts === receipt) message.visibleMs = this.#clock.now() + visibilityMs;
    this.#wake();
    return true;
  }

  purge(): void {
    this.#messages.clear();
  }

  /** Rejects all waiting and later receives. */
  close(): void {
    this.#deleted = true;
    this.#messages.clear();
    this.#wake();
  }

  /** Number of messages that are visible, hidden (received but not deleted), and delayed. */
  counts(): { readonly visible: number; readonly hidden: number; readonly delayed: number } {
    this.#forgetOld();
    const nowMs = this.#clock.now();
    const counts = { visible: 0, hidden: 0, delayed: 0 };
    for (const { visibleMs, receipts } of this.#messages.values()) {
      if (visibleMs <= nowMs) counts.visible++;
      else if (receipts > 0) counts.hidden++;
      else counts.delayed++;
    }
    return counts;
  }

  #take({ max, visibilityMs }: Receive): ReceivedMessage[] {
    this.#forgetOld();
    const nowMs = this.#clock.now();
    const found: ReceivedMessage[] = [];
    for (const message of this.#messages.values()) {
      if (found.length >= max) break;
      if (message.visibleMs > nowMs) continue;
      message.receipts++;
      message.firstReceivedMs ??= nowMs;
      message.visibleMs = nowMs + visibilityMs;
      found.push({
        MessageId: message.id,
        ReceiptHandle: encodeHandle(message.id, message.receipts),
        MD5OfBody: md5(message.body),
        Body: message.body,
        Attributes: {
          SentTimestamp: String(message.sentMs),
          ApproximateFirstReceiveTimestamp: String(message.firstReceivedMs),
          ApproximateReceiveCount: String(message.receipts),
        },
      });
    }
    return found;
  }

  #forgetOld(): void {
    const oldestMs = this.#clock.now() - this.settings.retentionMs;
    for (const { id, sentMs } of this.#messages.values()) {
      if (sentMs > oldestMs) break;
      this.#messages.delete(id);
    }
  }

  /** Resolves when a message may have become visible, when the wait is aborted, or at `deadlineMs`. */
  #change(deadlineMs: number, signal: AbortSignal | undefined): Promise<void> {
    let untilMs = deadlineMs;
    for (const { visibleMs } of this.#messages.values()) untilMs = Math.min(untilMs, visibleMs);
    return new Promise((resolve) => {
      const wake = (): void => {
        timer.cancel();
        this.#waiting.delete(wake);
        signal?.removeEventListener("abort", wake);
        resolve();
      };
      const timer = this.#clock.after(untilMs - this.#clock.now(), wake);
      this.#waiting.add(wake);
      signal?.addEventListener("abort", wake);
    });
  }

  #wake(): void {
    for (const wake of [...this.#waiting]) wake();
  }
}

/** The error for a queue that does not exist. */
export function queueMissing(): AwsError {
  return new AwsError("QueueDoesNotExist", "The specified queue does not exist.");
}

function md5(text: string): string {
  return createHash("md5").update(text).digest("hex");
}

function encodeHandle(id: string, receipt: number): string {
  return Buffer.from(`${id}/${receipt}`).toString("base64");
}

function decodeHandle(handle: string): [string, number] | [] {
  const match = /^([0-9a-f-]{36})\/(\d+)$/.exec(Buffer.from(handle, "base64").toString());
  return match === null ? [] : [match[1] as string, Number(match[2])];
}
