/** Finds Chromium, or installs it from Debian's packages as root. */
import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";

const PLACES = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];

/** The path of Chromium. Undefined: it is not installed and cannot be installed. */
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
