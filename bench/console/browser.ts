/** Opens Chromium for the console's benches. */
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
import { findChromium } from "../../dashboard/test/chromium.ts";

/** The part of playwright-core's Page that is used. The package is a dependency of the dashboard only. */
export interface BrowserPage {
  goto(url: string): Promise<unknown>;
  close(): Promise<void>;
  waitForTimeout(ms: number): Promise<void>;
  locator(
    selector: string,
    options: { hasText: string },
  ): { waitFor(options: object): Promise<void> };
  context(): {
    newCDPSession(
      page: BrowserPage,
    ): Promise<{ send(method: string): Promise<{ usedSize: number }> }>;
  };
}

interface Browser {
  newPage(): Promise<BrowserPage>;
  close(): Promise<void>;
}

/** The part of playwright-core that is used. */
interface Chromium {
  launch(options: object): Promise<Browser>;
}

/** Throws if there is no Chromium on this machine. */
export function openBrowser(): Promise<Browser> {
  const executablePath = findChromium();
  if (executablePath === undefined) throw new Error("no Chromium here");
  const home = fileURLToPath(new URL("../../dashboard/package.json", import.meta.url));
  const { chromium } = createRequire(home)("playwright-core") as { chromium: Chromium };
  return chromium.launch({ executablePath, args: ["--no-sandbox"] });
}
