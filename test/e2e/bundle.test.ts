/**
 * The bundle is the program in one file: copied into an empty folder, with no node_modules anywhere above
 * it, it does all that the program does. This is what images are made of.
 */
import { execFileSync, spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));

const DEPLOYMENT = {
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: { name: "web" },
  spec: {
    replicas: 3,
    selector: { matchLabels: { app: "web" } },
    template: {
      metadata: { labels: { app: "web" } },
      spec: { containers: [{ name: "c", image: "i", resources: { requests: { cpu: "1" } } }] },
    },
  },
};

describe("the bundle", () => {
  let folder: string;

  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), "karpenter-bundle-"));
    for (let at = folder; at !== dirname(at); at = dirname(at))
      expect(existsSync(join(at, "node_modules"))).toBe(false);
    const tsx = join(ROOT, "node_modules/tsx/dist/cli.mjs");
    execFileSync(process.execPath, [tsx, "scripts/bundle.ts", "--out", folder], { cwd: ROOT });
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  const run = (...args: readonly string[]): string =>
    execFileSync(process.execPath, ["karpenter.mjs", ...args], {
      cwd: folder,
      encoding: "utf8",
      env: { PATH: process.env["PATH"] },
    });

  it("knows its version, and whose work is in it", () => {
    const { version } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"));
    expect(run("--version").trim()).toBe(version);
    const licences = readFileSync(join(folder, "THIRD-PARTY-LICENSES.txt"), "utf8");
    expect(licences).toContain("undici");
    expect(licences).toContain("@aws-sdk/client-ec2");
  });

  it("plans from the catalogue that lies beside it", () => {
    writeFileSync(join(folder, "web.json"), JSON.stringify(DEPLOYMENT));
    expect(run("plan", "-f", "examples/v1/nodepool.yaml", "-f", "web.json")).toMatch(/default/);
  });

  it("plays a story, with the API server's data and our kinds beside it", () => {
    const story = "examples/kwok-story.yaml";
    expect(run("sandbox", "--provider", "kwok", "--scenario", story)).toContain("story kept");
  });

  it("starts a controller for AWS, with the SDK inside", async () => {
    const cluster = { server: "https://127.0.0.1:1" };
    const kubeconfig = {
      "current-context": "x",
      contexts: [{ name: "x", context: { cluster: "x", user: "x" } }],
      clusters: [{ name: "x", cluster }],
      users: [{ name: "x", user: { token: "t" } }],
    };
    writeFileSync(join(folder, "kubeconfig"), JSON.stringify(kubeconfig));
    const ports = ["--metrics-port", "0", "--health-probe-port", "0", "--disable-webhook", "true"];
    const args = ["karpenter.mjs", "controller", "--log-level", "debug", ...ports];
    const child = spawn(process.execPath, args, {
      cwd: folder,
      env: { KUBECONFIG: "kubeconfig", AWS_REGION: "us-west-2", CLUSTER_NAME: "x" },
      stdio: ["ignore", "pipe", "ignore"],
    });
    let log = "";
    const loaded = () => log.includes('"kind":"EC2NodeClass"');
    child.stdout.on("data", (text: Buffer) => {
      log += text.toString();
      // Nobody is at that address, but everything that asks there has been loaded.
      if (loaded()) child.kill("SIGKILL");
    });
    const late = setTimeout(() => child.kill("SIGKILL"), 50_000);
    await new Promise((resolve) => child.once("close", resolve));
    clearTimeout(late);
    expect(loaded(), log).toBe(true);
  });
});
