/** More problems than fit on a screen do not help. */
const MOST_PROBLEMS = 20;

/** A failure that the user can do something about: what happened, why, what to try. */
export class CliError extends Error {
  override readonly name = "CliError";
  readonly exitCode: number;
  /** A sentence each; the message has them all, a line each. */
  readonly problems: readonly string[];

  /** At most {@link MOST_PROBLEMS} problems are listed; the others are counted. */
  constructor(message: string | readonly string[], exitCode = 1) {
    const all = typeof message === "string" ? [message] : message;
    const problems =
      all.length <= MOST_PROBLEMS
        ? all
        : [...all.slice(0, MOST_PROBLEMS), `and ${all.length - MOST_PROBLEMS} more problems`];
    super(problems.join("\n"));
    this.exitCode = exitCode;
    this.problems = problems;
  }
}
