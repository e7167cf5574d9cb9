/**
 * The key of a part of a message: the bytes of the fields that are read. A key points into the message's own buffer,
 * so that a part that was decoded before is found without a copy. A busy watch makes thousands of keys a second.
 */
import type { Fields } from "./fields.ts";

/** A key that outlives its message. */
export interface KeyCopy {
  readonly bytes: Buffer;
  /** The kind and length of each stretch of bytes, as {@link PartKey} describes them. */
  readonly marks: readonly number[];
}

/** Multiplier and start of the 32-bit FNV-1a hash. */
const FNV_PRIME = 0x01_00_01_93;
const FNV_START = 0x81_1c_9d_c5;

/**
 * Collects fields of one message. Adjacent fields are one stretch of bytes. The marks are the length of each stretch,
 * and the negative number of a field before the parts of it that are read. So two different messages never have equal
 * keys.
 */
export class PartKey {
  #bytes: Buffer | undefined;
  /** A cursor for messages inside of the current one. */
  #inner: Fields | undefined;
  /** Begin and end of each stretch. */
  readonly #stretches: number[] = [];
  readonly #marks: number[] = [];

  get isEmpty(): boolean {
    return this.#stretches.length === 0;
  }

  /** Starts the key of another message. */
  begin(fields: Fields | undefined): void {
    this.#stretches.length = 0;
    this.#marks.length = 0;
    if (fields === undefined || fields.bytes === this.#bytes) return;
    this.#bytes = fields.bytes;
    this.#inner = undefined;
  }

  /** Adds the current field of `fields`. */
  add({ begin, to }: Fields): void {
    const stretches = this.#stretches;
    const last = stretches.length - 1;
    const marks = this.#marks;
    if (stretches[last] === begin && (marks.at(-1) as number) > 0) {
      stretches[last] = to;
      marks[marks.length - 1] = to - (stretches[last - 1] as number);
      return;
    }
    stretches.push(begin, to);
    marks.push(to - begin);
  }

  /** Adds the fields of the current message of `fields` that are wanted. */
  addSome(fields: Fields, isWanted: (number: number) => boolean): void {
    this.#marks.push(-fields.number);
    this.#inner ??= fields.inner();
    const inner = this.#inner;
    inner.enter(fields);
    while (inner.next()) if (isWanted(inner.number)) this.add(inner);
    this.#marks.push(END);
  }

  /** A number that equal keys share, and that different keys rarely share. */
  hash(): number {
    let hash = FNV_START;
    for (const mark of this.#marks) hash = Math.imul(hash ^ mark, FNV_PRIME);
    const bytes = this.#bytes as Buffer;
    for (let at = 0; at < this.#stretches.length; at += 2) {
      const to = this.#stretches[at + 1] as number;
      for (let byte = this.#stretches[at] as number; byte < to; byte++)
        hash = Math.imul(hash ^ (bytes[byte] as number), FNV_PRIME);
    }
    return hash;
  }

  /** Whether the copy was made from a key with the same fields. */
  equals({ bytes, marks }: KeyCopy): boolean {
    const own = this.#marks;
    if (own.length !== marks.length) return false;
    for (let at = 0; at < own.length; at++) if (own[at] !== marks[at]) return false;
    let known = 0;
    for (let at = 0; at < this.#stretches.length; at += 2) {
      const to = this.#stretches[at + 1] as number;
      for (let byte = this.#stretches[at] as number; byte < to; byte++)
        if ((this.#bytes as Buffer)[byte] !== bytes[known++]) return false;
    }
    return true;
  }

  copy(): KeyCopy {
    const parts: Buffer[] = [];
    for (let at = 0; at < this.#stretches.length; at += 2)
      parts.push((this.#bytes as Buffer).subarray(this.#stretches[at], this.#stretches[at + 1]));
    return { bytes: Buffer.concat(parts), marks: [...this.#marks] };
  }
}

/** The mark after the parts of a field. */
const END = 0;
