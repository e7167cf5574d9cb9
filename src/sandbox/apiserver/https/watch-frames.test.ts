/** Frames of watches: what is shared, in what pieces it is sent, and who is cut off when readers do not read. */
import { setImmediate as turn } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { WatchFrames } from "./watch-frames.ts";

/** A connection whose reader takes written bytes only when the test calls it. */
class Reader {
  destroyed = false;
  taken = 0;
  readonly parts: number[] = [];
  readonly #listeners = new Set<() => void>();

  write(part: string | Uint8Array): boolean {
    this.parts.push(part.length);
    return false;
  }
  destroy(): void {
    this.destroyed = true;
    for (const listener of [...this.#listeners]) listener();
  }
  on(_: string, listener: () => void): void {
    this.#listeners.add(listener);
  }
  off(_: string, listener: () => void): void {
    this.#listeners.delete(listener);
  }
  async read(times: number): Promise<void> {
    for (let n = 0; n < times; n++) {
      for (const listener of [...this.#listeners]) listener();
      await turn();
    }
  }
}

const ofSize = (bytes: number) => ({ type: "ADDED", object: { data: "x".repeat(bytes) } });

describe("frames of watches", () => {
  it("are sent in pieces, the next one after the reader has taken the last", async () => {
    const frames = new WatchFrames();
    const reader = new Reader();
    const sent = frames.send(reader, ofSize(40_000), "json");
    expect(reader.parts).toEqual([16_384]);
    await reader.read(1);
    expect(reader.parts).toEqual([16_384, 16_384]);
    await reader.read(2);
    await sent;
    const frame = JSON.stringify(ofSize(40_000));
    expect(reader.parts.reduce((sum, one) => sum + one)).toBe(frame.length + 1);
    expect(frames.begunBytes).toBe(0);
  });

  it("count once against the limit, whatever the number of readers", async () => {
    const frames = new WatchFrames(1_000_000, 150_000);
    const frame = ofSize(100_000);
    const readers = Array.from({ length: 50 }, () => new Reader());
    for (const reader of readers) void frames.send(reader, frame, "json");
    expect(readers.some(({ destroyed }) => destroyed)).toBe(false);
    expect(frames.begunBytes).toBe(JSON.stringify(frame).length + 1);
  });

  it("beyond the limit end the connection whose reader has taken nothing for longest", async () => {
    const frames = new WatchFrames(1_000_000, 250_000);
    const [reads, stalls, last] = [new Reader(), new Reader(), new Reader()];
    void frames.send(reads, ofSize(100_001), "json");
    void frames.send(stalls, ofSize(100_002), "json");
    await reads.read(1);
    void frames.send(last, ofSize(100_003), "json");
    await turn();
    expect([reads, stalls, last].map(({ destroyed }) => destroyed)).toEqual([false, true, false]);
    expect(frames.begunBytes).toBeLessThan(250_000);
    await reads.read(10);
    await last.read(10);
    expect(frames.begunBytes).toBe(0);
  });
});
