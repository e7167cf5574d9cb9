/** Maximum number of problems that are listed. */
const MOST_PROBLEMS = 20;

/** An error that the user can fix. The message says what happened, why, and what to do. */
export class CliError extends Error {
  override readonly name = "CliError";
  readonly exitCode: number;
  /** The sentences of the message, one for each problem and each on a line of its own. */
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
