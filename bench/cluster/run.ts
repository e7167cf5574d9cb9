/**
 * One run: a fresh control plane, one operator, one shape of workload, up and down. Seconds are counted
 * here, by watching pods and Nodes from outside; calls come from the API server's audit log.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { DEPLOYMENT } from "../../src/apis/apps/kinds.ts";
import { NODE, type Node } from "../../src/apis/core/node.ts";
import { POD, type Pod } from "../../src/apis/core/pod.ts";
import { type KubeObject, keyOf } from "../../src/apis/meta.ts";
import { Random } from "../../src/base/random.ts";
import { SystemClock } from "../../src/base/system-clock.ts";
import type { KubeClient } from "../../src/kube/client.ts";
import { createKubeClient } from "../../src/kube/kube-client.ts";
import { LiveMirrors } from "../../src/kube/mirrors.ts";
import type { Transport } from "../../src/kube/transport.ts";
import { createLogger } from "../../src/operator/logger.ts";
import { kwokInstanceTypes } from "../../src/providers/kwok/instance-types.ts";
import { discoverResources } from "../../src/sandbox/scenario/resources.ts";
import { installCustomKinds } from "../../test/conformance/apiserver/custom-kinds.ts";
import { startControlPlane } from "../../test/cluster/control-plane.ts";
import { upstreamCrds } from "../../test/cluster/live-cluster.ts";
import { type Contestant, type Running, start } from "./contestant.ts";
import type { Shape } from "./shapes.ts";

export interface Phase {
  /** Seconds until half, 99 % and all pods were Ready; down: all are the time of the last change. */
  readonly p50: number;
  readonly p99: number;
  readonly last: number;
  readonly nodes: number;
  readonly dollarsPerHour: number;
  readonly cpuSeconds: number;
  readonly calls: Readonly<Record<string, number>>;
}

export interface Result {
  readonly up: Phase;
  readonly down: Phase;
  readonly peakRssMib: number;
}

const UP_LIMIT_MS = 900_000;
const DOWN_LIMIT_MS = 2_400_000;
const ACCOUNT = { namespace: "kube-system", name: "karpenter" } as const;
const USER = `system:serviceaccount:${ACCOUNT.namespace}:${ACCOUNT.name}`;

export interface RunOptions {
  readonly contestant: Contestant;
  readonly shape: Shape;
  /** Down is over when nothing has changed for so long. */
  readonly settleMs: number;
  /** Keeps logs and audit there. */
  readonly keepLogsIn?: string | undefined;
}

export async function runOnce(options: RunOptions): Promise<Result> {
  const directory = mkdtempSync(join(options.keepLogsIn ?? tmpdir(), "bench-cluster-"));
  const policy = join(directory, "audit-policy.json");
  const audit = join(directory, "audit.log");
  writeFileSync(policy, JSON.stringify(AUDIT_POLICY));
  const plane = await startControlPlane({
    directory,
    tell: (line) => process.stderr.write(`${line}\n`),
    extraArguments: {
      "kube-apiserver": [
        `--audit-policy-file=${policy}`,
        `--audit-log-path=${audit}`,
        "--audit-log-maxsize=4000",
      ],
    },
  });
  let operator: Running | undefined;
  const client = createKubeClient(plane.transport);
  try {
    await installCustomKinds(plane.transport, new SystemClock(), upstreamCrds());
    const kubeconfig = join(directory, "contestant.kubeconfig");
    await writeAccount(plane.transport, plane.kubeconfig, kubeconfig);
    operator = await start(options.contestant, kubeconfig, join(directory, "operator.log"));
    return await measure(options, client, operator, audit);
  } finally {
    await operator?.stop();
    await plane.stop();
    if (options.keepLogsIn === undefined) rmSync(directory, { recursive: true });
  }
}

