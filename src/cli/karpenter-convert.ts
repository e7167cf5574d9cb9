#!/usr/bin/env node
/** `karpenter convert` under the name by which the migration guide calls it. */
import { BUILD } from "./build.ts";
import { convertCommand } from "./commands/convert.ts";
import { runProgram } from "./run-program.ts";

void runProgram(convertCommand("karpenter-convert").version(BUILD.version));
