/** Finds Chromium, or installs Debian's where that can be done. */
import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";

const PLACES = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];

/** The path of the program; undefined: there is none, and none can be had. */
export function findChromium(): string | undefined {
  const found = [process.env["CHROMIUM"] ?? "", ...PLACES].find((path) => path && existsSync(path));
  if (found !== undefined) return found;
  if (process.getuid?.() !== 0 || !existsSync("/usr/bin/apt-get")) return undefined;
  try {
    const apt = (...args: readonly string[]) =>
      execFileSync("apt-get", args, { stdio: "ignore", timeout: 300_000 });
    apt("update");
    apt("install", "-y", "--no-install-recommends", "chromium", "fonts-dejavu-core");
  } catch {
    return undefined;
  }
  return PLACES.find((path) => existsSync(path));
}
