/**
 * `npm run image:run [-- --image FILE] [--platform linux/arm64] [--no-cluster] [--where-possible] [-- command …]`:
 * runs a release's image as a container with runc, without a daemon. Checks its user, rights, clock and how it
 * ends. Then the release tests run with it on a real control plane (`npm run test:cluster -- helm-install`),
 * unless qemu emulates its platform. With a command, only that command of the program runs. Without `--image`, the
 * image is made from this checkout. Its base is this machine, or Debian for another platform.
 */
import { execFileSync, spawn, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { imageNode } from "../bench/image-node.ts";
import { imageEntry } from "./image-flags.ts";
import {
  containerCommand,
  keepConfig,
  whyNoContainer,
  whyNoSeccomp,
} from "./image-run/container.ts";
import { foreignRoot, whyNoDebian } from "./image-run/debian-root.ts";
import { look, POD } from "./image-run/look.ts";
import { machineRoot } from "./image-run/machine-root.ts";
import {
  architectureOf,
  emulatorFor,
  machineArchitecture,
  whyNoPlatform,
} from "./image-run/platform.ts";
import { unpackImage } from "./image-run/unpack.ts";
import { type Architecture, writeImage } from "./release/image.ts";
import { entriesOf } from "./release/tarball.ts";
import { scriptFlags } from "./script-flags.ts";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const say = (line: string): void => {
  process.stdout.write(`${line}\n`);
};

const { values, positionals } = scriptFlags(import.meta.url, {
  allowPositionals: true,
  options: {
    image: { type: "string" },
    platform: { type: "string" },
    "no-cluster": { type: "boolean", default: false },
    "where-possible": { type: "boolean", default: false },
  },
});

try {
  const architecture =
    values.platform === undefined ? machineArchitecture() : architectureOf(values.platform);
  const missing = whyNoContainer() ?? whyNoPlatform(architecture) ?? whyNoBase(architecture);
  if (missing === undefined) process.exitCode = await run(architecture);
  else {
    process.stderr.write(`no container is run here: ${missing}\n`);
    process.exitCode = values["where-possible"] ? 0 : 1;
  }
} catch (error) {
  process.stderr.write(`image:run: ${(error as Error).message}\n`);
  process.exitCode = 1;
}

/** Why no base can be made, or undefined. For this machine's platform the machine itself is the base. */
function whyNoBase(architecture: Architecture): string | undefined {
  const isGiven = values.image !== undefined || emulatorFor(architecture) === undefined;
  return isGiven ? undefined : whyNoDebian();
}

async function run(architecture: Architecture): Promise<number> {
  const isEmulated = emulatorFor(architecture) !== undefined;
  const folder = mkdtempSync(join(tmpdir(), "karpenter-run-"));
  try {
    const image =
      values.image === undefined ? await ownImage(folder, architecture) : resolve(values.image);
    keepConfig(folder, unpackImage(image, folder, architecture));
    if (positionals.length > 0) return await foreground(folder, positionals);
    const lacking = whyNoSeccomp();
    if (lacking !== undefined) say(lacking);
    say(`linux/${architecture}${isEmulated ? ", emulated" : ""}: ${await look(folder)}`);
    return values["no-cluster"] || isEmulated ? 0 : cluster(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Makes the image as a release does. The platform that is not tested gets an empty base. */
async function ownImage(folder: string, architecture: Architecture): Promise<string> {
  const [bundle, root, other, work, image] = ["bundle", "base", "other", "work", "image"].map(
    (name) => join(folder, name),
  ) as [string, string, string, string, string];
  const tsx = join(ROOT, "node_modules/tsx/dist/cli.mjs");
  execFileSync(process.execPath, [tsx, "scripts/bundle.ts", "--out", bundle], { cwd: ROOT });
  for (const one of [other, work]) mkdirSync(one);
  if (emulatorFor(architecture) === undefined) machineRoot(root, imageNode(say).program);
  else {
    say(`Debian and Node for linux/${architecture} (minutes)`);
    foreignRoot(root, work, architecture);
  }
  const git = (...args: readonly string[]) =>
    execFileSync("git", args, { cwd: ROOT, encoding: "utf8" }).trim();
  await writeImage(image, {
    program: entriesOf(bundle),
    base: { amd64: other, arm64: other, [architecture]: root },
    version: "0.0.0",
    commit: git("rev-parse", "HEAD"),
    atMs: Number(git("log", "-1", "--format=%ct")) * 1_000,
    entrypoint: imageEntry(),
  });
  return image;
}

/** Runs a command in the container, and forwards signals to it. */
function foreground(folder: string, args: readonly string[]): Promise<number> {
  const [program, ...rest] = containerCommand(folder, { ...POD, args, isHostNetwork: true });
  const child = spawn(program, rest, { stdio: "inherit" });
  for (const name of ["SIGINT", "SIGTERM"] as const) process.on(name, () => child.kill(name));
  return new Promise((resolve) => child.once("exit", (code) => resolve(code ?? 1)));
}

function cluster(folder: string): number {
  const env = { ...process.env, CONTAINER_ENGINE: "runc", KARPENTER_IMAGE: folder };
  const where = values["where-possible"] ? ["--where-possible"] : [];
  const args = ["run", "test:cluster", "--", ...where, "helm-install"];
  return spawnSync("npm", args, { cwd: ROOT, env, stdio: "inherit" }).status ?? 1;
}
