/**
 * Platforms of images, by Go's names, and what runs the other platform's programs here: qemu's emulator of a process.
 * It starts the program inside the container, so nothing is registered with the kernel. A program that such a program
 * starts is not emulated.
 */
import { existsSync } from "node:fs";
import type { Architecture } from "../release/image.ts";

const BY_NODE: Readonly<Record<string, Architecture>> = { x64: "amd64", arm64: "arm64" };
const EMULATORS: Readonly<Record<Architecture, string>> = {
  amd64: "/usr/bin/qemu-x86_64-static",
  arm64: "/usr/bin/qemu-aarch64-static",
};

/** This machine's. Throws an Error where no image is made for it. */
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

/** The emulator that a program of `architecture` needs here; undefined: none. */
export function emulatorFor(architecture: string): string | undefined {
  return architecture === machineArchitecture()
    ? undefined
    : EMULATORS[architecture as Architecture];
}

/** One sentence where programs of `architecture` cannot run here. */
export function whyNoPlatform(architecture: Architecture): string | undefined {
  const emulator = emulatorFor(architecture);
  if (emulator === undefined || existsSync(emulator)) return undefined;
  return `linux/${architecture} needs ${emulator} (Debian: apt-get install qemu-user-static)`;
}
