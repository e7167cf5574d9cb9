/**
 * The commands of guide pages, typed as they are printed, by bash, helm, kubectl and the compiled `karpenter` on a real
 * control plane. kwok plays the kubelets, so pods run at once and no controller is behind them: what one does is in
 * the other tests. A page's command that fails, or that leaves something behind, fails here.
 */
import { execFile } from "node:child_process";
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { KubeObject } from "../../src/apis/meta.ts";
import { helmBinary } from "./binaries.ts";
import { type LiveCluster, openLiveCluster, upstreamCharts } from "./live-cluster.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const KINDS =
  "crd,clusterrole,clusterrolebinding,mutatingwebhookconfiguration,validatingwebhookconfiguration";
const ALL_OF_IT = `kubectl get ${KINDS},namespace -o name | grep -iE 'karpenter|capacitybuffer' || true`;

const LEASE = {
  apiVersion: "coordination.k8s.io/v1",
  kind: "Lease",
  metadata: { name: "karpenter-leader-election", namespace: "karpenter" },
};

/** The text of a page from a heading to the next, each command on one line. */
function section(page: string, heading: string): string {
  const text = readFileSync(join(ROOT, "docs", page), "utf8");
  const [, found] = text.split(new RegExp(`^## ${heading}$`, "m"));
  if (found === undefined) throw new Error(`docs/${page} has no section ${heading}`);
  return (found.split(/^## /m)[0] ?? "").replaceAll(/\\\n\s*/g, " ");
}

/** The blocks of shell commands in a text. */
function blocksIn(text: string): readonly string[] {
  return [...text.matchAll(/^```sh\n([\s\S]*?)^```/gm)].map(([, code = ""]) => code);
}

/** Commands that stand inside sentences. */
function inSentences(text: string): readonly string[] {
  return [...text.matchAll(/`((?:kubectl|helm) [^`]+)`/g)].map(([, code = ""]) => code);
}

describe("commands of the guide pages, as printed", () => {
  let cluster: LiveCluster;
  let folder: string;
  let path: string;

  /** Types the text into a shell; resolves to what it prints. `codes`: the exit codes that are right. */
  const type = (text: string, codes: readonly number[] = [0]): Promise<string> =>
    new Promise((resolve, reject) => {
      const home = join(cluster.directory, "helm");
      const env = {
        ...process.env,
        PATH: path,
        KUBECONFIG: cluster.kubeconfig,
        HELM_CONFIG_HOME: home,
        HELM_CACHE_HOME: home,
        HELM_DATA_HOME: home,
      };
      const bash = ["-euo", "pipefail", "-c", text];
      execFile("bash", bash, { cwd: folder, env, timeout: 150_000 }, (error, out, err) => {
        const code = error === null ? 0 : Number(error.code ?? -1);
        if (codes.includes(code)) resolve(out);
        else reject(new Error(`exit code ${code} of\n${text}\n${out}${err}`));
      });
    });

  beforeAll(async () => {
    cluster = await openLiveCluster(undefined, { bare: true });
    folder = join(cluster.directory, "reader");
    const bin = join(cluster.directory, "bin");
    for (const one of [folder, bin]) mkdirSync(one);
    // What "Get the files" of the install page makes.
    for (const one of ["deploy", "examples"]) symlinkSync(join(ROOT, one), join(folder, one));
    symlinkSync(join(ROOT, "bin/karpenter.js"), join(bin, "karpenter"));
    symlinkSync(await helmBinary((line) => process.stderr.write(`${line}\n`)), join(bin, "helm"));
    // The control plane has a kwok already.
    writeFileSync(join(bin, "kwok"), "#!/bin/sh\n", { mode: 0o755 });
    path = `${bin}${delimiter}${process.env["PATH"]}`;
    for (const name of ["system-a", "system-b"]) await cluster.apply(systemNode(name));
  });
  afterAll(() => cluster?.close());

  it("install with simulated nodes, and leave nothing when they uninstall", async () => {
    const install = "guide/install.md";
    const [crds, handOver] = blocksIn(section(install, "The CRDs"));
    await type(crds as string);
    await type(handOver as string);
    const [simulated] = blocksIn(section(install, "On any cluster, with simulated nodes"));
    expect(simulated).toContain("kwok --kubeconfig");
    await type(simulated as string);
    const [level] = blocksIn(section(install, "Log level"));
    expect(await type(level as string)).toContain("config-logging patched");

    const [doctor] = blocksIn(section("guide/uninstall.md", "What to send .*"));
    const [ask, bundle] = (doctor as string).trim().split("\n");
    // Nobody leads, as no controller runs.
    const said = await type(ask as string, [2]);
    expect(said).toContain("All 118 rights of the controller are there");
    expect(said).toContain("No Karpenter has ever led in this cluster");
    expect(await type(bundle as string)).toMatch(/^wrote \d+ files/);

    await type("helm get values karpenter -n karpenter -o yaml > values.yaml");
    const [inSync] = blocksIn(
      readFileSync(join(ROOT, "docs/tasks/gitops.md"), "utf8").replaceAll(/\\\n\s*/g, " "),
    );
    expect(inSync).toContain("kubectl diff");
    expect(await type(inSync as string)).toBe("");

    // A controller that runs makes it.
    await type(`kubectl create -f - <<<'${JSON.stringify(LEASE)}'`);
    const steps = inSentences(section("guide/uninstall.md", "In order"));
    expect(steps.length).toBe(7);
    for (const step of steps) await type(step);
    await cluster.until("nothing of it is left", async () => (await type(ALL_OF_IT)) === "");
  });

  it("move from upstream's chart, and back", async () => {
    const theirs = upstreamCharts();
    await type(`helm install karpenter-crd ${theirs}/karpenter-crd -n kube-system`);
    await type(
      `helm install karpenter ${theirs}/karpenter -n kube-system --skip-crds --set settings.clusterName=prod`,
    );
    const [look] = blocksIn(section("guide/migrate.md", "Step 1: look"));
    const checked = await type(look as string);
    expect(checked).toContain("The chart accepts them");
    expect(checked).toContain("Nothing is to be done.");

    const watch = section("guide/migrate.md", "Step 2: watch");
    const [observe] = blocksIn(watch);
    expect(await type(observe as string)).toContain("observes from namespace kube-system");
    const [end] = inSentences(watch).filter((one) => one.startsWith("helm uninstall"));
    await type(end as string);

    const [inPlace, beside] = blocksIn(section("guide/migrate.md", "Step 3: hand over"));
    // `karpenter migrate handover` waits for controllers: migrate.test.ts runs it with them.
    const [second, handOver] = (beside as string).trim().split("\n");
    expect(handOver).toMatch(/^karpenter migrate handover /);
    expect(await type(second as string)).toContain("without a replica");
    await type("helm uninstall karpenter-ts -n kube-system");
    await type(inPlace as string);
    const image = `kubectl get deployment karpenter -n kube-system -o jsonpath='{..image}'`;
    expect(await type(image)).toMatch(/^registry\.example\/karpenter:/);
    await type("helm rollback karpenter -n kube-system");
    expect(await type(image)).toMatch(/^public\.ecr\.aws\//);
  });
});

/** A node that is not Karpenter's, with room for its pods. */
function systemNode(name: string): KubeObject {
  const amounts = { cpu: "8", memory: "16Gi", pods: "110" };
  return {
    apiVersion: "v1",
    kind: "Node",
    metadata: {
      name,
      labels: {
        "kwok.x-k8s.io/node": "fake",
        "kubernetes.io/os": "linux",
        "kubernetes.io/hostname": name,
        "topology.kubernetes.io/zone": name,
      },
      annotations: { "kwok.x-k8s.io/node": "fake" },
    },
    status: { capacity: amounts, allocatable: amounts },
  } as unknown as KubeObject;
}
