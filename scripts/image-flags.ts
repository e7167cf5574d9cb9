/**
 * How `deploy/image/Containerfile` starts the program: the only list of these flags, for every way to make an
 * image.
 */
import { readFileSync } from "node:fs";

const IMAGE = new URL("../deploy/image/Containerfile", import.meta.url);

/** The entry point in a Containerfile's text; by default in this checkout's. */
export function imageEntry(text = readFileSync(IMAGE, "utf8")): readonly string[] {
  const entry = /^ENTRYPOINT (\[.*\])$/m.exec(text)?.[1];
  if (entry === undefined) throw new Error("deploy/image/Containerfile has no ENTRYPOINT");
  return JSON.parse(entry) as string[];
}

/** The flags for Node in the image's entry point. */
export function imageFlags(): readonly string[] {
  return imageEntry().filter((word) => word.startsWith("--"));
}
