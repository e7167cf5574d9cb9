/**
 * `npm run bench -- turns [nodes …] [WORD …]`: how long other work waits while one controller works through a large
 * cluster (sweep-cluster.ts). Each controller is started as the operator starts it, over real mirrors and a real
 * manager. Then something happens that makes it look at every object.
 * A turn is the time between two iterations of the event loop, in CPU time of the planning thread. Each size runs in
 * its own process. With words, only rounds whose name contains one of them run.
 */
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { imageFlags } from "../scripts/image-flags.ts";
import { imageNode } from "./image-node.ts";

const SIZES = [1_000, 10_000];
/** The flags of the image, with a larger heap than a container has by default. */
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
