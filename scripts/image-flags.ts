/** The flags that `deploy/image/Containerfile` gives to Node. */
import { readFileSync } from "node:fs";

const IMAGE = new URL("../deploy/image/Containerfile", import.meta.url);

/** What the image's entry point gives to Node. */
export function imageFlags(): readonly string[] {
  const entry = /^ENTRYPOINT (\[.*\])$/m.exec(readFileSync(IMAGE, "utf8"))?.[1];
  if (entry === undefined) throw new Error(`${IMAGE.pathname} has no ENTRYPOINT`);
  return (JSON.parse(entry) as string[]).filter((word) => word.startsWith("--"));
}
