import { describe, expect, it } from "vitest";
import { FrameIterator, linesIn } from "./frames.ts";

function opened(...chunks: readonly (string | Error)[]) {
  let isClosed = false;
  async function* body(): AsyncGenerator<Uint8Array> {
    try {
      for (const chunk of chunks) {
        if (chunk instanceof Error) throw chunk;
        yield Buffer.from(chunk);
      }
    } finally {
      isClosed = true;
    }
  }
  const iterator = new FrameIterator(body(), {
    splitter: linesIn(),
    read: (line) => JSON.parse(line) as unknown,
    failed: (cause) => new Error("broken", { cause }),
  });
  const frames = { [Symbol.asyncIterator]: () => iterator };
  return { frames, isClosed: () => isClosed };
}

async function read(frames: AsyncIterable<unknown>, most = 9) {
  const found: unknown[] = [];
  try {
    for await (const frame of frames) if (found.push(frame) >= most) break;
  } catch (error) {
    return { found, error };
  }
  return { found };
}

describe("frames of a response", () => {
  it("are complete however the bytes are split, also the last one without a line end", async () => {
    const { frames } = opened('{"a"', ":1}\n\n[2", ']\n{"c":3}\n4');
    expect(await read(frames)).toEqual({ found: [{ a: 1 }, [2], { c: 3 }, 4] });
  });

  it("come before the error of a later one, which closes the connection", async () => {
    const { frames, isClosed } = opened("1\n2\n{\n4\n", "5\n");
    expect(await read(frames)).toEqual({ found: [1, 2], error: new Error("broken") });
    expect(isClosed()).toBe(true);
    expect(await read(frames)).toEqual({ found: [] });
  });

  it("end with the error of a broken connection", async () => {
    const { frames } = opened("1\n", new Error("reset"));
    expect(await read(frames)).toEqual({ found: [1], error: new Error("broken") });
  });

  it("that arrived together with an earlier one can be taken without waiting", async () => {
    const { frames, isClosed } = opened("1\n2\n3\n{\n", "5\n");
    const iterator = frames[Symbol.asyncIterator]();
    expect(iterator.arrived()).toBeUndefined();
    expect(await iterator.next()).toEqual({ done: false, value: 1 });
    expect([iterator.arrived(), iterator.arrived()]).toEqual([2, 3]);
    // A frame that cannot be decoded fails in `next`, which closes the connection.
    expect(iterator.arrived()).toBeUndefined();
    await expect(iterator.next()).rejects.toThrow("broken");
    expect(isClosed()).toBe(true);
  });

  it("close the connection when the reader stops", async () => {
    const { frames, isClosed } = opened("1\n2\n3\n");
    expect(await read(frames, 2)).toEqual({ found: [1, 2] });
    expect(isClosed()).toBe(true);
    expect(await read(frames)).toEqual({ found: [] });
  });
});
