/**
 * What the watches of the HTTPS server send. A state of an object is encoded once, and all watches that show it send
 * the same bytes, in small pieces: TLS keeps an encrypted copy of a piece until the reader takes it. Memory is bounded:
 * that of encoded states, and that of frames whose readers have not taken all of them yet.
 */
import { writeAsTaken } from "../../../kube/transport/write-as-taken.ts";
import { encodeProtobuf, encodeWatchFrame } from "../protobuf/encode.ts";

const MIB = 1_024 * 1_024;
/** Bytes of one write: a record of TLS. */
const PIECE_BYTES = 16 * 1_024;
/** Maximum number of bytes of encoded states that are kept for further watches. */
const KEPT_BYTES = 16 * MIB;
/**
 * Maximum number of bytes of frames that readers have begun and not finished. A frame that several readers share counts
 * once.
 */
const BEGUN_BYTES = 64 * MIB;

/** The response of a watch. */
interface WatchResponse {
  readonly destroyed: boolean;
  write(part: string | Uint8Array): boolean;
  destroy(): unknown;
  on(event: "drain" | "close", listener: () => void): unknown;
  off(event: "drain" | "close", listener: () => void): unknown;
}

type Encoding = "json" | "protobuf";

/** One event of a watch. */
export interface WatchFrame {
  readonly type: string;
  readonly object: object;
}

/** Encodes frames, and sends them no faster than their readers take them. */
export class WatchFrames {
  readonly #encoded = new Map<object, Map<string, Uint8Array>>();
  #encodedBytes = 0;
  /**
   * Readers that have begun a frame and not finished it, each with the frame. The reader that took a piece last is at
   * the end.
   */
  readonly #begun = new Map<WatchResponse, Uint8Array>();
  readonly #readers = new Map<Uint8Array, number>();
  #begunBytes = 0;
  readonly #keptLimit: number;
  readonly #begunLimit: number;

  /** Limits in bytes: of encoded states that are kept, and of frames that are being sent. */
  constructor(keptLimit: number = KEPT_BYTES, begunLimit: number = BEGUN_BYTES) {
    this.#keptLimit = keptLimit;
    this.#begunLimit = begunLimit;
  }

  /** Bytes of the frames that are being sent. A frame that several readers share counts once. */
  get begunBytes(): number {
    return this.#begunBytes;
  }

  /** Resolves when the reader has taken the frame, or is gone. */
  async send(response: WatchResponse, frame: WatchFrame, encoding: Encoding): Promise<void> {
    const bytes = this.#bytesOf(frame, encoding);
    if (bytes.length <= PIECE_BYTES) return writeAsTaken(response, bytes);
    this.#begin(response, bytes);
    try {
      for (let at = 0; at < bytes.length && !response.destroyed; at += PIECE_BYTES) {
        await writeAsTaken(response, bytes.subarray(at, at + PIECE_BYTES));
        if (this.#begun.delete(response)) this.#begun.set(response, bytes);
      }
    } finally {
      this.#finish(response, bytes);
    }
  }

  /**
   * Starts a frame. While more bytes than the limit are being sent, cuts off the reader that has taken nothing for the
   * longest time.
   */
  #begin(response: WatchResponse, bytes: Uint8Array): void {
    this.#begun.set(response, bytes);
    const readers = this.#readers.get(bytes) ?? 0;
    this.#readers.set(bytes, readers + 1);
    if (readers === 0) this.#begunBytes += bytes.length;
    for (const [slowest, theirs] of this.#begun) {
      if (this.#begunBytes <= this.#begunLimit || slowest === response) return;
      this.#finish(slowest, theirs);
      slowest.destroy();
    }
  }

  #finish(response: WatchResponse, bytes: Uint8Array): void {
    if (!this.#begun.delete(response)) return;
    const left = (this.#readers.get(bytes) ?? 0) - 1;
    if (left > 0) this.#readers.set(bytes, left);
    else {
      this.#readers.delete(bytes);
      this.#begunBytes -= bytes.length;
    }
  }

  #bytesOf({ type, object }: WatchFrame, encoding: Encoding): Uint8Array {
    const key = `${encoding}/${type}`;
    const known = this.#encoded.get(object)?.get(key);
    if (known !== undefined) return known;
    const bytes = encodedFrame({ type, object }, encoding);
    const frames = this.#encoded.get(object) ?? new Map<string, Uint8Array>();
    this.#encoded.set(object, frames.set(key, bytes));
    this.#encodedBytes += bytes.length;
    for (const [oldest, theirs] of this.#encoded) {
      if (this.#encodedBytes <= this.#keptLimit) break;
      this.#encoded.delete(oldest);
      for (const { length } of theirs.values()) this.#encodedBytes -= length;
    }
    return bytes;
  }
}

function encodedFrame({ type, object }: WatchFrame, encoding: Encoding): Uint8Array {
  if (encoding === "protobuf")
    return encodeWatchFrame(type, encodeProtobuf(object as Record<string, unknown>));
  return Buffer.from(`{"type":${JSON.stringify(type)},"object":${JSON.stringify(object)}}\n`);
}
