/**
 * Splits a long answer into frames as its bytes arrive: JSON by lines, text by lines, protobuf by the length before
 * each frame. A busy cluster sends a thousand frames a second, so a frame that has arrived takes only one promise.
 * Nested generators would take ten.
 */

/** Receives bytes, and returns the frames that are complete. */
interface Splitter<T> {
  take(chunk: Uint8Array): readonly T[];
  /** The frames that remain when the answer ends. */
  end(): readonly T[];
}

/** Number of bytes of the length before each protobuf frame. */
const LENGTH_BYTES = 4;

/** Splits text into lines, without empty ones. */
export function linesIn(): Splitter<string> {
  const decoder = new TextDecoder();
  let rest = "";
  return {
    take: (chunk) => {
      const parts = (rest + decoder.decode(chunk, { stream: true })).split("\n");
      rest = parts.pop() ?? "";
      return parts.filter((line) => line !== "");
    },
    end: () => (rest === "" ? [] : [rest]),
  };
}

/** Splits bytes into protobuf frames, and removes their lengths. */
export function lengthDelimited(): Splitter<Uint8Array> {
  let rest: Buffer = Buffer.alloc(0);
  return {
    take: (chunk) => {
      rest = rest.length === 0 ? Buffer.from(chunk) : Buffer.concat([rest, chunk]);
      const frames: Uint8Array[] = [];
      let at = 0;
      while (rest.length - at >= LENGTH_BYTES) {
        const end = at + LENGTH_BYTES + rest.readUInt32BE(at);
        if (end > rest.length) break;
        frames.push(rest.subarray(at + LENGTH_BYTES, end));
        at = end;
      }
      rest = rest.subarray(at);
      return frames;
    },
    end: () => [],
  };
}

/** How the bytes of an answer become frames, and how errors are reported. */
export interface FrameOptions<T> {
  readonly splitter: Splitter<T>;
  /** Decodes a frame when it is needed, so that the frames before an invalid one are still delivered. */
  readonly read: (frame: T) => unknown;
  /** The error to throw for an error while reading. Undefined: the error counts as the end. */
  readonly failed: (cause: unknown) => Error | undefined;
}

const END: IteratorResult<unknown, undefined> = { done: true, value: undefined };

/** Iterates over the frames of a body. */
export class FrameIterator<T> implements AsyncIterator<unknown> {
  readonly #chunks: AsyncIterator<Uint8Array>;
  readonly #options: FrameOptions<T>;
  #frames: readonly T[] = [];
  #at = 0;
  #isOver = false;

  constructor(body: AsyncIterable<Uint8Array>, options: FrameOptions<T>) {
    this.#chunks = body[Symbol.asyncIterator]();
    this.#options = options;
  }

  next(): Promise<IteratorResult<unknown>> {
    if (this.#at >= this.#frames.length) return this.#awaited();
    try {
      return Promise.resolve(this.#frame());
    } catch (error) {
      return this.#fail(error);
    }
  }

  /** The next frame, if it has arrived and can be decoded. Otherwise `next` waits for it, or fails. */
  arrived(): unknown {
    if (this.#at >= this.#frames.length) return undefined;
    try {
      return this.#frame().value;
    } catch {
      this.#at -= 1;
      return undefined;
    }
  }

  async return(): Promise<IteratorResult<unknown>> {
    this.#isOver = true;
    this.#frames = [];
    await this.#chunks.return?.();
    return END;
  }

  async #awaited(): Promise<IteratorResult<unknown>> {
    try {
      while (this.#at >= this.#frames.length) {
        if (this.#isOver) return END;
        const { done, value } = await this.#chunks.next();
        const { splitter } = this.#options;
        this.#isOver = done === true;
        this.#frames = done === true ? splitter.end() : splitter.take(value);
        this.#at = 0;
      }
      return this.#frame();
    } catch (error) {
      return this.#fail(error);
    }
  }

  #frame(): IteratorResult<unknown> {
    const frame = this.#frames[this.#at++] as T;
    return { done: false, value: this.#options.read(frame) };
  }

  /** Ends the iteration and closes the connection, then throws. Generators do the same after an error. */
  async #fail(error: unknown): Promise<IteratorResult<unknown>> {
    await this.return().catch(() => undefined);
    const failure = this.#options.failed(error);
    if (failure === undefined) return END;
    throw failure;
  }
}
