/**
 * `npm run bench -- sweep [nodes …] [--tight]`: a whole sweep of a large cluster, with all kinds of constraints present:
 * every node is asked about by single-node consolidation, and all together by multi-node consolidation, as the
 * disruption loop does. Nodes are half to nearly full, or `--tight`. Ten pods a node; each size in a cold process of its own. Load is what events of all
 * objects cost, set-up what the first look pays, follow what a later one pays when a node in a hundred has changed.
 * Then rounds of the whole controller over the same cluster (sweep-round.ts): what it does beside its sweeps, too.
 * A turn is how long others wait for theirs, by the time that the planning thread had a core; cpu is of all threads,
 * garbage collection counted in.
 */
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { imageFlags } from "../scripts/image-flags.ts";
import { imageNode } from "./image-node.ts";

const SIZES = [1_000, 10_000];
/** As the image runs, and room for what is larger than a container's default. */
const FLAGS = ["--expose-gc", ...imageFlags(), "--max-old-space-size=4096"];

export async function sweep(args: readonly string[]): Promise<void> {
  spawnSync("npx", ["tsc", "-b", "src/controllers"], { stdio: "inherit" });
  const sizes = args.map(Number).filter((one) => one > 0);
  const profile = args.filter((one) => one.startsWith("--cpu-prof"));
  const programs = ["sweep-run.ts", "sweep-round.ts"].map((name) => fileURLToPath(new URL(name, import.meta.url)));
  const filling = args.includes("--tight") ? "tight" : "loose";
  for (const nodes of sizes.length > 0 ? sizes : SIZES) {
    for (const program of programs)
      spawnSync(imageNode(console.log).program, [...FLAGS, ...profile, "--import", "tsx", program, String(nodes), filling], { stdio: "inherit" });
  }
}
