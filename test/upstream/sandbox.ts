/**
 * This project's sandbox without its own Karpenter, behind HTTPS, as a cluster for upstream's suites: the kinds of
 * the given CRDs, and no node that the suites' pods may use.
 */
import { readdirSync, readFileSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { join } from "node:path";
import { parse } from "yaml";
import { NODE } from "../../src/apis/core/node.ts";
import { POD } from "../../src/apis/core/pod.ts";
import {
  ARCH_LABEL_KEY,
  HOSTNAME_LABEL_KEY,
  OS_LABEL_KEY,
} from "../../src/apis/karpenter/labels.ts";
import type { KubeObject } from "../../src/apis/meta.ts";
import { Random } from "../../src/base/random.ts";
import { SystemClock } from "../../src/base/system-clock.ts";
import { writeKubeconfig } from "../../src/cli/sandbox/kubeconfig-file.ts";
import { profilesIn } from "../../src/cli/sandbox/scheduler-file.ts";
import type { KubeClient } from "../../src/kube/client/client.ts";
import type { KubeResponse } from "../../src/kube/transport/transport.ts";
import { createLogger } from "../../src/operator/logging/logger.ts";
import { webhookCaller } from "../../src/sandbox/apiserver/admission/webhook-http.ts";
import { startHttps } from "../../src/sandbox/apiserver/https/https-server.ts";
import { createSandbox } from "../../src/sandbox/cluster.ts";
import type { PodRequest } from "../../src/sandbox/pod-http.ts";
import { schedulerPod } from "./scheduler-profile.ts";

const SEED = 1;
/** The labels that a node of upstream's kind cluster has as well. */
const KEPT_LABELS: ReadonlySet<string> = new Set([
  ARCH_LABEL_KEY,
  HOSTNAME_LABEL_KEY,
  OS_LABEL_KEY,
]);

/**
 * Starts the sandbox and writes a kubeconfig into the folder. `schedulerConfig`: the file of kube-scheduler's
 * configuration. `withDevices`: serves DRAConfigs and runs their drivers.
 */
export async function openSandbox({
  directory,
  crds,
  schedulerConfig,
  withDevices,
}: {
  readonly directory: string;
  readonly crds: readonly string[];
  readonly schedulerConfig: string;
  readonly withDevices: boolean;
}): Promise<{ client: KubeClient; kubeconfig: string; close: () => Promise<void> }> {
  const clock = new SystemClock();
  const log = createLogger({
    clock,
    level: "error",
    encoding: "console",
    commit: "",
    write: (line) => process.stderr.write(`${line}\n`),
  });
  const sandbox = createSandbox({
    clock,
    random: new Random(SEED),
    log,
    trace: () => undefined,
    clusterName: "upstream",
    region: "us-west-2",
    kubernetesVersion: "1.34",
    schedulerProfiles: profilesIn(schedulerConfig, readFileSync(schedulerConfig, "utf8")),
    withDevices,
    manifests: crds.flatMap((folder) =>
      readdirSync(folder)
        .sort()
        .map((file) => definition(readFileSync(join(folder, file), "utf8"))),
    ),
    webhooks: webhookCaller(() => Promise.reject(new Error("nobody serves webhooks here"))),
    karpenterLog: { lines: () => undefined, follow: () => () => undefined },
  });
  sandbox.apiServer.setPodHttp(ofThisMachine);
  sandbox.apiServer.setPodConnect((_pod, port) => connected(port));
  await sandbox.start();
  const { client } = sandbox;
  await makeControlPlaneNodes(client);
  const [first] = (await client.list(NODE)).items;
  if (first !== undefined) await client.create(POD, schedulerPod(first.metadata.name));
  const https = await startHttps(sandbox.apiServer, {
    port: 0,
    directory: join(directory, "pki"),
    clock,
    log,
  });
  const kubeconfig = join(directory, "kubeconfig");
  writeKubeconfig(kubeconfig, https);
  return {
    client,
    kubeconfig,
    close: async () => {
      await https.close();
      await sandbox.stop();
    },
  };
}

/**
 * Makes the sandbox's own nodes like those of upstream's kind cluster: tainted, and in no zone. kube-scheduler counts
 * the zone of a tainted node for a spread. No pod of the suites can use such a zone, so its count stays 0. Then a
 * spread that counts other pods would soon allow no zone at all. The deprecated zone labels mean a zone, too, so only
 * the labels of `KEPT_LABELS` stay.
 */
export async function makeControlPlaneNodes(client: KubeClient): Promise<void> {
  const taints = [{ key: "CriticalAddonsOnly", effect: "NoSchedule" }];
  const { items } = await client.list(NODE);
  for (const { metadata } of items) {
    const others = Object.keys(metadata.labels ?? {}).filter((key) => !KEPT_LABELS.has(key));
    const labels = Object.fromEntries(others.map((key) => [key, null]));
    const body = { metadata: { labels }, spec: { taints } };
    await client.patch(NODE, metadata, { type: "merge", body });
  }
}

/** Sends a request for a pod to this machine, where the operator's process and its ports are. */
async function ofThisMachine({ port, path }: PodRequest): Promise<KubeResponse | undefined> {
  try {
    const answer = await fetch(`http://127.0.0.1:${port}${path}`, { redirect: "manual" });
    const headers = { "content-type": answer.headers.get("content-type") ?? "text/plain" };
    return { status: answer.status, headers, body: await answer.text() };
  } catch {
    // The process has ended, or does not serve yet.
    return undefined;
  }
}

function connected(port: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, "127.0.0.1", () => resolve(socket));
    socket.once("error", reject);
  });
}

/** A definition without conversion, which needs a webhook that this sandbox lacks. */
function definition(text: string): KubeObject {
  const one = parse(text) as KubeObject & { spec: object };
  return { ...one, spec: { ...one.spec, conversion: { strategy: "None" } } } as KubeObject;
}
