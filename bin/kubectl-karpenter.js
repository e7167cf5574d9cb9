#!/usr/bin/env node
/** `kubectl karpenter`. This file is committed as executable, because the compiler writes no file modes. */
import { start } from "./start.js";

await start("kubectl-karpenter");
