/** Runs a command line: whatever goes wrong ends in one sentence on standard error and an exit code. */
import { type Command, CommanderError } from "commander";
import { printedLines } from "../../base/printable.ts";
import { CliError } from "./cli-error.ts";
import { HELP_STYLE } from "./help.ts";
import { toStderr, whenStdoutFails } from "./output.ts";

export async function runProgram(program: Command): Promise<void> {
  const name = program.name();
  const say = (text: string): void => toStderr(printedLines([`${name}: ${text}`]));
  whenStdoutFails((error) => {
    say(`cannot write to standard output: ${error.message}`);
    process.exit(1);
  });
  program.showHelpAfterError("(--help says what can be given)");
  program.configureHelp(HELP_STYLE);
  program.exitOverride().configureOutput({
    outputError: (text) =>
      toStderr(
        printedLines(
          text
            .trimEnd()
            .replace(/^error: /, `${name}: `)
            .split("\n"),
        ),
      ),
  });
  for (const command of program.commands) command.exitOverride().copyInheritedSettings(program);
  // Nothing is left that could go on, yet the command has not ended: whoever asked must not take that for success.
  const stuck = (): void => {
    say("unexpected failure: ended before it was done");
    process.exitCode = 70;
  };
  process.once("beforeExit", stuck);
  try {
    await program.parseAsync(process.argv);
  } catch (error) {
    if (error instanceof CommanderError) {
      // Help and version end well; commander has already said what was wrong otherwise.
      process.exitCode = error.exitCode;
    } else if (error instanceof CliError) {
      for (const problem of error.problems) say(problem);
      process.exitCode = error.exitCode;
    } else {
      const [first = "", ...frames] = stackOf(error);
      say(`unexpected failure: ${first}`);
      toStderr(printedLines(frames));
      process.exitCode = 70;
    }
  } finally {
    process.off("beforeExit", stuck);
  }
}

/** What was thrown, then where, a line each. The message may have line breaks of its own. */
function stackOf(error: unknown): readonly string[] {
  if (!(error instanceof Error) || error.stack === undefined) return [String(error)];
  const at = error.stack.search(/\n {4}at /);
  if (at === -1) return [error.stack];
  return [error.stack.slice(0, at), ...error.stack.slice(at + 1).split("\n")];
}