async function measure(
  { shape, settleMs }: RunOptions,
  client: KubeClient,
  operator: Running,
  audit: string,
): Promise<Result> {
  const view = watchCluster(client);
  try {
    await view.synced();
    const nodeClass = {
      apiVersion: "karpenter.kwok.sh/v1alpha1",
      kind: "KWOKNodeClass",
      metadata: { name: "default" },
    } as KubeObject;
    await applyAll(client, [nodeClass, shape.pool, ...shape.deployments.map(({ object }) => object)]);
    await until("the NodePool is ready", 60_000, () => isPoolReady(client));
    // Whatever the operator has to do once, on seeing the pool.
    await sleep(2_000);

    const wanted = shape.deployments.reduce((sum, { up }) => sum + up, 0);
    const up = begin(operator, audit);
    view.begin();
    await Promise.all(shape.deployments.map(({ name, up }) => scale(client, name, up)));
    await until(`${wanted} pods are Ready`, UP_LIMIT_MS, () => view.readyPods() === wanted, () =>
      `${view.readyPods()} are, on ${view.nodes().length} nodes`,
    );
    const times = view.readySeconds();
    const [p50, p99, last] = [quantile(times, 0.5), quantile(times, 0.99), quantile(times, 1)];
    const upPhase: Phase = { p50, p99, last, ...cost(view.nodes()), ...up() };

    const down = begin(operator, audit);
    view.begin();
    await Promise.all(shape.deployments.map(({ name, down }) => scale(client, name, down)));
    const over = () => (shape.toNothing ? view.nodes().length === 0 : view.quietMs() >= settleMs);
    await until("nothing changes any more", DOWN_LIMIT_MS, over, () => `${view.nodes().length} nodes`);
    const lastChange = view.lastChangeSeconds();
    const downPhase: Phase = {
      p50: lastChange,
      p99: lastChange,
      last: lastChange,
      ...cost(view.nodes()),
      ...down(),
    };
    return { up: upPhase, down: downPhase, peakRssMib: operator.peakRssMib() };
  } finally {
    view.close();
  }
}

/** Who wants the difference of both counters later calls what this returns. */
function begin(operator: Running, audit: string): () => Pick<Phase, "cpuSeconds" | "calls"> {
  const cpuBefore = operator.cpuSeconds();
  const callsBefore = callsOf(audit);
  return () => {
    const after = callsOf(audit);
    const calls: Record<string, number> = {};
    for (const [verb, count] of Object.entries(after)) {
      const more = count - (callsBefore[verb] ?? 0);
      if (more > 0) calls[verb] = more;
    }
    return { cpuSeconds: operator.cpuSeconds() - cpuBefore, calls };
  };
}

const AUDIT_POLICY = {
  apiVersion: "audit.k8s.io/v1",
  kind: "Policy",
  // A watch that still runs has begun; other calls are counted when they are answered.
  omitStages: ["RequestReceived"],
  omitManagedFields: true,
  rules: [{ level: "Metadata", users: [USER] }],
};

function callsOf(file: string): Record<string, number> {
  const calls: Record<string, number> = {};
  const seen = new Set<string>();
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch {
    return calls;
  }
  for (const line of text.split("\n")) {
    if (line === "") continue;
    const { auditID, verb } = JSON.parse(line) as { auditID: string; verb: string };
    if (seen.has(auditID)) continue;
    seen.add(auditID);
    calls[verb] = (calls[verb] ?? 0) + 1;
  }
  return calls;
}

interface View {
  synced(): Promise<void>;
  /** Seconds count from now. */
  begin(): void;
  readyPods(): number;
  /** Of the pods that are Ready, when each became so, ascending. */
  readySeconds(): number[];
  nodes(): readonly Node[];
  /** Since a Node came, went, or was on its way out. */
  quietMs(): number;
  lastChangeSeconds(): number;
  close(): void;
}

function watchCluster(client: KubeClient): View {
  const clock = new SystemClock();
  const log = createLogger({
    clock,
    level: "error",
    encoding: "console",
    commit: "",
    write: (line) => process.stderr.write(`${line}\n`),
  });
  const mirrors = new LiveMirrors({ client, clock, random: new Random(1), log });
  // Only pods that run: one event for most of them, so that looking on costs little.
  const pods = mirrors.of(POD, { fieldSelector: "status.phase=Running", project: smallPod });
  const nodes = mirrors.of(NODE, { labelSelector: "karpenter.sh/nodepool" });
  const readyAtMs = new Map<string, number>();
  let beganMs = performance.now();
  let changedMs = beganMs;
  pods.on((event, pod) => {
    const key = keyOf(pod);
    if (event === "removed" || !isReady(pod)) readyAtMs.delete(key);
    else if (!readyAtMs.has(key)) readyAtMs.set(key, performance.now());
  });
  nodes.on((event) => {
    if (event !== "updated") changedMs = performance.now();
  });
  return {
    synced: () => mirrors.synced(),
    begin: () => {
      beganMs = performance.now();
      changedMs = beganMs;
    },
    readyPods: () => readyAtMs.size,
    readySeconds: () =>
      [...readyAtMs.values()].map((ms) => (ms - beganMs) / 1_000).sort((a, b) => a - b),
    nodes: () => nodes.list(),
    quietMs: () => {
      if (nodes.list().some(isLeaving)) changedMs = performance.now();
      return performance.now() - changedMs;
    },
    lastChangeSeconds: () => (changedMs - beganMs) / 1_000,
    close: () => mirrors.close(),
  };
}

