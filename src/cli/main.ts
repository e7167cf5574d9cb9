#!/usr/bin/env node
/** The `karpenter` command. Each subcommand is a file in `commands/`. */
import { mustNotFail } from "../base/must-not-fail.ts";
import { runKarpenter } from "./commands/karpenter.ts";

mustNotFail(runKarpenter("karpenter"), "the command");
