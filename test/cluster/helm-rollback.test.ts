/**
 * `helm upgrade` from upstream's release to karpenter-ts, and `helm rollback`, with the controllers running, while
 * claims are launching and one node is draining. The change itself replaces no node and evicts no pod. Budgets of the
 * NodePools allow all nodes, so drift that the change caused would disrupt them.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parse } from "yaml";
import type { Pod } from "../../src/apis/core/pod.ts";
import { isTrue } from "../../src/apis/karpenter/conditions.ts";
import type { NodeClaim } from "../../src/apis/karpenter/nodeclaim.ts";
import type { KubeObject } from "../../src/apis/meta.ts";
import type { Lease } from "../../src/apis/policy/kinds.ts";
import { coreFolder, upstreamOperator } from "../upstream/builds.ts";
import { helmBinary } from "./binaries.ts";
import { playDeployment, type StandIn } from "./deployment-stand-in.ts";
import { type Helm, helmOf, IMAGE } from "./helm-release.ts";
import { NODE_CLASS, nodePool, pauseDeployment } from "./kwok-objects.ts";
import { type LiveCluster, openLiveCluster, upstreamCharts } from "./live-cluster.ts";

const MAIN = fileURLToPath(new URL("../../dist/cli/main.js", import.meta.url));
const NAMESPACE = "default";
const PLACE = ["--namespace", NAMESPACE];
/** Two disruption rounds, and the first garbage collection after a start. */
const QUIET_MS = 25_000;
const OURS = "registry.example/karpenter";
const VALUES = { settings: { clusterName: "my-cluster" }, replicas: 2 };
const IN_PLACE = [
  ...["upgrade", "karpenter", "{chart}", ...PLACE, "--skip-crds", "--reset-then-reuse-values"],
  ...[...IMAGE, "--set", "provider=kwok,settings.preset=upstream-compatible,webhook.enabled=false"],
];
/** Processes of one machine share its ports, and no kubelet sets the variables that refer to the pod. */
const INSTEAD = {
  SYSTEM_NAMESPACE: NAMESPACE,
  LEADER_ELECTION_NAMESPACE: NAMESPACE,
  METRICS_PORT: "0",
  HEALTH_PROBE_PORT: "0",
  CPU_REQUESTS: "1000",
  MEMORY_LIMIT: "4000000000",
};

const ALONE = {
  podAntiAffinity: {
    requiredDuringSchedulingIgnoredDuringExecution: [
      { labelSelector: { matchLabels: { alone: "true" } }, topologyKey: "kubernetes.io/hostname" },
    ],
  },
};
const pool = (name: string) => nodePool(name, { disruption: { consolidateAfter: "Never" } });
const workload = (name: string, replicas: number) =>
  pauseDeployment(name, {
    replicas,
    labels: { alone: "true" },
    spec: { affinity: ALONE, nodeSelector: { "karpenter.sh/nodepool": name } },
  });

