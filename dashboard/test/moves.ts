/**
 * Checks that the map shows where pods go while they move: a spot node is reclaimed, and its pods move to other
 * nodes.
 */
import type { Page } from "playwright-core";

/**
 * The speed of the sandbox's clock during this check. At a higher speed the moves would be over before the page
 * shows them.
 */
const SLOW = "2";

/**
 * Maximum number of spot nodes that are reclaimed. The oldest one may have no pods, so nothing moves, and the next
 * one is tried.
 */
const NODES_TRIED = 3;
const SEEN_MS = 20_000;

export async function seesMoves(page: Page): Promise<void> {
  await page.keyboard.press("1");
  await act(page, { name: "speed", speed: SLOW });
  const tables: string[] = [];
  while (!(await movesAreDrawn(page))) {
    tables.push((await page.textContent("main")) ?? "");
    if (tables.length === NODES_TRIED)
      throw new Error(`no node's pods were seen to move; the page showed:\n${tables.join("\n")}`);
  }
  const twin = page.getByRole("grid", { name: "Nodes" });
  await twin
    .getByText(/\d+ pods? → |replaced by /)
    .first()
    .waitFor();
}

async function movesAreDrawn(page: Page): Promise<boolean> {
  await act(page, { name: "reclaim" });
  const legend = page.locator(".legend", { hasText: "→ pods move" });
  return legend.waitFor({ timeout: SEEN_MS }).then(
    () => true,
    () => false,
  );
}

/** Does an action of the sandbox, as a button of the page does. Throws if it is refused. */
export async function act(page: Page, values: Readonly<Record<string, string>>): Promise<void> {
  const said = await page.evaluate(async (body) => {
    const headers = { "content-type": "application/json" };
    return (await fetch("/api/act", { method: "POST", headers, body })).text();
  }, JSON.stringify(values));
  if (said.includes(`"problem"`)) throw new Error(said);
}
