/** `npm run bench -- <what> [options]`: the benches of this folder by name. */
import { cluster } from "./cluster/cluster.ts";
import { aws } from "./aws.ts";
import { consolidation } from "./consolidation.ts";
import { cost } from "./cost.ts";
import { model } from "./model.ts";
import { growth } from "./growth.ts";
import { played } from "./settled/played.ts";
import { repack } from "./repack.ts";
import { settled } from "./settled/settled.ts";
import { speed } from "./speed.ts";
import { sweep } from "./sweep.ts";

const BENCHES: Readonly<Record<string, (args: readonly string[]) => Promise<void>>> = { aws, cluster, consolidation, cost, growth, model, played, repack, settled, speed, sweep };

const [name = "", ...args] = process.argv.slice(2);
const bench = BENCHES[name];
if (bench === undefined) {
  process.stderr.write(`npm run bench -- <what>: there is ${Object.keys(BENCHES).join(", ")}\n`);
  process.exitCode = 1;
} else {
  try {
    await bench(args);
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\n`);
    process.exitCode = 1;
  }
}
