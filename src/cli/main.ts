#!/usr/bin/env node
/** The `karpenter` command. Each subcommand is a file in `commands/`. */
import { Command } from "commander";
import { mustNotFail } from "../base/must-not-fail.ts";
import { consoleCommand } from "./commands/console.ts";
import { controllerCommand } from "./commands/controller.ts";
import { convertCommand } from "./commands/convert.ts";
import { explainCommand } from "./commands/explain.ts";
import { interruptCommand } from "./commands/interrupt.ts";
import { planCommand } from "./commands/plan.ts";
import { sandboxCommand } from "./commands/sandbox.ts";
import { simulateCommand } from "./commands/simulate.ts";
import { topCommand } from "./commands/top.ts";
import { BUILD } from "./program/build.ts";
import { runProgram } from "./program/run-program.ts";

const program = new Command("karpenter")
  .description("Just-in-time nodes for Kubernetes.")
  .version(BUILD.version)
  .addHelpText("after", "\nRun `karpenter <command> --help` for the options of a command.");
program.addCommand(sandboxCommand());
program.addCommand(controllerCommand());
program.addCommand(planCommand());
program.addCommand(explainCommand());
program.addCommand(simulateCommand());
program.addCommand(topCommand());
program.addCommand(consoleCommand());
program.addCommand(interruptCommand());
program.addCommand(convertCommand());

mustNotFail(runProgram(program), "the command");
