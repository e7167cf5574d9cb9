/** A hash of everything that the built page is made from. A test compares it with the one beside the built files. */
import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const HERE = fileURLToPath(new URL("./", import.meta.url));

export function sourceHash(): string {
  const sources = readdirSync(`${HERE}src`, { recursive: true, withFileTypes: true })
    .filter((item) => item.isFile())
    .map((item) => `${item.parentPath}/${item.name}`.slice(HERE.length));
  const hash = createHash("sha256");
  const files = [...sources, "index.html", "package-lock.json", "vite.config.ts", "tsconfig.json"];
  for (const file of files.sort()) hash.update(`${file}\n`).update(readFileSync(`${HERE}${file}`));
  return hash.digest("hex");
}
