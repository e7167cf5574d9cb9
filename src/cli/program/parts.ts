/**
 * Everything that a long-running command has opened: ports, controllers, a cluster. It is closed in reverse order,
 * even if some parts fail to close.
 */

/** Collects what has to be closed, and closes it in the reverse order. */
export class Parts {
  readonly #closers: (() => Promise<void> | void | undefined)[] = [];
  #closing: Promise<void> | undefined;

  /**
   * Adds a part to close. The part added last is closed first. With `withinMs` (real milliseconds), the next part is
   * closed by then at the latest.
   */
  add(close: () => Promise<void> | void | undefined, withinMs?: number): void {
    this.#closers.push(
      withinMs === undefined ? close : () => atMost(Promise.resolve(close()), withinMs),
    );
  }

  /**
   * Closes all parts, once. `failed` gets the errors. With `withinMs` (real milliseconds) it resolves by then at
   * the latest.
   */
  async close(failed: (error: unknown) => void, withinMs?: number): Promise<void> {
    this.#closing ??= this.#closeAll(failed);
    return withinMs === undefined ? this.#closing : atMost(this.#closing, withinMs);
  }

  async #closeAll(failed: (error: unknown) => void): Promise<void> {
    for (const close of this.#closers.reverse()) {
      try {
        await close();
      } catch (error) {
        failed(error);
      }
    }
  }
}

/** Waits for the promise, at most `ms` real milliseconds. */
async function atMost(promise: Promise<void>, ms: number): Promise<void> {
  let late: NodeJS.Timeout | undefined;
  const timeUp = new Promise<void>((resolve) => {
    late = setTimeout(resolve, ms);
  });
  try {
    await Promise.race([promise, timeUp]);
  } finally {
    clearTimeout(late);
  }
}
