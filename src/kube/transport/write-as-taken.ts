/**
 * Writing to a connection no faster than the other side reads: what it does not take would pile up in memory.
 * For all who answer over HTTP, the operator's endpoints as much as the sandbox's API server.
 */

/** What is needed of Node's streams. */
interface Sink {
  readonly destroyed: boolean;
  /** False: enough for now. */
  write(part: string | Uint8Array): boolean;
  on(event: "drain" | "close", listener: () => void): unknown;
  off(event: "drain" | "close", listener: () => void): unknown;
}

/** Resolves when there is room for more, or when the reader is gone: then `destroyed` is true. */
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