function smallPod(pod: Pod): Pod {
  const { name, namespace, uid, resourceVersion, deletionTimestamp } = pod.metadata;
  const metadata = { name, namespace, uid, resourceVersion, deletionTimestamp };
  return { metadata, status: { conditions: pod.status?.conditions } } as Pod;
}

function isReady(pod: Pod): boolean {
  return (
    pod.metadata.deletionTimestamp === undefined &&
    pod.status?.conditions?.some(({ type, status }) => type === "Ready" && status === "True") === true
  );
}

function isLeaving(node: Node): boolean {
  return (
    node.metadata.deletionTimestamp !== undefined ||
    node.spec?.taints?.some(({ key }) => key === "karpenter.sh/disrupted") === true
  );
}

function cost(nodes: readonly Node[]): Pick<Phase, "nodes" | "dollarsPerHour"> {
  let microUsd = 0;
  for (const { metadata } of nodes) {
    const labels = metadata.labels ?? {};
    const type = kwokInstanceTypes().find(
      ({ name }) => name === labels["node.kubernetes.io/instance-type"],
    );
    const offering = type?.offerings.find(
      ({ zone, capacityType }) =>
        zone === labels["topology.kubernetes.io/zone"] &&
        capacityType === labels["karpenter.sh/capacity-type"],
    );
    if (offering === undefined) throw new Error(`node ${metadata.name} is of no known type`);
    microUsd += offering.priceMicroUsd;
  }
  return { nodes: nodes.length, dollarsPerHour: microUsd / 1e6 };
}

async function applyAll(client: KubeClient, objects: readonly KubeObject[]): Promise<void> {
  const resources = discoverResources(client);
  for (const body of objects) {
    const kind = await resources.kind(body.apiVersion ?? "", body.kind ?? "");
    const ref = { name: body.metadata.name, namespace: body.metadata.namespace };
    await client.patch(kind, ref, { type: "apply", body, fieldManager: "bench", force: true });
  }
}

async function isPoolReady(client: KubeClient): Promise<boolean> {
  const kind = await discoverResources(client).kind("karpenter.sh/v1", "NodePool");
  const pool = (await client.get(kind, { name: "default" })) as {
    status?: { conditions?: readonly { type: string; status: string }[] };
  };
  return (
    pool.status?.conditions?.some(({ type, status }) => type === "Ready" && status === "True") === true
  );
}

async function scale(client: KubeClient, name: string, replicas: number): Promise<void> {
  const ref = { name, namespace: "default" };
  await client.patch(DEPLOYMENT, ref, { type: "merge", body: { spec: { replicas } } }, "scale");
}

/** A kubeconfig of a service account that may do everything: the audit log tells its calls apart. */
async function writeAccount(transport: Transport, admin: string, file: string): Promise<void> {
  const accounts = `/api/v1/namespaces/${ACCOUNT.namespace}/serviceaccounts`;
  await post(transport, accounts, { metadata: { name: ACCOUNT.name } });
  await post(transport, "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", {
    metadata: { name: "karpenter-bench" },
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "cluster-admin" },
    subjects: [{ kind: "ServiceAccount", ...ACCOUNT }],
  });
  const request = { spec: { expirationSeconds: 86_400 } };
  const answer = await post(transport, `${accounts}/${ACCOUNT.name}/token`, request);
  const { token } = (answer as { status: { token: string } }).status;
  const config = JSON.parse(readFileSync(admin, "utf8")) as { users: { user: object }[] };
  if (config.users[0] !== undefined) config.users[0].user = { token };
  writeFileSync(file, JSON.stringify(config), { mode: 0o600 });
}

async function post(transport: Transport, path: string, body: object): Promise<unknown> {
  const answer = await transport.send({ method: "POST", path, body });
  if (answer.status >= 300) throw new Error(`${path}: ${JSON.stringify(answer.body)}`);
  return answer.body;
}

async function until(
  what: string,
  limitMs: number,
  holds: () => boolean | Promise<boolean>,
  state: () => string = () => "",
): Promise<void> {
  const deadlineMs = performance.now() + limitMs;
  while (!(await holds())) {
    if (performance.now() > deadlineMs)
      throw new Error(`waited ${limitMs / 1_000} s until ${what}: ${state()}`);
    await sleep(50);
  }
}

function quantile(sorted: readonly number[], share: number): number {
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? 0;
}
