/**
 * A real control plane with our own `karpenter controller --provider kwok` in it, for tests: apply what a user
 * applies, wait on real time, read through the API. Karpenter runs as users run it, as a process of its own with
 * KUBECONFIG. It ends with the test, even if the test is killed.
 */
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { closeSync, existsSync, mkdtempSync, openSync, readFileSync, rmSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { parseAllDocuments } from "yaml";
import type { KubeObject } from "../../src/apis/meta.ts";
import { SystemClock } from "../../src/base/system-clock.ts";
import type { KubeClient } from "../../src/kube/client/client.ts";
import { createKubeClient } from "../../src/kube/client/kube-client.ts";
import { discoverResources } from "../../src/sandbox/scenario/resources.ts";
import { installCustomKinds } from "../conformance/apiserver/custom-kinds.ts";
import { ACCOUNT, NAMESPACE, openAccount } from "./account.ts";
import { auditArguments, expectNoRefusals } from "./audit.ts";
import { startControlPlane } from "./control-plane.ts";
import { goEnv } from "./go-env.ts";
import { END_WITH_STDIN } from "./tied.ts";

const UPSTREAM_VERSION = "v1.14.1";
const MAIN = fileURLToPath(new URL("../../dist/cli/main.js", import.meta.url));

/** What a test does to the cluster, as a user does with kubectl. */
interface Verbs {
  /** Server-side applies objects or YAML text. */
  apply(what: string | KubeObject): Promise<void>;
  list<T extends KubeObject = KubeObject>(
    kind: string,
    apiVersion?: string,
    labelSelector?: string,
  ): Promise<readonly T[]>;
  merge(kind: string, name: string, body: object, apiVersion?: string): Promise<void>;
  remove(kind: string, name: string, apiVersion?: string): Promise<void>;
}

export interface LiveCluster extends Verbs {
  readonly client: KubeClient;
  readonly kubeconfig: string;
  /** Files of all programs; `logs/karpenter.log` is Karpenter's log. */
  readonly directory: string;
  /** Lines of Karpenter's log so far. */
  log(): readonly string[];
  /** Kills Karpenter with `kill -9` and starts it again with the same arguments. */
  restart(): Promise<void>;
  /** Waits on real time; fails with `what` and the end of Karpenter's log. */
  until(what: string, holds: () => Promise<boolean>, limitMs?: number): Promise<void>;
  /**
   * Rejects if kube-apiserver refused a request of Karpenter. Refusals before the server had read the roles do not
   * count.
   */
  close(): Promise<void>;
}

/** Folders of upstream's own CRDs, unchanged, from its Go module. */
export function upstreamCrds(): readonly string[] {
  const folder = moduleFolder("sigs.k8s.io/karpenter");
  return [join(folder, "pkg", "apis", "crds"), join(folder, "kwok", "apis", "crds")];
}

/** The folder of upstream's own charts for AWS, unchanged, from its Go module. */
export function upstreamCharts(): string {
  return join(moduleFolder("github.com/aws/karpenter-provider-aws"), "charts");
}

function moduleFolder(module: string): string {
  const args = ["mod", "download", "-json", `${module}@${UPSTREAM_VERSION}`];
  return (
    JSON.parse(execFileSync("go", args, { env: goEnv(), encoding: "utf8" })) as { Dir: string }
  ).Dir;
}

export interface LiveOptions {
  /** CRDs keep their conversion webhook, and Karpenter serves webhooks at a URL on loopback. */
  readonly webhooks?: boolean;
  /** An empty cluster: no CRDs and no Karpenter. */
  readonly bare?: boolean;
  /** Flags of the controller, added to those of every test. */
  readonly flags?: readonly string[];
  /** The test removes rights, so refused requests do not fail it. */
  readonly isRefused?: boolean;
  /**
   * Arguments of kube-apiserver; `directory` is the cluster's folder. By default kube-apiserver keeps an audit
   * log.
   */
  readonly apiServerArguments?: (directory: string) => readonly string[];
}

/** Starts a control plane and Karpenter. `crds`: folders of the CRDs to install; by default this project's. */
export async function openLiveCluster(
  crds?: readonly string[],
  {
    webhooks = false,
    bare = false,
    flags = [],
    isRefused = false,
    apiServerArguments = audited,
  }: LiveOptions = {},
): Promise<LiveCluster> {
  const directory = mkdtempSync(join(tmpdir(), "karpenter-cluster-"));
  const plane = await startControlPlane({
    directory,
    tell: (line) => process.stderr.write(`${line}\n`),
    extraArguments: { "kube-apiserver": apiServerArguments(directory) },
  });
  const client = createKubeClient(plane.transport);
  const logFile = join(directory, "logs", "karpenter.log");
  let karpenter: ChildProcess | undefined;
  let start = (): ChildProcess | undefined => undefined;

  const cluster: LiveCluster = {
    client,
    kubeconfig: plane.kubeconfig,
    directory,
    log: () => (existsSync(logFile) ? readFileSync(logFile, "utf8").split("\n").slice(0, -1) : []),
    ...verbsOf(client),
    restart: async () => {
      await end(karpenter, "SIGKILL");
      karpenter = start();
    },
    until: async (what, holds, limitMs = 60_000) => {
      const deadlineMs = performance.now() + limitMs;
      while (!(await holds())) {
        if (performance.now() > deadlineMs)
          throw new Error(`never happened: ${what}\n${cluster.log().slice(-30).join("\n")}`);
        await sleep(100);
      }
    },
    close: async () => {
      await end(karpenter);
      await plane.stop();
      try {
        // A bare cluster has no Karpenter that sends requests.
        if (!bare && !isRefused) expectNoRefusals(directory, ACCOUNT, plane.apiServerStartsMs);
      } finally {
        rmSync(directory, { recursive: true });
      }
    },
  };
  if (bare) return cluster;
  try {
    await installCustomKinds(plane.transport, new SystemClock(), crds, webhooks);
    const more = [...flags, ...(webhooks ? await webhookFlags() : [])];
    const account = await openAccount(client, plane.kubeconfig);
    start = () => startKarpenter(account, logFile, more);
    karpenter = start();
  } catch (error) {
    await cluster.close();
    throw error;
  }
  return cluster;
}

function verbsOf(client: KubeClient): Verbs {
  const resources = discoverResources(client);
  const refOf = async (kind: string, name: string, apiVersion: string) => {
    const found = await resources.kind(apiVersion, kind);
    return { found, ref: { name, namespace: found.namespaced ? "default" : undefined } };
  };
  return {
    apply: async (what) => {
      const objects =
        typeof what === "string"
          ? parseAllDocuments(what).map((document) => document.toJS() as KubeObject)
          : [what];
      for (const body of objects) {
        const { name } = body.metadata;
        const { found, ref } = await refOf(body.kind ?? "", name, body.apiVersion ?? "");
        await client.patch(found, ref, { type: "apply", body, fieldManager: "test", force: true });
      }
    },
    list: async (kind, apiVersion = "v1", labelSelector) => {
      const selector = labelSelector === undefined ? {} : { labelSelector };
      const found = await client.list(await resources.kind(apiVersion, kind), selector);
      return found.items as never;
    },
    merge: async (kind, name, body, apiVersion = "v1") => {
      const { found, ref } = await refOf(kind, name, apiVersion);
      await client.patch(found, ref, { type: "merge", body });
    },
    remove: async (kind, name, apiVersion = "v1") => {
      const { found, ref } = await refOf(kind, name, apiVersion);
      await client.delete(found, ref, { propagationPolicy: "Background" });
    },
  };
}

const audited = (directory: string): readonly string[] => auditArguments(directory, NAMESPACE);

async function webhookFlags(): Promise<readonly string[]> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return ["--webhook-port", String(port), "--webhook-url", `https://127.0.0.1:${port}`];
}

function startKarpenter(
  kubeconfig: string,
  logFile: string,
  more: readonly string[],
): ChildProcess {
  const log = openSync(logFile, "a");
  const quiet = [
    "--metrics-port",
    "0",
    "--health-probe-port",
    "0",
    "--log-level",
    "debug",
    "--surge-namespaces",
    "*",
  ];
  const flags = [...quiet, ...more];
  const child = spawn(
    process.execPath,
    ["--import", END_WITH_STDIN, MAIN, "controller", "--provider", "kwok", ...flags],
    {
      stdio: ["pipe", log, log],
      env: { ...process.env, KUBECONFIG: kubeconfig, SYSTEM_NAMESPACE: NAMESPACE },
    },
  );
  closeSync(log);
  return child;
}

async function end(
  child: ChildProcess | undefined,
  by: "SIGTERM" | "SIGKILL" = "SIGTERM",
): Promise<void> {
  if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
  const ended = new Promise((resolve) => child.once("exit", resolve));
  child.kill(by);
  const late = setTimeout(() => child.kill("SIGKILL"), 10_000);
  await ended;
  clearTimeout(late);
}
