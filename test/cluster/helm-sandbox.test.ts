/**
 * helm, as a client that other people wrote: it installs, upgrades, rolls back and uninstalls the chart in the
 * sandbox as on a real control plane, and waits until the pods run.
 */
import { afterAll, beforeAll, expect, it } from "vitest";
import { type LiveSandbox, startLiveSandbox } from "../e2e/live-sandbox.ts";
import { helmBinary } from "./binaries.ts";
import { type Helm, helmOf, IMAGE } from "./helm-release.ts";

const RELEASE = ["upgrade", "--install", "second", "{chart}", "--namespace", "second", ...IMAGE];
/** The sandbox already runs a Karpenter with its kinds and webhooks. */
const VALUES = { provider: "kwok", webhook: { enabled: false } };
const WAIT = ["--skip-crds", "--wait", "--timeout", "60s"];

let sandbox: LiveSandbox;
let helm: Helm;

beforeAll(async () => {
  sandbox = await startLiveSandbox();
  const kubeconfig = String(sandbox.env["KUBECONFIG"]);
  const path = await helmBinary((line) => process.stderr.write(`${line}\n`));
  helm = helmOf(path, { directory: sandbox.folder, kubeconfig });
});
afterAll(() => sandbox?.close());

it("helm installs, upgrades, rolls back and uninstalls a release in the sandbox", async () => {
  expect(await helm.ok([...RELEASE, "--create-namespace", ...WAIT], VALUES)).toContain(
    "STATUS: deployed",
  );
  const upgraded = { ...VALUES, replicas: 1, logLevel: "debug", additionalLabels: { team: "a" } };
  await helm.ok([...RELEASE, ...WAIT], upgraded);
  await helm.ok(["rollback", "second", "1", "--namespace", "second", "--wait"]);
  const history = JSON.parse(await helm.ok(["history", "second", "-n", "second", "-o", "json"]));
  expect(history.map(({ description }: { description: string }) => description)).toEqual([
    "Install complete",
    "Upgrade complete",
    "Rollback to 1",
  ]);
  expect(await helm.ok(["status", "second", "-n", "second", "--show-resources"])).toContain("2/2");
  await helm.ok(["uninstall", "second", "--namespace", "second", "--wait"]);
  const left = await helm.ok(["list", "--all-namespaces", "--all", "--short"]);
  expect(left.trim()).toBe("");
});
