/**
 * Platforms of images, by Go's names, and qemu's user-mode emulator for programs of the other platform. The
 * emulator starts the program inside the container, so nothing is registered with the kernel. Programs that the
 * emulated program starts are not emulated.
 */
import { existsSync } from "node:fs";
import type { Architecture } from "../release/image.ts";

const BY_NODE: Readonly<Record<string, Architecture>> = { x64: "amd64", arm64: "arm64" };
const EMULATORS: Readonly<Record<Architecture, string>> = {
  amd64: "/usr/bin/qemu-x86_64-static",
  arm64: "/usr/bin/qemu-aarch64-static",
};

/** This machine's architecture. Throws an Error if no image is made for it. */
export function machineArchitecture(): Architecture {
  const found = BY_NODE[process.arch];
  if (found === undefined) throw new Error(`no image is made for ${process.arch}`);
  return found;
}

/** `linux/arm64` is arm64. Throws an Error for any other form. */
export function architectureOf(platform: string): Architecture {
  const [, name] = /^linux\/(amd64|arm64)$/.exec(platform) ?? [];
  if (name === undefined)
    throw new Error(`--platform ${platform}: give linux/amd64 or linux/arm64`);
  return name as Architecture;
}

/** The path of the emulator that programs of `architecture` need here; undefined if they need none. */
export function emulatorFor(architecture: string): string | undefined {
  return architecture === machineArchitecture()
    ? undefined
    : EMULATORS[architecture as Architecture];
}

/** Why programs of `architecture` cannot run here, in one sentence. Undefined if they can. */
export function whyNoPlatform(architecture: Architecture): string | undefined {
  const emulator = emulatorFor(architecture);
  if (emulator === undefined || existsSync(emulator)) return undefined;
  return `linux/${architecture} needs ${emulator} (Debian: apt-get install qemu-user-static)`;
}
