/** Resolves at the first SIGINT or SIGTERM; a second one ends the process at once. */
export function interrupted(): Promise<void> {
  return new Promise((done) => {
    const once = (): void => {
      for (const signal of ["SIGINT", "SIGTERM"] as const) {
        process.removeListener(signal, once);
        process.once(signal, () => process.exit(130));
      }
      done();
    };
    process.once("SIGINT", once);
    process.once("SIGTERM", once);
  });
}
