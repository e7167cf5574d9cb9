/** Writes to a slow reader, to one that disconnects during the write, and to one that has disconnected before. */
import { EventEmitter } from "node:events";
import { setImmediate } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { writeAsTaken } from "./write-as-taken.ts";

class Reader extends EventEmitter {
  destroyed = false;
  hasRoom = true;
  /** Whether the reader disconnects at the first write. */
  breaks = false;

  write(): boolean {
    this.destroyed = this.breaks;
    return this.hasRoom && !this.breaks;
  }
}

describe("writeAsTaken", () => {
  it("does not wait while the stream's buffer has room", async () => {
    await writeAsTaken(new Reader(), "a");
  });

  it.each(["drain", "close"])(
    "waits for a slow reader until '%s', and leaves no listener",
    async (event) => {
      const reader = new Reader();
      reader.hasRoom = false;
      let isDone = false;
      const writing = writeAsTaken(reader, "a").then(() => {
        isDone = true;
      });
      await setImmediate();
      expect(isDone).toBe(false);
      reader.emit(event);
      await writing;
      expect(reader.eventNames()).toEqual([]);
    },
  );

  it("does not wait for a reader that has disconnected", async () => {
    const reader = new Reader();
    reader.breaks = true;
    await writeAsTaken(reader, "a");
  });
});
