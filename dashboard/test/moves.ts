/** A spot node is reclaimed: the map shows where its pods go, while they go. */
import type { Page } from "playwright-core";

/** Slow enough to be seen. */
const SLOW = "2";

/** The oldest spot node may be one without pods. Then the next one is reclaimed. */
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

/** What buttons of the sandbox do. */
export async function act(page: Page, values: Readonly<Record<string, string>>): Promise<void> {
  const said = await page.evaluate(async (body) => {
    const headers = { "content-type": "application/json" };
    return (await fetch("/api/act", { method: "POST", headers, body })).text();
  }, JSON.stringify(values));
  if (said.includes(`"problem"`)) throw new Error(said);
}
