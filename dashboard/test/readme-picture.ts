/**
 * `npm run picture`: takes the picture in README.md. A live sandbox gets the example NodePool and the workloads
 * below. When all their pods run, the map is photographed. The words on the page are written to
 * `docs/dashboard.txt`. `test/readme.test.ts` fails if the page no longer uses one of them, because the picture is
 * then outdated.
 */
import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { chromium, type Page } from "playwright-core";
import { findChromium } from "./chromium.ts";
import { startSandbox } from "./live-sandbox.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const SPEED = 20;
const READY_MS = 120_000;
const SIZE = { width: 1_280, height: 720 };

/** Name, replicas, cpu and memory of one pod. */
const WORKLOADS = [
  ["web", 24, "900m", "1500Mi"],
  ["api", 16, "1800m", "3Gi"],
  ["cache", 6, "1", "14Gi"],
  ["batch", 30, "3500m", "5Gi"],
  ["search", 5, "7", "26Gi"],
  ["queue", 12, "400m", "900Mi"],
] as const;

const executablePath = findChromium();
if (executablePath === undefined) throw new Error("no Chromium: apt-get install chromium");
const sandbox = await startSandbox(SPEED);
const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
try {
  apply(sandbox.kubeconfig);
  const context = await browser.newContext({ viewport: SIZE, reducedMotion: "reduce" });
  const page = await context.newPage();
  await page.goto(sandbox.url);
  await takePicture(page);
} finally {
  await browser.close();
  await sandbox.stop();
}

function apply(kubeconfig: string): void {
  const kubectl = (file: string, input?: string) =>
    execFileSync("kubectl", ["--kubeconfig", kubeconfig, "apply", "-f", file], {
      input,
      stdio: ["pipe", "ignore", "inherit"],
    });
  kubectl(`${ROOT}examples/v1/nodepool.yaml`);
  for (const workload of WORKLOADS) kubectl("-", deployment(workload));
}

function deployment([name, replicas, cpu, memory]: (typeof WORKLOADS)[number]): string {
  return JSON.stringify({
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name, namespace: "default" },
    spec: {
      replicas,
      selector: { matchLabels: { app: name } },
      template: {
        metadata: { labels: { app: name } },
        spec: {
          containers: [{ name, image: "example", resources: { requests: { cpu, memory } } }],
        },
      },
    },
  });
}

async function takePicture(page: Page): Promise<void> {
  const strip = page.locator(".strip", { hasText: /[4-9] nodes|\d\d nodes/ });
  await strip.filter({ hasText: "0 waiting" }).waitFor({ timeout: READY_MS });
  await page.waitForTimeout(5_000);
  await page.screenshot({ path: `${ROOT}docs/dashboard.png` });
  const texts = await page.locator("nav a, label, button").allInnerTexts();
  const words = texts.map((text) => (text.split("\n")[0] ?? "").trim());
  // Names of objects and times are not the page's own words.
  const own = words.filter(
    (word) => word !== "" && !/^(Node|NodeClaim|NodePool|Pod) |^[\d:]+$/.test(word),
  );
  writeFileSync(`${ROOT}docs/dashboard.txt`, `${[...new Set(own)].sort().join("\n")}\n`);
}
