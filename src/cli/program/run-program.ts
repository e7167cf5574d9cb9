/**
 * Runs a command line. An error becomes one or more lines on standard error and an exit code. An unexpected error also
 * prints its stack.
 */
import { type Command, CommanderError } from "commander";
import { printedLines } from "../../base/printable.ts";
import { CliError } from "./cli-error.ts";
import { HELP_STYLE } from "./help.ts";
import { toStderr, whenStdoutFails } from "./output.ts";

/** Parses the arguments and runs the command. Errors become lines on standard error and an exit code; none is thrown. */
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
  inheritSettings(program);
  // The event loop is empty, but the command has not ended. That must not look like success.
  const stuck = (): void => {
    say("unexpected failure: ended before it was done");
    process.exitCode = 70;
  };
  process.once("beforeExit", stuck);
  try {
    await program.parseAsync(process.argv);
    // From now on the command's exit code is known, also if a reader of its output stops early (output.ts).
    process.exitCode ??= 0;
  } catch (error) {
    if (error instanceof CommanderError) {
      if (error.code === "commander.missingArgument" && process.argv.some(isFilesFlag))
        say("-f takes all words after it as files: write it last");
      // The exit code is 0 for help and version. For other errors commander has already printed the message.
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

function isFilesFlag(word: string): boolean {
  return word === "-f" || word === "--filename";
}

/** Applies the settings to subcommands too. */
function inheritSettings(parent: Command): void {
  for (const command of parent.commands) {
    command.exitOverride().copyInheritedSettings(parent);
    inheritSettings(command);
  }
}

/** The error, then its stack, one line each. The message may contain line breaks. */
function stackOf(error: unknown): readonly string[] {
  if (!(error instanceof Error) || error.stack === undefined) return [String(error)];
  const at = error.stack.search(/\n {4}at /);
  if (at === -1) return [error.stack];
  return [error.stack.slice(0, at), ...error.stack.slice(at + 1).split("\n")];
}
