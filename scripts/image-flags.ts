/** How `deploy/image/Containerfile` starts the program: one list for every way to an image. */
import { readFileSync } from "node:fs";

const IMAGE = new URL("../deploy/image/Containerfile", import.meta.url);

/** The entry point that a Containerfile's text names; that of this checkout without one. */
export function imageEntry(text = readFileSync(IMAGE, "utf8")): readonly string[] {
  const entry = /^ENTRYPOINT (\[.*\])$/m.exec(text)?.[1];
  if (entry === undefined) throw new Error("deploy/image/Containerfile has no ENTRYPOINT");
  return JSON.parse(entry) as string[];
}

/** What the image's entry point gives to Node. */
export function imageFlags(): readonly string[] {
  return imageEntry().filter((word) => word.startsWith("--"));
}
