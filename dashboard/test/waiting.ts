/**
 * Checks the page Waiting: a Deployment asks for a zone that does not exist. The patch that the page shows is
 * copied and run by kubectl, and then the pod gets a node.
 */
import { execFileSync } from "node:child_process";
import type { Page } from "playwright-core";
import { withClient } from "./kube.ts";
import type { LiveSandbox } from "./live-sandbox.ts";

const LABELS = { app: "astray" };
const ASTRAY = {
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: { name: "astray", namespace: "default" },
  spec: {
    replicas: 1,
    selector: { matchLabels: LABELS },
    template: {
      metadata: { labels: LABELS },
      spec: {
        nodeSelector: { "topology.kubernetes.io/zone": "mars-1a" },
        containers: [{ name: "main", image: "x", resources: { requests: { cpu: "1" } } }],
      },
    },
  },
};
const PLACED_MS = 60_000;

export async function patchPlaces(page: Page, { kubeconfig }: LiveSandbox): Promise<void> {
  await withClient(kubeconfig, (client) =>
    client.raw({
      method: "POST",
      path: "/apis/apps/v1/namespaces/default/deployments",
      body: ASTRAY,
    }),
  );
  await page.keyboard.press("4");
  await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  await page.getByRole("button", { name: "Copy as patch" }).click({ timeout: PLACED_MS });
  await page.getByText("copied").waitFor();
  const line = await page.evaluate(() => navigator.clipboard.readText());
  await page.screenshot({
    path: new URL("../../dist/browser/waiting.png", import.meta.url).pathname,
  });
  await carryOut(line, kubeconfig);
  // The patched pod may still wait for its node, but that is not a cause on this page.
  await page.getByText("All pods have a node.").waitFor({ timeout: PLACED_MS });
}

async function carryOut(line: string, kubeconfig: string): Promise<void> {
  const hasKubectl = spawnable("kubectl");
  if (hasKubectl) {
    execFileSync("sh", ["-c", line], { env: { ...process.env, KUBECONFIG: kubeconfig } });
    return;
  }
  const script = `kubectl() { printf '%s\\0' "$@"; }; ${line}`;
  const words = execFileSync("sh", ["-c", script], { encoding: "utf8" }).split("\0");
  await withClient(kubeconfig, (client) =>
    client.raw({
      method: "PATCH",
      path: "/apis/apps/v1/namespaces/default/deployments/astray",
      headers: { "content-type": "application/json-patch+json" },
      body: JSON.parse(words[words.indexOf("-p") + 1] ?? ""),
    }),
  );
}

function spawnable(program: string): boolean {
  try {
    execFileSync("sh", ["-c", `command -v ${program}`], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}
