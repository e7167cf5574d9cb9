/**
 * `npm run bench -- <what> [options]`: runs one bench of this folder by its name. The code of the other benches is not
 * loaded.
 */
import { isAsUsersRun, runAsUsersDo } from "./image-node.ts";

type Bench = (args: readonly string[]) => Promise<void>;

const BENCHES: Readonly<Record<string, () => Promise<Bench>>> = {
  aws: async () => (await import("./aws.ts")).aws,
  cluster: async () => (await import("./cluster/cluster.ts")).cluster,
  console: async () => (await import("./console.ts")).console_,
  consolidation: async () => (await import("./consolidation.ts")).consolidation,
  cost: async () => (await import("./cost.ts")).cost,
  dra: async () => (await import("./dra.ts")).dra,
  growth: async () => (await import("./growth.ts")).growth,
  heuristics: async () => (await import("./heuristics.ts")).heuristics,
  model: async () => (await import("./model.ts")).model,
  played: async () => (await import("./settled/played.ts")).played,
  proofs: async () => (await import("./proofs.ts")).proofs,
  repack: async () => (await import("./repack.ts")).repack,
  settled: async () => (await import("./settled/settled.ts")).settled,
  speed: async () => (await import("./speed.ts")).speed,
  sweep: async () => (await import("./sweep.ts")).sweep,
  turns: async () => (await import("./turns.ts")).turns,
};
/** Benches that measure in this process. They run on the image's Node with its flags, as the product does. */
const AS_USERS_RUN: ReadonlySet<string> = new Set(["consolidation", "model"]);

const [name = "", ...args] = process.argv.slice(2);
const load = BENCHES[name];
if (load === undefined) {
  process.stderr.write(`npm run bench -- <what>: there is ${Object.keys(BENCHES).join(", ")}\n`);
  process.exitCode = 1;
} else if (AS_USERS_RUN.has(name) && !isAsUsersRun()) {
  process.exitCode = runAsUsersDo(process.argv[1] as string, [name, ...args]);
} else {
  try {
    const bench = await load();
    await bench(args);
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\n`);
    process.exitCode = 1;
  }
}
