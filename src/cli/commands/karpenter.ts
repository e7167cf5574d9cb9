/** The whole program, under the name with which it was called: `karpenter` or `kubectl karpenter`. */
import { Command } from "commander";
import { BUILD } from "../program/build.ts";
import { COMPLETE, complete, completionText } from "../program/completion.ts";
import { toStdout } from "../program/output.ts";
import { runProgram } from "../program/run-program.ts";
import { completionCommand } from "./completion.ts";
import { consoleCommand } from "./console.ts";
import { controllerCommand } from "./controller.ts";
import { convertCommand } from "./convert.ts";
import { doctorCommand } from "./doctor.ts";
import { explainCommand } from "./explain.ts";
import { interruptCommand } from "./interrupt.ts";
import { migrateCommand } from "./migrate.ts";
import { planCommand } from "./plan.ts";
import { sandboxCommand } from "./sandbox.ts";
import { simulateCommand } from "./simulate.ts";
import { supportBundleCommand } from "./support-bundle.ts";
import { topCommand } from "./top.ts";

/** All commands, in the order of the help. Exported for tests. */
export function karpenterProgram(name: string): Command {
  const program = new Command(name)
    .description("Just-in-time nodes for Kubernetes.")
    .version(BUILD.version)
    .addHelpText("after", `\nRun \`${name} <command> --help\` for the options of a command.`);
  program.addCommand(sandboxCommand());
  program.addCommand(controllerCommand());
  program.addCommand(planCommand());
  program.addCommand(explainCommand());
  program.addCommand(simulateCommand());
  program.addCommand(topCommand());
  program.addCommand(consoleCommand());
  program.addCommand(doctorCommand());
  program.addCommand(supportBundleCommand());
  program.addCommand(interruptCommand());
  program.addCommand(convertCommand());
  program.addCommand(migrateCommand());
  program.addCommand(completionCommand());
  return program;
}

/** Runs the command line, or answers a shell that asks for completions. */
export async function runKarpenter(name: string): Promise<void> {
  const program = karpenterProgram(name);
  const [, , first, ...words] = process.argv;
  // Completion is handled before commander parses: commander would act on `--version` and `--help` among the words.
  if (first === COMPLETE) toStdout(completionText(complete(program, words)));
  else await runProgram(program);
}
