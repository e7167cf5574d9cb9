/**
 * `npm start`: builds what is missing or stale, then runs `karpenter sandbox` with the arguments given.
 * Built output is compared by time, so a second start goes straight to the sandbox.
 */
import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const entry = join(root, "dist/cli/main.js");

function newestMs(folder: string): number {
  let newest = 0;
  for (const item of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, item.name);
    if (item.isDirectory()) newest = Math.max(newest, newestMs(path));
    else if (!item.name.endsWith(".test.ts")) newest = Math.max(newest, statSync(path).mtimeMs);
  }
  return newest;
}

function isStale(): boolean {
  const stamp = join(root, "dist/cli/.tsbuildinfo");
  return (
    !existsSync(entry) ||
    !existsSync(stamp) ||
    statSync(stamp).mtimeMs < newestMs(join(root, "src"))
  );
}

if (isStale()) {
  process.stderr.write("building…\n");
  const tsc = join(root, "node_modules/typescript/bin/tsc");
  const built = spawnSync(process.execPath, [tsc, "-b", "--force"], {
    cwd: root,
    stdio: "inherit",
  });
  if (built.status !== 0) process.exit(built.status ?? 1);
}

process.argv = [process.execPath, entry, "sandbox", ...process.argv.slice(2)];
await import(pathToFileURL(entry).href);
