#!/usr/bin/env node
/** The `karpenter` command as a plug-in of kubectl, which finds it on PATH by this name: `kubectl karpenter`. */
import { mustNotFail } from "../base/must-not-fail.ts";
import { runKarpenter } from "./commands/karpenter.ts";

mustNotFail(runKarpenter("kubectl karpenter"), "the command");
