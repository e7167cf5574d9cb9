/** What several tests of one sandbox start from: made by the first of them that runs, whichever that is. */
export interface Stage<T> {
  (): Promise<T>;
  /** It was taken down: the next test that needs it makes it again. */
  forget(): void;
}

/** Makes what tests start from when the first one asks, and again after {@link Stage.forget}. */
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
