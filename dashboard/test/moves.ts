/** A spot node is reclaimed: the map shows where its pods go, while they go. */
import type { Page } from "playwright-core";

/** Slow enough to be seen. */
const SLOW = "2";

export async function seesMoves(page: Page): Promise<void> {
  await page.keyboard.press("1");
  await act(page, { name: "speed", speed: SLOW });
  await act(page, { name: "reclaim" });
  await page.locator(".legend", { hasText: "→ pods move" }).waitFor({ timeout: 40_000 });
  const twin = page.getByRole("grid", { name: "Nodes" });
  await twin
    .getByText(/\d+ pods? → |replaced by /)
    .first()
    .waitFor();
}

/** What buttons of the sandbox do. */
export async function act(page: Page, values: Readonly<Record<string, string>>): Promise<void> {
  const said = await page.evaluate(async (body) => {
    const headers = { "content-type": "application/json" };
    return (await fetch("/api/act", { method: "POST", headers, body })).text();
  }, JSON.stringify(values));
  if (said.includes(`"problem"`)) throw new Error(said);
}
