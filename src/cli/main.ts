#!/usr/bin/env node
/**
 * The `karpenter` command. Each subcommand is a file in `commands/`; whatever goes wrong ends in one
 * sentence on standard error and a non-zero exit code.
 */
import { Command, CommanderError } from "commander";
import { BUILD } from "./build.ts";
import { CliError } from "./cli-error.ts";
import { sandboxCommand } from "./commands/sandbox.ts";

const program = new Command("karpenter")
  .description("Just-in-time nodes for Kubernetes.")
  .version(BUILD.version)
  .exitOverride()
  .configureOutput({ outputError: (text, write) => write(text.replace(/^error: /, "karpenter: ")) })
  .addHelpText("after", "\nRun `karpenter <command> --help` for the options of a command.");
program.addCommand(sandboxCommand());
for (const command of program.commands) command.exitOverride().copyInheritedSettings(program);

try {
  await program.parseAsync(process.argv);
} catch (error) {
  if (error instanceof CommanderError) {
    // Help and version end well; commander has already said what was wrong otherwise.
    process.exitCode = error.exitCode;
  } else if (error instanceof CliError) {
    process.stderr.write(`karpenter: ${error.message}\n`);
    process.exitCode = error.exitCode;
  } else {
    process.stderr.write(
      `karpenter: unexpected failure: ${(error as Error).stack ?? String(error)}\n`,
    );
    process.exitCode = 70;
  }
}
