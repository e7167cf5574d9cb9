#!/usr/bin/env node
/** The `ec2-spot-interrupter` command. This file is committed as executable, because the compiler writes no file modes. */
import { start } from "./start.js";

await start("ec2-spot-interrupter");
