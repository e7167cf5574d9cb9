/** Runs a command line: whatever goes wrong ends in one sentence on standard error and an exit code. */
import { type Command, CommanderError } from "commander";
import { CliError } from "./cli-error.ts";

export async function runProgram(program: Command): Promise<void> {
  const name = program.name();
  // Whoever reads us may stop early (`| head`): that is an end, not a failure.
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code === "EPIPE") process.exit(0);
    process.stderr.write(`${name}: cannot write to standard output: ${error.message}\n`);
    process.exit(1);
  });
  program.showHelpAfterError("(--help says what can be given)");
  program.exitOverride().configureOutput({
    outputError: (text, write) => write(text.replace(/^error: /, `${name}: `)),
  });
  for (const command of program.commands) command.exitOverride().copyInheritedSettings(program);
  // Nothing is left that could go on, yet the command has not ended: whoever asked must not take that for success.
  const stuck = (): void => {
    process.stderr.write(`${name}: unexpected failure: ended before it was done\n`);
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
      process.stderr.write(`${name}: ${error.message}\n`);
      process.exitCode = error.exitCode;
    } else {
      const told = (error as Error).stack ?? String(error);
      process.stderr.write(`${name}: unexpected failure: ${told}\n`);
      process.exitCode = 70;
    }
  } finally {
    process.off("beforeExit", stuck);
  }
}
