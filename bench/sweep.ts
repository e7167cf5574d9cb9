/**
 * `npm run bench -- sweep [nodes …] [--tight]`: one sweep of a large cluster with all kinds of constraints. Single-node
 * consolidation is asked about each node, and multi-node consolidation about all together, as in the disruption loop.
 * Nodes have ten pods each and are half to nearly full, or full with `--tight`. Each size runs in a new process.
 * - load: cost of the events of all objects; set-up: cost of the first sweep; follow: cost of a later sweep if 1 % of
 * the nodes changed.
 * - turn: how long other work waits, in CPU time of the planning thread; cpu: CPU time of all threads, with garbage
 * collection.
 * Rounds of the whole controller over the same cluster follow (sweep-round.ts).
 */
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { imageFlags } from "../scripts/image-flags.ts";
import { imageNode } from "./image-node.ts";

const SIZES = [1_000, 10_000];
/** The flags of the image, with a larger heap than a container has by default. */
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
