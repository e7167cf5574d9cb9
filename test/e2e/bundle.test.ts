/**
 * The bundle is the program without its packages. In an empty folder, with no node_modules above it, it does all
 * that the program does. Images are made of the bundle.
 */
import { execFileSync, spawn, spawnSync } from "node:child_process";
import {
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { makeCodeCache } from "../../scripts/bundle/code-cache.ts";
import { buildPrograms, type Programs } from "../../scripts/bundle/programs.ts";

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

describe("the bundled program", () => {
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

  it("prints its version and the licences of its packages", () => {
    const { version } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"));
    expect(run("--version").trim()).toBe(version);
    const licences = readFileSync(join(folder, "THIRD-PARTY-LICENSES.txt"), "utf8");
    expect(licences).toContain("undici");
    expect(licences).toContain("@aws-sdk/client-ec2");
  });

  it("has a kubectl plug-in and its completer, which run through links as krew creates them", () => {
    for (const [name, given, answer] of [
      ["kubectl-karpenter", "--help", /^Usage: kubectl karpenter /],
      ["kubectl_complete-karpenter", "expl", /^explain\t.*\n:4\n$/],
    ] as const) {
      const link = join(folder, name);
      symlinkSync(join(folder, `${name}.mjs`), link);
      expect(execFileSync(link, [given], { encoding: "utf8" })).toMatch(answer);
    }
  });

  it("has the AWS SDK and OpenTelemetry in files of their own, loaded only when needed", () => {
    const parts = readdirSync(folder);
    expect(
      parts.filter((one) => /^(programs|aws-sdk|selfsigned|opentelemetry)-\w+\.cjs$/.test(one)),
    ).toHaveLength(4);
    const programs = parts.find((one) => one.startsWith("programs-")) ?? "";
    // In the output, esbuild names each package by its path.
    expect(readFileSync(join(folder, programs), "utf8")).not.toMatch(
      /node_modules\/@(aws-sdk|smithy|opentelemetry\/(?!api\/))/,
    );
  });

  it("plans with the bundled catalogue of instance types", () => {
    writeFileSync(join(folder, "web.json"), JSON.stringify(DEPLOYMENT));
    expect(run("plan", "-f", "examples/v1/nodepool.yaml", "-f", "web.json")).toMatch(/default/);
  });

  it("plays a story, with the API server's data and Karpenter's kinds from the bundle", () => {
    const story = "examples/kwok-story.yaml";
    expect(run("sandbox", "--provider", "kwok", "--scenario", story)).toContain("story kept");
  });

  it("serves a sandbox over HTTPS, with a certificate that it creates", async () => {
    const args = ["sandbox", "--provider", "kwok", "--port", "0", "--kubeconfig", "box/kubeconfig"];
    const child = spawn(process.execPath, ["karpenter.mjs", ...args], {
      cwd: folder,
      env: { PATH: process.env["PATH"] },
      stdio: ["ignore", "pipe", "pipe"],
    });
    const ended = new Promise<void>((resolve) => child.once("close", () => resolve()));
    try {
      let said = "";
      const served = new Promise<void>((resolve) => {
        for (const stream of [child.stdout, child.stderr])
          stream.on("data", (text: Buffer) => {
            said += text.toString();
            if (/https:\/\/127\.0\.0\.1:\d+/.test(said)) resolve();
          });
      });
      await Promise.race([served, ended]);
      expect(said).toMatch(/https:\/\/127\.0\.0\.1:\d+/);
      expect(readFileSync(join(folder, "box/kubeconfig"), "utf8")).toContain(
        "certificate-authority-data",
      );
    } finally {
      child.kill("SIGKILL");
      await ended;
    }
  });

  it("starts a controller for AWS, with the bundled SDK", async () => {
    // A server that answers every request with 404. The promise resolves when the controller asks for EC2NodeClasses.
    let asked: () => void = () => undefined;
    const wanted = new Promise<void>((resolve) => {
      asked = resolve;
    });
    const server = createServer(({ url }, response) => {
      response.writeHead(404, { "content-type": "application/json" }).end("{}");
      if (url?.includes("/ec2nodeclasses")) asked();
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as AddressInfo;
    const kubeconfig = {
      "current-context": "x",
      contexts: [{ name: "x", context: { cluster: "x", user: "x" } }],
      clusters: [{ name: "x", cluster: { server: `http://127.0.0.1:${port}` } }],
      users: [{ name: "x", user: { token: "t" } }],
    };
    writeFileSync(join(folder, "kubeconfig"), JSON.stringify(kubeconfig));
    const ports = ["--metrics-port", "0", "--health-probe-port", "0", "--disable-webhook", "true"];
    const child = spawn(process.execPath, ["karpenter.mjs", "controller", ...ports], {
      cwd: folder,
      env: { KUBECONFIG: "kubeconfig", AWS_REGION: "us-west-2", CLUSTER_NAME: "x" },
      stdio: "ignore",
    });
    const ended = new Promise<void>((resolve) => child.once("close", () => resolve()));
    try {
      await Promise.race([
        wanted,
        ended.then(() => {
          throw new Error(`the controller ended with ${child.exitCode}`);
        }),
      ]);
    } finally {
      child.kill("SIGKILL");
      await ended;
      server.closeAllConnections();
      server.close();
    }
  });
});

describe("a bundle's code cache", () => {
  let folder: string;
  let built: Programs;
  /** The tests' own Node, with a flag that changes how code is compiled. */
  const node = [process.execPath, "--stack-size=900"];
  const run = (...flags: readonly string[]) =>
    spawnSync(process.execPath, [...flags, join(folder, "small.mjs")], {
      encoding: "utf8",
      env: { NODE_DEBUG: "karpenter" },
    });

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "karpenter-cache-"));
    const source = `export const greet = (who) => 'hello ' + who;
      console.log(greet(process.argv[2]), /^µs$/.test('µs'));`;
    writeFileSync(join(folder, "small.ts"), source);
    built = await buildPrograms({ small: relative(ROOT, join(folder, "small.ts")) }, folder);
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  it("is refused by a Node.js with other flags", async () => {
    await makeCodeCache(built, folder, { node, commandLines: [["small", "you"]] });
    const [same, other] = [run("--stack-size=900"), run()];
    expect([same.stdout, other.stdout]).toEqual([
      "hello undefined true\n",
      "hello undefined true\n",
    ]);
    expect(same.stderr).toContain("taken");
    expect(other.stderr).toContain("refused");
  });

  it("is not made from a run that fails", async () => {
    const commandLines = [["nothing of that name"]];
    await expect(makeCodeCache(built, folder, { node, commandLines })).rejects.toThrow(
      "warming up",
    );
  });
});
