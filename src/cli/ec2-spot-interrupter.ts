#!/usr/bin/env node
/** `karpenter interrupt` under the name by which tutorials call it. */
import { mustNotFail } from "../base/must-not-fail.ts";
import { interruptCommand } from "./commands/interrupt.ts";
import { BUILD } from "./program/build.ts";
import { runProgram } from "./program/run-program.ts";

mustNotFail(
  runProgram(interruptCommand("ec2-spot-interrupter").version(BUILD.version, "-v, --version")),
  "the command",
);
