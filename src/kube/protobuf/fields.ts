/**
 * Walks the fields of one message, and of those inside it, over one `BinaryReader`: where each begins and
 * ends, so that whoever walks decides what is worth reading. Nothing is copied.
 * https://protobuf.dev/programming-guides/encoding
 */
import { BinaryReader, WireType } from "@bufbuild/protobuf/wire";

/** A reader of protobuf fields. It reads without copying, and throws on a truncated message. */
export class Fields {
  readonly bytes: Buffer;
  readonly end: number;
  /** Where the next field begins. */
  at: number;
  /** The number of the field that `next` reached. */
  number = 0;
  /** Where it begins, its number included. */
  begin = 0;
  /** Its content, without its length: `bytes[from..to)`. `to` is where the next field begins. */
  from = 0;
  to = 0;
  readonly #reader: BinaryReader;

  constructor(bytes: Buffer, from = 0, to = bytes.length, reader = new BinaryReader(bytes)) {
    this.bytes = bytes;
    this.at = from;
    this.end = to;
    this.#reader = reader;
  }

  /** False at the end. Throws for bytes that are no message. */
  next(): boolean {
    if (this.at >= this.end) return false;
    const reader = this.#reader;
    this.begin = this.at;
    reader.pos = this.at;
    const [number, wireType] = reader.tag();
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

  text(): string {
    return this.bytes.toString("utf8", this.from, this.to);
  }

  /** Of a varint: up to 64 bits, signed; whole beyond 2^53 only as far as a number can be. */
  value(): number {
    this.#reader.pos = this.from;
    return Number(this.#reader.int64());
  }

  /** The message that this field holds. */
  inner(): Fields {
    return this.part(this.from, this.to);
  }

  /** The message in these bytes of the same buffer. */
  part(from: number, to: number): Fields {
    return new Fields(this.bytes, from, to, this.#reader);
  }
}
