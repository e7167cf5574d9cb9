/**
 * Runs an unpacked image as a container with runc: no daemon, no registry. Needs Linux, root and runc. The seccomp
 * profile comes from Debian's package golang-github-containers-common.
 */
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { emulatorFor, machineArchitecture } from "./platform.ts";
import { type ContainerAsk, runtimeConfig } from "./runtime-config.ts";
import { type EngineProfile, runtimeDefault } from "./seccomp.ts";
import type { ImageConfig } from "./unpack.ts";

/** The profile that a kubelet calls RuntimeDefault, where podman and CRI-O keep it. */
const PROFILE = "/usr/share/containers/seccomp.json";
/** The image's configuration, stored beside its unpacked files for later runs. */
const CONFIG = "image.json";

/** What is missing to run a container here, and what to do, in one sentence. Undefined if nothing is. */
export function whyNoContainer(): string | undefined {
  if (process.platform !== "linux") return `containers need Linux, and this is ${process.platform}`;
  if (process.getuid?.() !== 0) return "runc runs containers as root here: start this with sudo";
  if (spawnSync("runc", ["--version"]).status !== 0)
    return "the program runc is missing (Debian: apt-get install runc)";
  return undefined;
}

/** What is missing for the seccomp profile, in one sentence. Undefined if the machine has it. */
export function whyNoSeccomp(): string | undefined {
  if (existsSync(PROFILE)) return undefined;
  return `without the seccomp profile RuntimeDefault: ${PROFILE} is missing (Debian: golang-github-containers-common)`;
}

/**
 * Stores the image's configuration in `folder`, where `unpackImage` put the root file system. `containerCommand`
 * reads it there.
 */
export function keepConfig(folder: string, config: ImageConfig): void {
  writeFileSync(join(folder, CONFIG), JSON.stringify(config));
}

/**
 * The command, program first, that starts a container of the image unpacked in `folder`. The container gets the
 * caller's streams, and the signals that runc gets.
 */
export function containerCommand(
  folder: string,
  asked: ContainerAsk,
): readonly [string, ...string[]] {
  const image = JSON.parse(readFileSync(join(folder, CONFIG), "utf8")) as ImageConfig;
  const state = join(folder, "state");
  mkdirSync(state, { recursive: true });
  const bundle = mkdtempSync(join(folder, "bundle-"));
  const seccomp = existsSync(PROFILE)
    ? runtimeDefault(
        JSON.parse(readFileSync(PROFILE, "utf8")) as EngineProfile,
        // With an emulator too, the system calls are those of this machine's architecture.
        machineArchitecture(),
      )
    : undefined;
  const emulator = emulatorFor(image.architecture);
  const on = {
    root: join(folder, "root"),
    ...(seccomp === undefined ? {} : { seccomp }),
    ...(emulator === undefined ? {} : { emulator }),
  };
  writeFileSync(join(bundle, "config.json"), JSON.stringify(runtimeConfig(image, asked, on)));
  const name = `karpenter-${process.pid}-${bundle.slice(-6)}`;
  return ["runc", "--root", state, "run", "--bundle", bundle, name];
}
