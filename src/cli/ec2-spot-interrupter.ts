#!/usr/bin/env node
/** `karpenter interrupt` under the name by which tutorials call it. */
import { BUILD } from "./build.ts";
import { interruptCommand } from "./commands/interrupt.ts";
import { runProgram } from "./run-program.ts";

void runProgram(interruptCommand("ec2-spot-interrupter").version(BUILD.version, "-v, --version"));
