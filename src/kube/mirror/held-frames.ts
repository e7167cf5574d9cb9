/**
 * Keeps the bytes of frames one behind the other in one buffer. A busy watch delivers a thousand frames a second; as
 * objects of their own they would make the garbage collector copy and mark them until they are read.
 */

/** Where a frame begins in the buffer. */
export type FramePlace = number;

/** Number of bytes of the length before each frame. */
const LENGTH_BYTES = 4;
/** Number of bytes of the first buffer. A full buffer is replaced by one of twice the size. */
const FIRST_BYTES = 65_536;

/** Frames that are dropped together. */
export class HeldFrames {
  #bytes = Buffer.alloc(0);
  #end = 0;

  /** Copies the frame, and returns its place. */
  add(frame: Uint8Array): FramePlace {
    const place = this.#end;
    this.#end = place + LENGTH_BYTES + frame.length;
    if (this.#end > this.#bytes.length) this.#grow();
    this.#bytes.writeUInt32BE(frame.length, place);
    this.#bytes.set(frame, place + LENGTH_BYTES);
    return place;
  }

  /** The frame at this place. Its bytes are valid until {@link clear}. */
  at(place: FramePlace): Uint8Array {
    const from = place + LENGTH_BYTES;
    return this.#bytes.subarray(from, from + this.#bytes.readUInt32BE(place));
  }

  /** Drops all frames. The buffer is used again. */
  clear(): void {
    this.#end = 0;
  }

  #grow(): void {
    const grown = Buffer.alloc(Math.max(FIRST_BYTES, 2 * this.#end));
    grown.set(this.#bytes);
    this.#bytes = grown;
  }
}
