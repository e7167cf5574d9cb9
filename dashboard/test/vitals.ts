/** Checks the page Health: charts and a table of the controller's metrics. */
import type { Page } from "playwright-core";

export async function showsVitals(page: Page): Promise<void> {
  await page.keyboard.press("6");
  const table = page.getByRole("table", { name: "The same in numbers" });
  await table.waitFor({ timeout: 60_000 });
  for (const [name, wanted] of [
    ["Memory, resident", /\d+ MiB/],
    ["API calls, all", /\d\/s/],
    ["Queued, items", /\d/],
  ] as const) {
    const row = table.getByRole("row", { name });
    if (!wanted.test((await row.textContent()) ?? "")) throw new Error(`no value of ${name}`);
  }
  const charts = await page.locator(".vital canvas").count();
  if (charts !== 8) throw new Error(`${charts} charts, wanted 8`);
}
