/**
 * Checks the page What if, used as a person uses it: every kind of change, and the command line for the same
 * question.
 */
import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import type { Page } from "playwright-core";
import type { LiveSandbox } from "./live-sandbox.ts";

const MAIN = fileURLToPath(new URL("../../dist/cli/main.js", import.meta.url));

/** Checks that an invalid NodePool is refused with field, value and remedy before a simulation starts. */
export async function refusesFaults(page: Page): Promise<void> {
  await page.keyboard.press("7");
  await page.getByRole("combobox", { name: "NodePool" }).selectOption({ index: 1 });
  const editor = page.getByRole("textbox", { name: "NodePool as YAML" });
  const text = await editor.inputValue();
  await editor.fill(text.replace(/consolidateAfter: .*/, "consolidateAfter: soon"));
  await page.locator(".problems", { hasText: "consolidateAfter" }).waitFor();
  const told = (await page.textContent(".problems")) ?? "";
  for (const part of ["spec.disruption.consolidateAfter", "soon", "Never"])
    if (!told.includes(part)) throw new Error(`the problem lacks "${part}": ${told}`);
  await page.getByRole("button", { name: "Reset" }).click();
  await page.locator(".problems").waitFor({ state: "detached" });
}

/** Asks about every kind of change in one question. */
export async function supposes(page: Page): Promise<void> {
  await page.keyboard.press("7");
  await page.getByRole("combobox", { name: "Node", exact: true }).selectOption({ index: 1 });
  await page.getByRole("button", { name: "Add node" }).click();
  await page.getByRole("combobox", { name: "Deployment" }).selectOption({ index: 1 });
  await page.getByRole("spinbutton", { name: "Replicas" }).fill("25");
  await page.getByRole("button", { name: "Add replicas" }).click();
  await page.getByRole("combobox", { name: "Instance type" }).fill("c5.large");
  await page.getByRole("textbox", { name: "Dollars an hour" }).fill("0.001");
  await page.getByRole("button", { name: "Add price" }).click();
  await page.getByRole("combobox", { name: "NodePool" }).selectOption({ index: 1 });
  const editor = page.getByRole("textbox", { name: "NodePool as YAML" });
  await editor.fill((await editor.inputValue()).replace("spec:", "spec:\n  weight: 7"));
  await page.getByText(/lines? changed/).waitFor();
  await page.getByRole("button", { name: "Simulate" }).click();
  await page.getByRole("grid", { name: "Nodes that change" }).waitFor({ timeout: 60_000 });
}

/** Runs the command line that the page shows in a shell. Its answer must be that of the page. */
export async function sameInATerminal(page: Page, { kubeconfig }: LiveSandbox): Promise<void> {
  const line = await page.locator(".copied pre").innerText();
  const says = (await page.locator("main h2").first().innerText()).trim();
  const script = `karpenter() { "${process.execPath}" "${MAIN}" "$@" -o json; }\n${line}`;
  const env = { ...process.env, KUBECONFIG: kubeconfig };
  const told = execFileSync("sh", ["-c", script], { env, encoding: "utf8", stdio: "pipe" });
  const answer = JSON.parse(told) as { says: string };
  if (answer.says !== says) throw new Error(`the page: ${says}\nthe terminal: ${answer.says}`);
}
