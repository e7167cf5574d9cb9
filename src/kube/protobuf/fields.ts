/**
 * Walks the fields of one protobuf message without copying: where each begins and ends, so that whoever
 * walks decides what is worth reading. https://protobuf.dev/programming-guides/encoding
 */

const VARINT = 0;
const FIXED64 = 1;
const LENGTH_DELIMITED = 2;
const FIXED32 = 5;

export class Fields {
  readonly bytes: Buffer;
  readonly end: number;
  /** Where the next field begins. */
  at: number;
  /** Of the field that `next` came to. */
  number = 0;
  /** Where it begins, its number included. */
  begin = 0;
  /** Its content, where it has a length: `bytes[from..to)`. `to` is where the next field begins. */
  from = 0;
  to = 0;
  /** Its value, where it is a number. */
  value = 0;

  constructor(bytes: Buffer, from = 0, to = bytes.length) {
    this.bytes = bytes;
    this.at = from;
    this.end = to;
  }

  /** False at the end. Throws for bytes that are no message. */
  next(): boolean {
    if (this.at >= this.end) return false;
    this.begin = this.at;
    const tag = this.#varint();
    this.number = Math.floor(tag / 8);
    this.from = this.at;
    switch (tag % 8) {
      case VARINT:
        this.value = this.#varint();
        break;
      case LENGTH_DELIMITED: {
        const length = this.#varint();
        this.from = this.at;
        this.at += length;
        break;
      }
      case FIXED64:
        this.at += 8;
        break;
      case FIXED32:
        this.at += 4;
        break;
      default:
        throw new Error(`byte ${this.begin}: wire type ${tag % 8} of field ${this.number}`);
    }
    if (this.at > this.end) throw new Error(`field ${this.number} goes on past its message`);
    this.to = this.at;
    return true;
  }

  text(): string {
    return this.bytes.toString("utf8", this.from, this.to);
  }

  /** The fields of the message that this field holds. */
  inner(): Fields {
    return new Fields(this.bytes, this.from, this.to);
  }

  /** Up to 64 bits, signed; whole beyond 2^53 only as far as a number can be. */
  #varint(): number {
    let low = 0;
    let high = 0;
    for (let shift = 0; shift < 70; shift += 7) {
      const byte = this.bytes[this.at++];
      if (byte === undefined) break;
      const bits = byte & 0x7f;
      if (shift < 28) low |= bits << shift;
      else if (shift === 28) {
        low |= (bits & 0x0f) << 28;
        high = bits >> 4;
      } else high |= bits << (shift - 32);
      if (byte < 0x80) return high * 2 ** 32 + (low >>> 0);
    }
    throw new Error(`byte ${this.begin}: a number that does not end`);
  }
}
