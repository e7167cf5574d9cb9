/**
 * `npx tsx dashboard/test/look.ts --nodes 300 --trouble burst [--views map,money] [--sizes 390-light,1280-dark]`: takes
 * pictures of the views for a person to look at, on the cluster of `npm run bench -- console`. It says which view is
 * wider than the window, which text is cut without a title that tells the rest, and what the page logged as an error.
 * `--ask`: also consolidates on the page What if, and takes pictures on the way and at the end.
 */
import { mkdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { chromium, type Page } from "playwright-core";
import { startConsole } from "../../bench/console/started.ts";
import { scriptFlags } from "../../scripts/script-flags.ts";
import { findChromium } from "./chromium.ts";

const { values } = scriptFlags(import.meta.url, {
  args: process.argv.slice(2),
  options: {
    nodes: { type: "string", default: "300" },
    pods: { type: "string", default: "10" },
    trouble: { type: "string", default: "calm" },
    views: { type: "string", default: "map,money,decisions,waiting,pools,health,whatif" },
    sizes: { type: "string", default: "390-light,1280-dark,3840-light" },
    ask: { type: "boolean", default: false },
  },
});
const HEIGHTS: Readonly<Record<string, number>> = { 390: 844, 1280: 800, 3840: 2160 };
const FOLDER = fileURLToPath(new URL("../../dist/browser/look/", import.meta.url));
mkdirSync(FOLDER, { recursive: true });

const executablePath = findChromium();
if (executablePath === undefined) throw new Error("no Chromium: apt-get install chromium");
const started = await startConsole(values);
const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
try {
  const page = await browser.newPage();
  page.on("pageerror", (error) => console.log(`error: ${error.message}`));
  page.on("console", (line) => line.type() === "error" && console.log(`logged: ${line.text()}`));
  await page.goto(started.url);
  await page.locator(".strip", { hasText: "waiting" }).waitFor({ timeout: 120_000 });
  for (const view of values.views.split(","))
    for (const size of values.sizes.split(",")) await picture(page, view, size);
  if (values.ask) await ask(page);
} finally {
  await browser.close();
  started.stop();
}

/** The first shot is taken when the page knows how far the simulation has come, and the second one at its end. */
async function ask(page: Page): Promise<void> {
  await page.keyboard.press("7");
  await page.getByRole("checkbox", { name: "Consolidate to the end" }).check();
  await page.getByRole("button", { name: "Simulate" }).click();
  const begunMs = Date.now();
  await page.getByText(/\d+ disruption commands? so far/).waitFor({ timeout: 90_000 });
  await shot(page, "whatif-asked");
  await page.getByText("The same in a terminal").waitFor({ timeout: 120_000 });
  console.log(`answered after ${Date.now() - begunMs} ms`);
  await shot(page, "whatif-answered");
}

async function shot(page: Page, name: string): Promise<void> {
  await page.screenshot({ path: `${FOLDER}${values.nodes}-${values.trouble}-${name}.png` });
}

async function picture(page: Page, view: string, size: string): Promise<void> {
  const [width = "1280", scheme] = size.split("-");
  await page.setViewportSize({ width: Number(width), height: HEIGHTS[width] ?? 800 });
  await page.emulateMedia({ colorScheme: scheme === "dark" ? "dark" : "light" });
  await page.evaluate((hash) => {
    location.hash = hash;
  }, view);
  await page.locator(`nav a[aria-current="page"][href="#${view.split("?")[0]}"]`).waitFor();
  await page.locator("main > .skeleton").waitFor({ state: "detached", timeout: 120_000 });
  await page.waitForTimeout(1_500);
  const name = `${values.nodes}-${values.trouble}-${view.replace(/\W/g, "-")}-${size}.png`;
  await page.screenshot({ path: `${FOLDER}${name}` });
  const [wide, cut] = (await page.evaluate(`[
    Math.max(...[document.documentElement, document.querySelector("main")].map((one) => one.scrollWidth - one.clientWidth)),
    [...document.querySelectorAll("body *")].filter((one) => one.scrollWidth > one.clientWidth + 1 &&
      getComputedStyle(one).overflowX !== "visible" && getComputedStyle(one).textOverflow !== "clip" &&
      one.closest("[title], .grid") === null).map((one) => one.className + ": " + one.textContent.slice(0, 40))
  ]`)) as [number, string[]];
  const cuts = cut.length === 0 ? "" : `, ${cut.length} cut texts without title, as "${cut[0]}"`;
  console.log(`${name}: ${wide} px beside it${cuts}`);
}
