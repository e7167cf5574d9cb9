#!/usr/bin/env node
/**
 * The `karpenter` command. Each subcommand is a file in `commands/`; whatever goes wrong ends in one
 * sentence on standard error and a non-zero exit code.
 */
import { Command, CommanderError } from "commander";
import { BUILD } from "./build.ts";
import { CliError } from "./cli-error.ts";
import { controllerCommand } from "./commands/controller.ts";
import { planCommand } from "./commands/plan.ts";
import { sandboxCommand } from "./commands/sandbox.ts";

const program = new Command("karpenter")
  .description("Just-in-time nodes for Kubernetes.")
  .version(BUILD.version)
  .exitOverride()
  .configureOutput({ outputError: (text, write) => write(text.replace(/^error: /, "karpenter: ")) })
  .addHelpText("after", "\nRun `karpenter <command> --help` for the options of a command.");
program.addCommand(sandboxCommand());
program.addCommand(controllerCommand());
program.addCommand(planCommand());
for (const command of program.commands) command.exitOverride().copyInheritedSettings(program);

// Whoever reads us may stop early (`| head`): that is an end, not a failure.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code === "EPIPE") process.exit(0);
  throw error;
});

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
