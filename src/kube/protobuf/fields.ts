/**
 * Reads the fields of a message and of nested messages with one `BinaryReader`. It gives the position of each field,
 * and the caller decides what to decode. Nothing is copied. https://protobuf.dev/programming-guides/encoding
 */
import { BinaryReader, WireType } from "@bufbuild/protobuf/wire";

/** Bytes of a varint that is decoded without a bigint. */
const SHORT_VARINT = 7;

/** A cursor over the fields of a protobuf message. It reads without copying, and throws on a truncated message. */
export class Fields {
  readonly bytes: Buffer;
  /** Position after the last field. */
  end: number;
  /** Position of the next field. */
  at: number;
  /** Number of the current field, which `next` reached. */
  number = 0;
  /** Position where the current field begins, with its number. */
  begin = 0;
  /** Content of the current field without its length: `bytes[from..to)`. The next field begins at `to`. */
  from = 0;
  to = 0;
  readonly #reader: BinaryReader;

  constructor(bytes: Buffer, from = 0, to = bytes.length, reader = new BinaryReader(bytes)) {
    this.bytes = bytes;
    this.at = from;
    this.end = to;
    this.#reader = reader;
  }

  /** Moves to the next field. Returns false at the end. Throws for invalid bytes. */
  next(): boolean {
    if (this.at >= this.end) return false;
    const reader = this.#reader;
    this.begin = this.at;
    reader.pos = this.at;
    // `reader.tag()` creates an array of the two, and a busy watch delivers 100,000 fields a second.
    const tag = reader.uint32();
    const number = tag >>> 3;
    const wireType: WireType = tag & 7;
    if (number === 0) throw new Error("a field without a number");
    this.number = number;
    if (wireType === WireType.LengthDelimited) {
      const length = reader.uint32();
      this.from = reader.pos;
      this.to = this.from + length;
    } else {
      this.from = reader.pos;
      reader.skip(wireType, number);
      this.to = reader.pos;
    }
    if (this.to > this.end) throw new Error(`field ${number} goes on past its message`);
    this.at = this.to;
    return true;
  }

  /** Moves to the next field with this number. Returns false if there is none. */
  reach(number: number): boolean {
    while (this.next()) if (this.number === number) return true;
    return false;
  }

  text(): string {
    return this.bytes.toString("utf8", this.from, this.to);
  }

  /** Value of a varint as a signed number. It is not exact beyond 2^53. */
  value(): number {
    const { bytes, from, to } = this;
    // `reader.int64()` creates a bigint, and each pod has several times. Seven bytes hold 49 bits without a sign.
    if (to - from <= SHORT_VARINT) {
      let value = 0;
      for (let at = to - 1; at >= from; at--) value = value * 128 + ((bytes[at] as number) & 127);
      return value;
    }
    this.#reader.pos = from;
    return Number(this.#reader.int64());
  }

  /** The message that this field contains. */
  inner(): Fields {
    return this.part(this.from, this.to);
  }

  /** Moves this cursor to the message that the current field of `outer`, on the same buffer, contains. */
  enter(outer: Fields): void {
    this.at = outer.from;
    this.end = outer.to;
  }

  /** A cursor over the message in these bytes of the same buffer. */
  part(from: number, to: number): Fields {
    return new Fields(this.bytes, from, to, this.#reader);
  }
}
