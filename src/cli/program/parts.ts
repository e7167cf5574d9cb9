/**
 * Everything that a long-running command has opened: ports, controllers, a cluster. It is closed in reverse order,
 * even if some parts fail to close.
 */

/** Collects what has to be closed, and closes it in the reverse order. */
export class Parts {
  readonly #closers: (() => Promise<void> | void | undefined)[] = [];
  #closing: Promise<void> | undefined;

  /** Adds a part to close. The part added last is closed first. */
  add(close: () => Promise<void> | void | undefined): void {
    this.#closers.push(close);
  }

  /**
   * Closes all parts, once. `failed` gets the errors. With `withinMs` (real milliseconds) it resolves by then at
   * the latest.
   */
  async close(failed: (error: unknown) => void, withinMs?: number): Promise<void> {
    this.#closing ??= this.#closeAll(failed);
    if (withinMs === undefined) return this.#closing;
    let late: NodeJS.Timeout | undefined;
    const timeUp = new Promise<void>((resolve) => {
      late = setTimeout(resolve, withinMs);
    });
    await Promise.race([this.#closing, timeUp]);
    clearTimeout(late);
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
