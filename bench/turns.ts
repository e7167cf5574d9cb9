/**
 * `npm run bench -- turns [nodes …] [WORD …]`: how long others wait for their turn while one controller has a round
 * over a large cluster (sweep-cluster.ts): each is started as the operator starts it, over mirrors and a manager as
 * they are, and then meets what makes it look at everything. A turn is what happens between two looks of the event
 * loop, by the time that the planning thread had a core; each size in a process of its own. With words only rounds
 * whose name has one of them.
 */
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { imageFlags } from "../scripts/image-flags.ts";
import { imageNode } from "./image-node.ts";

const SIZES = [1_000, 10_000];
/** As the image runs, and room for what is larger than a container's default. */
const FLAGS = ["--expose-gc", ...imageFlags(), "--max-old-space-size=6144"];

export async function turns(args: readonly string[]): Promise<void> {
  const sizes = args.map(Number).filter((one) => one > 0);
  const profile = args.filter((one) => one.startsWith("--cpu-prof"));
  const only = args.filter((one) => !one.startsWith("--") && !(Number(one) > 0));
  const program = fileURLToPath(new URL("turns-run.ts", import.meta.url));
  for (const nodes of sizes.length > 0 ? sizes : SIZES) {
    const flags = [...FLAGS, ...profile, "--import", "tsx", program, String(nodes), ...only];
    const { status, signal, error } = spawnSync(imageNode(console.log).program, flags, { stdio: "inherit" });
    if (status !== 0) throw new Error(`turns at ${nodes} nodes ended with ${error?.message ?? signal ?? status}`);
  }
}
