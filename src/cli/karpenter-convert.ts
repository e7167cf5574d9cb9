#!/usr/bin/env node
/** `karpenter convert` under the name by which the migration guide calls it. */
import { mustNotFail } from "../base/must-not-fail.ts";
import { convertCommand } from "./commands/convert.ts";
import { BUILD } from "./program/build.ts";
import { runProgram } from "./program/run-program.ts";

mustNotFail(runProgram(convertCommand("karpenter-convert").version(BUILD.version)), "the command");
