/**
 * Runs an unpacked image as a container, by runc: no daemon, no registry. Linux, root and the program runc are needed.
 * The seccomp profile comes from Debian's package golang-github-containers-common.
 */
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { emulatorFor, machineArchitecture } from "./platform.ts";
import { type ContainerAsk, runtimeConfig } from "./runtime-config.ts";
import { type EngineProfile, runtimeDefault } from "./seccomp.ts";
import type { ImageConfig } from "./unpack.ts";

/** Where podman and CRI-O keep what a kubelet calls RuntimeDefault. */
const PROFILE = "/usr/share/containers/seccomp.json";
/** The image's configuration, stored beside its unpacked files for later runs. */
const CONFIG = "image.json";

/** Undefined where a container can be run here; else one sentence: what is missing, and what to do. */
export function whyNoContainer(): string | undefined {
  if (process.platform !== "linux") return `containers need Linux, and this is ${process.platform}`;
  if (process.getuid?.() !== 0) return "runc runs containers as root here: start this with sudo";
  if (spawnSync("runc", ["--version"]).status !== 0)
    return "the program runc is missing (Debian: apt-get install runc)";
  return undefined;
}

/** Undefined where the machine has the profile. */
export function whyNoSeccomp(): string | undefined {
  if (existsSync(PROFILE)) return undefined;
  return `without the seccomp profile RuntimeDefault: ${PROFILE} is missing (Debian: golang-github-containers-common)`;
}

/** Makes `folder`, where `unpackImage` put a root file system, one that `containerCommand` takes. */
export function keepConfig(folder: string, config: ImageConfig): void {
  writeFileSync(join(folder, CONFIG), JSON.stringify(config));
}

/**
 * What to start, program first: a container of the image that lies unpacked in `folder`. It gets the streams of
 * whoever starts it and the signals that runc gets.
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
        // An emulator makes the system calls of this machine.
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
