/**
 * `npm run test:browser`: opens the built page in Chromium on a live sandbox. It shows every view at three sizes in
 * both colour schemes, and axe checks each for accessibility. Further checks: use by keyboard alone, hostile texts,
 * a lost connection. Pictures of the views are written to dist/browser, for a person to look at.
 */
import { mkdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
import { type Browser, chromium, type Page } from "playwright-core";
import { findChromium } from "./chromium.ts";
import { postEvent } from "./hostile-event.ts";
import { type LiveSandbox, startSandbox } from "./live-sandbox.ts";
import { seesMoves } from "./moves.ts";
import { showsVitals } from "./vitals.ts";
import { patchPlaces } from "./waiting.ts";
import { refusesFaults, sameInATerminal, supposes } from "./what-if.ts";

const PICTURES = fileURLToPath(new URL("../../dist/browser/", import.meta.url));
const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const VIEWS = ["map", "money", "decisions", "waiting", "pools", "health", "whatif"] as const;
const SIZES = [
  { width: 390, height: 844 },
  { width: 1_280, height: 800 },
  { width: 3_840, height: 2_160 },
] as const;
const SPEED = 20;

let passed = 0;
const failures: string[] = [];

async function check(name: string, work: () => Promise<unknown>): Promise<void> {
  try {
    await work();
    passed += 1;
  } catch (error) {
    failures.push(`${name}: ${(error as Error).message}`);
    console.log(`✕ ${name}: ${(error as Error).message}`);
  }
}

function expectEqual(what: string, got: unknown, wanted: unknown): void {
  if (JSON.stringify(got) !== JSON.stringify(wanted))
    throw new Error(`${what}: got ${JSON.stringify(got)}, wanted ${JSON.stringify(wanted)}`);
}

const path = findChromium();
if (path === undefined) {
  console.log(
    "test:browser: skipped, no Chromium here (apt-get install chromium, or set CHROMIUM)",
  );
} else {
  mkdirSync(PICTURES, { recursive: true });
  const sandbox = await startSandbox(SPEED);
  const browser = await chromium.launch({ executablePath: path, args: ["--no-sandbox"] });
  try {
    await drive(browser, sandbox);
  } finally {
    await browser.close();
    await sandbox.stop();
  }
  console.log(`${passed} passed, ${failures.length} failed`);
  if (failures.length > 0) process.exitCode = 1;
}

async function drive(browser: Browser, sandbox: LiveSandbox): Promise<void> {
  const faults: string[] = [];
  const context = await browser.newContext({ viewport: SIZES[1], reducedMotion: "reduce" });
  const page = await context.newPage();
  page.on("pageerror", (error) => faults.push(error.message));
  page.on("console", (message) => {
    // The browser also logs an error for the connection that this test cuts on purpose.
    if (message.type() === "error" && !message.text().includes("ERR_INTERNET_DISCONNECTED"))
      faults.push(message.text());
  });
  await check("the address without its token shows how to get in, and no data", async () => {
    const other = await (await browser.newContext()).newPage();
    await other.goto(sandbox.url.replace(/#.*/, ""));
    await other.getByText("lacks its token").waitFor();
    await other.close();
  });
  await page.goto(sandbox.url);
  await check("the token leaves the address", async () => {
    await page.getByText("● live").waitFor();
    expectEqual("the address", new URL(page.url()).hash.includes(sandbox.url.slice(-32)), false);
  });
  await check("an empty map says what to do, and does it", () => firstSteps(page));
  await postEvent(sandbox.kubeconfig, "hostile");
  for (const colorScheme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
    for (const size of SIZES) {
      await page.setViewportSize(size);
      for (const view of VIEWS)
        await check(`${view} at ${size.width}, ${colorScheme}`, () =>
          lookAt(page, view, `${view}-${size.width}-${colorScheme}`),
        );
    }
  }
  await page.setViewportSize(SIZES[1]);
  await page.emulateMedia({ colorScheme: "light", reducedMotion: "reduce" });
  await check("the keyboard alone reaches every view, the table and the reasons", () =>
    byKeyboard(page),
  );
  await check("Health draws the controller's metrics", () => showsVitals(page));
  await inSizes(page, "health-vitals");
  await whatIf(page, sandbox);
  await check("the patch of a waiting pod places it", () => patchPlaces(page, sandbox));
  await inSizes(page, "waiting-patch");
  await check("pods of a leaving node are seen to move, as arrows and as text", () =>
    seesMoves(page),
  );
  await inSizes(page, "map-moves");
  await check("a hostile event is text", async () => {
    // The first event may be gone by now: the sandbox keeps events for an hour of its time, which is three minutes
    // here.
    await postEvent(sandbox.kubeconfig, "hostile-again");
    await page.evaluate(() => {
      location.hash = "decisions?filter=onerror";
    });
    await page.getByText("<img src=x onerror").first().waitFor();
    expectEqual("script ran", await page.evaluate("'pwned' in window"), false);
    const text = (await page.textContent("main")) ?? "";
    expectEqual("turned text", /[\p{Cf}\p{Cc}]/u.test(text.replaceAll("\n", "")), false);
  });
  await check("a lost connection is said, and found again", async () => {
    await context.setOffline(true);
    await page.reload().catch(() => undefined);
    await context.setOffline(false);
    await page.goto(`${new URL(sandbox.url).origin}/#map`);
    await page.getByText("● live").waitFor();
  });
  await check("nothing went wrong in the page", async () => expectEqual("errors", faults, []));
  await context.close();
}

async function whatIf(page: Page, sandbox: LiveSandbox): Promise<void> {
  await check("a faulty NodePool is refused with field, value and remedy", () =>
    refusesFaults(page),
  );
  await check("every kind of change is supposed at once", () => supposes(page));
  await check("the command line of the page gives the same answer", () =>
    sameInATerminal(page, sandbox),
  );
  await inSizes(page, "whatif-answered");
}

/** Checks what the page shows now, at every size and in both colour schemes, with axe. */
async function inSizes(page: Page, name: string): Promise<void> {
  for (const colorScheme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
    for (const size of SIZES) {
      await page.setViewportSize(size);
      await check(`${name} at ${size.width}, ${colorScheme}`, () =>
        inspect(page, `${name}-${size.width}-${colorScheme}`),
      );
    }
  }
  await page.setViewportSize(SIZES[1]);
  await page.emulateMedia({ colorScheme: "light", reducedMotion: "reduce" });
}

async function firstSteps(page: Page): Promise<void> {
  await page.getByText("No node here is Karpenter's").waitFor();
  await page.getByRole("button", { name: "Apply the example" }).click();
  await page.getByRole("button", { name: "Scale inflate to 10" }).waitFor();
  await page.waitForTimeout(1_000);
  await page.getByRole("button", { name: "Scale inflate to 10" }).click();
  await page.locator(".strip", { hasText: /[3-9] nodes/ }).waitFor({ timeout: 30_000 });
  await page.locator(".strip", { hasText: "0 waiting" }).waitFor({ timeout: 30_000 });
}

async function lookAt(page: Page, view: string, name: string): Promise<void> {
  await page.evaluate((hash) => {
    location.hash = hash;
  }, view);
  await page.locator(`nav a[aria-current="page"][href="#${view}"]`).waitFor();
  await page.locator(".skeleton").waitFor({ state: "detached", timeout: 20_000 });
  await inspect(page, name);
}

async function inspect(page: Page, name: string): Promise<void> {
  await page.waitForTimeout(300);
  await page.screenshot({ path: `${PICTURES}${name}.png` });
  const wide = await page.evaluate(
    "document.documentElement.scrollWidth - document.documentElement.clientWidth",
  );
  expectEqual("pixels beside the page", wide, 0);
  const wideMain = await page.evaluate(
    "document.querySelector('main').scrollWidth - document.querySelector('main').clientWidth",
  );
  expectEqual("pixels beside the view", wideMain, 0);
  await page.evaluate(AXE);
  const found = (await page.evaluate("axe.run(document)")) as {
    violations: { id: string; nodes: { html: string }[] }[];
  };
  const faults = found.violations.map(({ id, nodes }) => `${id}: ${nodes[0]?.html.slice(0, 200)}`);
  expectEqual("axe", faults, []);
}

async function byKeyboard(page: Page): Promise<void> {
  for (const [index, view] of VIEWS.entries()) {
    await page.keyboard.press(String(index + 1));
    expectEqual("the view", new URL(page.url()).hash.slice(1).split("?")[0], view);
  }
  await page.keyboard.press("1");
  const shown = Number(/(\d+) nodes/.exec((await page.textContent(".strip")) ?? "")?.[1]);
  const grid = page.getByRole("grid", { name: "Nodes" });
  expectEqual("rows of the twin", Number(await grid.getAttribute("aria-rowcount")) - 1, shown);
  await page.keyboard.press("t");
  await grid.focus();
  await page.keyboard.press("End");
  await page.keyboard.press("Home");
  await page.keyboard.press("Enter");
  await page.locator(".drawer .lead").waitFor();
  await page.screenshot({ path: `${PICTURES}why.png` });
  await page.keyboard.press("Escape");
  await page.locator(".drawer").waitFor({ state: "detached" });
  await page.keyboard.press("t");
  await page.keyboard.press("/");
  await page.keyboard.type("no such node");
  await page.getByText("0 shown").waitFor();
  await page.keyboard.press("Escape");
}
