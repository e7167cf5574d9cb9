/**
 * Runs `ours.ts` as the image runs the product: bundled by the same function into one file, on the image's Node with
 * its flags. The code cache was made by planning the batch of `scripts/bundle/warm-up.yaml`, which is no workload of
 * the bench. Each run is a new process, so nothing is optimised yet.
 */
import { spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { makeCodeCache } from "../scripts/bundle/code-cache.ts";
import { buildPrograms } from "../scripts/bundle/programs.ts";
import { imageFlags } from "../scripts/image-flags.ts";
import type { Deployment } from "../src/apis/apps/kinds.ts";
import type { NodePool } from "../src/apis/karpenter/nodepool.ts";
import type { KubeObject } from "../src/apis/meta.ts";
import { valuesOf } from "../src/cli/program/manifest-text.ts";
import { imageNode } from "./image-node.ts";
import type { RunReport } from "./run-report.ts";
import type { Workload } from "./workload.ts";
import { onPool } from "./workloads.ts";

const WARM_UP = new URL("../scripts/bundle/warm-up.yaml", import.meta.url);

/** The command line. The path of the workload file is appended to it. */
export type OursProgram = readonly string[];

/** Builds the program into `folder`, and prints its Node version. */
export async function prepareOurs(folder: string, tell: (line: string) => void): Promise<OursProgram> {
  mkdirSync(folder, { recursive: true });
  const { program, version } = imageNode(tell);
  const node = [program, ...imageFlags(), "--expose-gc"];
  const built = await buildPrograms({ ours: "bench/ours.ts" }, folder);
  const workload = join(folder, "warm-up.json");
  writeFileSync(workload, JSON.stringify(await warmUpWorkload()));
  await makeCodeCache(built, folder, { node, commandLines: [["ours", workload]] });
  tell(`ours on Node ${version}`);
  return [...node, join(folder, "ours.mjs")];
}

/** Runs the program once on a workload file. `modes`: `--greedy`, `--validate`. */
export function runOurs([node, ...args]: OursProgram, file: string, modes: readonly string[] = []): RunReport {
  const { status, stdout, stderr } = spawnSync(node as string, [...args, file, ...modes], { encoding: "utf8" });
  if (status !== 0) throw new Error(`planning ${file} failed: ${stderr}`);
  return JSON.parse(stdout);
}

/** The batch that the image's code cache is made with, as a workload. */
async function warmUpWorkload(): Promise<Workload> {
  const objects = valuesOf("warm-up.yaml", readFileSync(WARM_UP, "utf8")) as KubeObject[];
  const of = (kind: string): unknown[] => objects.filter((one) => one.kind === kind);
  const pods = (of("Deployment") as Deployment[]).map(({ metadata: { name }, spec: { replicas, template } }) => {
    return { name, count: replicas ?? 1, template };
  });
  const [pool] = of("NodePool") as [NodePool];
  return onPool("warm-up", pods, pool);
}
