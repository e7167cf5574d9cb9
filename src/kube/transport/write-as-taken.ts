/**
 * Writes to a connection no faster than the other side reads. Otherwise unsent data would fill the memory. Used by all
 * HTTP servers: the operator's endpoints and the sandbox's API server.
 */

/** The part of Node's streams that is used here. */
interface Sink {
  readonly destroyed: boolean;
  /** Writes a part. False: the buffer is full for now. */
  write(part: string | Uint8Array): boolean;
  on(event: "drain" | "close", listener: () => void): unknown;
  off(event: "drain" | "close", listener: () => void): unknown;
}

/**
 * Writes a part. Resolves when there is room for more, or when the reader has disconnected (`destroyed` is then true).
 */
export async function writeAsTaken(sink: Sink, part: string | Uint8Array): Promise<void> {
  if (sink.write(part) || sink.destroyed) return;
  await new Promise<void>((resolve) => {
    const done = (): void => {
      sink.off("drain", done);
      sink.off("close", done);
      resolve();
    };
    sink.on("drain", done);
    sink.on("close", done);
  });
}
