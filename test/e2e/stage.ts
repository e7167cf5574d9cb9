/** The state that several tests of one sandbox start from. The first test that runs creates it, whichever that is. */
export interface Stage<T> {
  (): Promise<T>;
  /** Forgets the state after a test removed it: the next test that needs it creates it again. */
  forget(): void;
}

/** Runs `make` on the first call, and again after {@link Stage.forget}. */
export function stage<T>(make: () => Promise<T>): Stage<T> {
  let made: Promise<T> | undefined;
  const get = (): Promise<T> => {
    made ??= make();
    return made;
  };
  const forget = (): void => {
    made = undefined;
  };
  return Object.assign(get, { forget });
}
