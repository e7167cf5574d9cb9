#!/usr/bin/env node
/** The `karpenter-convert` command. This file is committed as executable, because the compiler writes no file modes. */
import { start } from "./start.js";

await start("karpenter-convert");
