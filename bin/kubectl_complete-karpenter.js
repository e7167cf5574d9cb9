#!/usr/bin/env node
/**
 * What kubectl runs to complete `kubectl karpenter …`: it gives the words, the last one begun. This file is committed
 * as executable, because the compiler writes no file modes.
 */
import { start } from "./start.js";

process.argv.splice(2, 0, "__complete");
await start("kubectl-karpenter");
