/**
 * The Node that users run the product with: the image's major version (`deploy/image/Containerfile`), with the flags of
 * the image's entry point (`scripts/image-flags.ts`). Its compilers warm up faster than those of the oldest supported
 * Node, so a bench on another Node would measure something else.
 * It is downloaded once from the npm package `node` into the cache. If that fails, this process' own Node is used, and
 * a line says so.
 */
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, renameSync, rmSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { imageFlags } from "../scripts/image-flags.ts";

/** Has the major version of the image's Node; test/chart.test.ts checks that. */
export const IMAGE_NODE_VERSION = "26.10.0";

export interface NodeProgram {
  readonly program: string;
  /** The version in the form of `process.version`: v26.10.0. */
  readonly version: string;
}

/** The image's Node. `tell` is called when it is downloaded, and when it cannot be. */
export function imageNode(tell: (line: string) => void): NodeProgram {
  if (process.version === `v${IMAGE_NODE_VERSION}`) return ownNode();
  const base = process.env["XDG_CACHE_HOME"] || join(homedir(), ".cache");
  const folder = join(base, "karpenter-ts", `node-${IMAGE_NODE_VERSION}`);
  const program = join(folder, "node_modules", "node", "bin", "node");
  if (!existsSync(program) && !fetched(folder, tell)) return ownNode();
  return { program, version: `v${IMAGE_NODE_VERSION}` };
}

/** Whether this process runs with the flags of the image. */
export function isAsUsersRun(): boolean {
  return imageFlags().every((flag) => process.execArgv.includes(flag));
}

/** Runs a bench program on the image's Node with its flags. Returns its exit code. */
export function runAsUsersDo(program: string, args: readonly string[]): number {
  const { status } = spawnSync(imageNode(console.log).program, [...imageFlags(), "--import", "tsx", program, ...args], { stdio: "inherit" });
  return status ?? 1;
}

function ownNode(): NodeProgram {
  return { program: process.execPath, version: process.version };
}

function fetched(folder: string, tell: (line: string) => void): boolean {
  tell(`fetching Node ${IMAGE_NODE_VERSION}, the image's (once)`);
  const half = `${folder}.${process.pid}`;
  mkdirSync(half, { recursive: true });
  try {
    const args = ["install", "--prefix", half, "--no-audit", "--no-fund", `node@${IMAGE_NODE_VERSION}`];
    const { status, stderr, error } = spawnSync("npm", args, { encoding: "utf8", cwd: half });
    if (status === 0 && existsSync(join(half, "node_modules", "node", "bin", "node"))) {
      mkdirSync(dirname(folder), { recursive: true });
      if (!existsSync(folder)) renameSync(half, folder);
      return true;
    }
    const why = error?.message ?? stderr.trim().split("\n").slice(-1)[0];
    tell(`Node ${IMAGE_NODE_VERSION} could not be fetched (${why}): this runs with ${process.version}`);
    return false;
  } finally {
    rmSync(half, { recursive: true, force: true });
  }
}