describe("a Helm release whose controllers run", () => {
  let cluster: LiveCluster;
  let helm: Helm;
  let operators: StandIn | undefined;
  const logFile = () => join(cluster.directory, "logs", "karpenter.log");

  const claims = () => cluster.list<NodeClaim>("NodeClaim", "karpenter.sh/v1");
  const pods = async () =>
    (await cluster.list<Pod>("Pod", "v1", "alone=true")).filter(
      ({ metadata }) => metadata.deletionTimestamp === undefined,
    );
  const allRun = async (count: number) => {
    const all = await pods();
    return all.length === count && all.every(({ status }) => status?.phase === "Running");
  };
  /** The image of the pod that holds the Lease. */
  const leader = async () => {
    const [lease] = (await cluster.list<Lease>("Lease", "coordination.k8s.io/v1")).filter(
      ({ metadata }) => metadata.name === "karpenter-leader-election",
    );
    const [name] = (lease?.spec.holderIdentity ?? "").split("_");
    const all = await cluster.list<Pod>("Pod", "v1", "app.kubernetes.io/name=karpenter");
    const found = all.find(({ metadata }) => metadata.name === name);
    const isGoing = found?.metadata.deletionTimestamp !== undefined;
    return isGoing ? undefined : (found?.spec.containers[0] as { image?: string })?.image;
  };
  const ledByUs = (isOurs: boolean) =>
    cluster.until(
      isOurs ? "ours leads" : "upstream's leads",
      async () => (await leader())?.startsWith(OURS) === isOurs,
      120_000,
    );
  /** Claims, nodes and bound pods with their UIDs, and each pod's node: all of this must stay. */
  const snapshot = async () => {
    const nodes = await cluster.list("Node", "v1", "karpenter.sh/nodepool");
    const named = (all: readonly KubeObject[]) =>
      all.map(({ kind, metadata }) => `${kind} ${metadata.name} ${metadata.uid}`);
    const bound = (await pods()).filter(({ spec }) => spec.nodeName !== undefined);
    return [
      ...named(await claims()),
      ...named(nodes),
      ...bound.map(({ metadata, spec }) => `${metadata.name} ${metadata.uid} on ${spec.nodeName}`),
    ].sort();
  };
  const kept = async (before: readonly string[]) => {
    const now = new Set(await snapshot());
    // At least six claims, four nodes and four running pods. Nodes of the launching claims may be added to that.
    expect(before.length).toBeGreaterThanOrEqual(14);
    expect(before.filter((one) => !now.has(one))).toEqual([]);
  };
  const upgrade = async () => {
    const set = ["--set", "webhook.enabled=false"];
    await helm.ok(["upgrade", "karpenter-crd", "{crds}", ...PLACE, ...set]);
    await helm.ok(IN_PLACE);
  };

  beforeAll(async () => {
    const say = (line: string) => process.stderr.write(`${line}\n`);
    const upstream = await upstreamOperator(say);
    cluster = await openLiveCluster(undefined, { bare: true });
    helm = helmOf(await helmBinary(say), cluster);
    const theirs = (chart: string) => join(upstreamCharts(), chart);
    await cluster.apply(kwokDefinition());
    for (const zone of ["a", "b"]) await cluster.apply(systemNode(`system-${zone}`, zone));
    await helm.ok(["install", "karpenter-crd", theirs("karpenter-crd"), ...PLACE]);
    await helm.ok(["install", "karpenter", theirs("karpenter"), ...PLACE, "--skip-crds"], VALUES);
    operators = playDeployment({
      client: cluster.client,
      namespace: NAMESPACE,
      labelSelector: "app.kubernetes.io/name=karpenter",
      command: (image) =>
        image.startsWith(OURS)
          ? [process.execPath, MAIN, "controller", "--provider", "kwok"]
          : [upstream],
      env: { KUBECONFIG: cluster.kubeconfig },
      instead: INSTEAD,
      logFile: logFile(),
    });
    await cluster.apply(NODE_CLASS);
    for (const name of ["stays", "leaves", "comes"]) await cluster.apply(pool(name));
    await cluster.apply(workload("stays", 3));
    await cluster.apply(workload("leaves", 1));
    await cluster.apply(workload("comes", 0));
    await ledByUs(false);
    await cluster.until("upstream has made four nodes", () => allRun(4), 120_000);
    await cluster.until("they are initialized", async () =>
      (await claims()).every((one) => isTrue(one, "Initialized")),
    );
    await cluster.apply({
      apiVersion: "policy/v1",
      kind: "PodDisruptionBudget",
      metadata: { name: "leaves", namespace: "default" },
      spec: { maxUnavailable: 0, selector: { matchLabels: { app: "leaves" } } },
    } as KubeObject);
    const [leaving] = await cluster.list(
      "NodeClaim",
      "karpenter.sh/v1",
      "karpenter.sh/nodepool=leaves",
    );
    await cluster.remove("NodeClaim", leaving?.metadata.name ?? "", "karpenter.sh/v1");
  });
  afterAll(async () => {
    await operators?.stop();
    await cluster?.close();
  });

  it("is upgraded in the middle of their work: no node is replaced and no pod evicted", async () => {
    await cluster.apply(workload("comes", 2));
    await cluster.until("claims for them are made", async () => (await claims()).length === 6);
    const before = await snapshot();
    await upgrade();
    await ledByUs(true);
    await cluster.until("what was launching has come up", () => allRun(6));
    await sleep(QUIET_MS);
    await kept(before);
    expect((await claims()).length).toBe(6);
  });

  it("is rolled back in the middle of their work, and again no node is replaced and no pod evicted", async () => {
    await cluster.apply(workload("comes", 4));
    await cluster.until("claims for them are made", async () => (await claims()).length === 8);
    const before = await snapshot();
    await helm.ok(["rollback", "karpenter", "1", ...PLACE]);
    await ledByUs(false);
    await cluster.until("what was launching has come up", () => allRun(8));
    await sleep(QUIET_MS);
    await kept(before);
    expect((await claims()).length).toBe(8);
  });

  it("is rolled back while the upgrade still rolls out, and again no node is replaced and no pod evicted", async () => {
    const before = await snapshot();
    await upgrade();
    await helm.ok(["rollback", "karpenter", "3", ...PLACE]);
    await ledByUs(false);
    await sleep(QUIET_MS);
    await kept(before);
    expect((await claims()).length).toBe(8);
  });

  it("removes the draining node once its pod may be evicted", async () => {
    await cluster.remove("PodDisruptionBudget", "leaves", "policy/v1");
    await cluster.until(
      "its pod has moved to a new node",
      async () => {
        const own = await cluster.list("Node", "v1", "karpenter.sh/nodepool=leaves");
        const isGone = own.every(({ metadata }) => metadata.deletionTimestamp === undefined);
        return own.length === 1 && isGone && (await allRun(8));
      },
      120_000,
    );
    // The claim of the drained node goes a moment after its Node.
    await cluster.until("its claim is gone", async () => !(await claims()).some(isLeaving));
    expect((await claims()).length).toBe(8);
  });
});

const isLeaving = ({ metadata }: KubeObject) => metadata.deletionTimestamp !== undefined;

/**
 * The definition of KWOKNodeClass, which upstream's chart lacks. It is labelled as part of upstream's release, so
 * that our release may take it over.
 */
function kwokDefinition(): KubeObject {
  const file = join(coreFolder(), "kwok/apis/crds/karpenter.kwok.sh_kwoknodeclasses.yaml");
  const definition = parse(readFileSync(file, "utf8")) as KubeObject;
  return {
    ...definition,
    metadata: {
      ...definition.metadata,
      labels: { "app.kubernetes.io/managed-by": "Helm" },
      annotations: {
        "meta.helm.sh/release-name": "karpenter-crd",
        "meta.helm.sh/release-namespace": NAMESPACE,
      },
    },
  } as KubeObject;
}

function systemNode(name: string, zone: string): KubeObject {
  const resources = { cpu: "8", memory: "32Gi", pods: "110" };
  const labels = { "kwok.x-k8s.io/node": "fake", "topology.kubernetes.io/zone": zone };
  return {
    apiVersion: "v1",
    kind: "Node",
    metadata: {
      name,
      labels: { ...labels, "kubernetes.io/hostname": name, "kubernetes.io/os": "linux" },
      annotations: { "kwok.x-k8s.io/node": "fake" },
    },
    spec: { taints: [{ key: "CriticalAddonsOnly", effect: "NoSchedule" }] },
    status: { capacity: resources, allocatable: resources },
  } as KubeObject;
}
