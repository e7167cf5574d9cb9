/**
 * A migration from upstream's operator to karpenter-ts, and back, while claims are launching, one node is draining and
 * drift is pending. The change itself replaces no node, launches nothing twice and evicts no pod. Upstream's operators,
 * of the two newest minor versions, are built from its Go module; their CRDs stay.
 */
import { execFile, spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { DEPLOYMENT } from "../../src/apis/apps/kinds.ts";
import { EVENT } from "../../src/apis/core/kinds.ts";
import { NODE } from "../../src/apis/core/node.ts";
import { POD } from "../../src/apis/core/pod.ts";
import { isTrue } from "../../src/apis/karpenter/conditions.ts";
import { NODE_CLAIM, type NodeClaim } from "../../src/apis/karpenter/nodeclaim.ts";
import type { KubeObject } from "../../src/apis/meta.ts";
import { POD_DISRUPTION_BUDGET } from "../../src/apis/policy/kinds.ts";
import { SystemClock } from "../../src/base/system-clock.ts";
import type { KubeClient } from "../../src/kube/client/client.ts";
import { createKubeClient } from "../../src/kube/client/kube-client.ts";
import { discoverResources } from "../../src/sandbox/scenario/resources.ts";
import { installCustomKinds } from "../conformance/apiserver/custom-kinds.ts";
import { coreFolder, operatorVersions, upstreamOperator } from "../upstream/builds.ts";
import { ACCOUNT, NAMESPACE as ACCOUNT_NAMESPACE, openAccount } from "./account.ts";
import { auditArguments, auditedRequests } from "./audit.ts";
import { type ControlPlane, startControlPlane } from "./control-plane.ts";
import { playDeployment, type StandIn } from "./deployment-stand-in.ts";
import { NODE_CLASS, nodePool, pauseDeployment } from "./kwok-objects.ts";
import { END_WITH_STDIN } from "./tied.ts";

const MAIN = fileURLToPath(new URL("../../dist/cli/main.js", import.meta.url));
const NAMESPACE = "kube-system";
/** Long enough for two disruption rounds, and for the first garbage collection after a start. */
const QUIET_MS = 25_000;

const ENVIRONMENT: Readonly<Record<string, string>> = {
  SYSTEM_NAMESPACE: NAMESPACE,
  LEADER_ELECTION_NAMESPACE: NAMESPACE,
  KUBERNETES_MIN_VERSION: "1.19.0-0",
  KARPENTER_SERVICE: "karpenter",
  METRICS_PORT: "0",
  HEALTH_PROBE_PORT: "0",
  DISABLE_WEBHOOK: "true",
  CPU_REQUESTS: "1000",
  MEMORY_LIMIT: "4000000000",
};

const LONE = {
  podAntiAffinity: {
    requiredDuringSchedulingIgnoredDuringExecution: [
      { labelSelector: { matchLabels: { lone: "true" } }, topologyKey: "kubernetes.io/hostname" },
    ],
  },
};

/** A pool whose nodes are only removed when the test asks for it. */
const pool = (name: string) =>
  nodePool(name, { disruption: { consolidateAfter: "Never", budgets: [{ nodes: "0" }] } });

const workload = (name: string, replicas: number) =>
  pauseDeployment(name, {
    replicas,
    labels: { lone: "true" },
    spec: { affinity: LONE, nodeSelector: { "karpenter.sh/nodepool": name } },
  });

/** Names of objects by UID, and the node of each pod. */
interface Snapshot {
  readonly claims: ReadonlyMap<string, string>;
  readonly nodes: ReadonlyMap<string, string>;
  readonly pods: ReadonlyMap<string, string>;
}

describe.each(operatorVersions())("a handover from upstream %s", (version) => {
  const directory = mkdtempSync(join(tmpdir(), "karpenter-migrate-"));
  let plane: ControlPlane;
  let client: KubeClient;
  const standIns: StandIn[] = [];

  const apply = async (body: KubeObject) => {
    const kind = await discoverResources(client).kind(body.apiVersion ?? "", body.kind ?? "");
    const { name } = body.metadata;
    const namespace = kind.namespaced ? (body.metadata.namespace ?? "default") : undefined;
    await client.patch(
      kind,
      { name, namespace },
      { type: "apply", body, fieldManager: "test", force: true },
    );
  };
  const until = async (what: string, holds: () => Promise<boolean>, limitMs = 120_000) => {
    const deadlineMs = performance.now() + limitMs;
    while (!(await holds())) {
      if (performance.now() > deadlineMs)
        throw new Error(`never happened: ${what}\n${logOf("karpenter")}\n${logOf("karpenter-ts")}`);
      await sleep(200);
    }
  };
  const logOf = (name: string) => {
    try {
      return readFileSync(join(directory, `${name}.log`), "utf8")
        .split("\n")
        .slice(-25)
        .join("\n");
    } catch {
      return "";
    }
  };
  const claims = async () => (await client.list<NodeClaim>(NODE_CLAIM)).items;
  const pods = async () =>
    (await client.list(POD, { namespace: "default" })).items.filter(
      ({ metadata }) => metadata.deletionTimestamp === undefined,
    );
  const allRun = async (count: number) => {
    const all = await pods();
    return all.length === count && all.every(({ status }) => status?.phase === "Running");
  };
  const snapshot = async (): Promise<Snapshot> => {
    const byUid = (all: readonly KubeObject[]) =>
      new Map(all.map(({ metadata }) => [metadata.uid ?? "", metadata.name]));
    const nodes = await client.list(NODE, { labelSelector: "karpenter.sh/nodepool" });
    return {
      claims: byUid(await claims()),
      nodes: byUid(nodes.items),
      pods: new Map(
        (await pods())
          .filter(({ spec }) => spec.nodeName !== undefined)
          .map(({ metadata, spec }) => [metadata.uid ?? "", spec.nodeName ?? ""]),
      ),
    };
  };
  /** Every earlier object still exists, with the same UID. */
  const expectKept = (before: Snapshot, after: Snapshot) => {
    for (const part of ["claims", "nodes", "pods"] as const)
      for (const [uid, name] of before[part])
        expect([part, name, after[part].get(uid)]).toEqual([part, name, name]);
  };
  const karpenter = (args: readonly string[]) =>
    new Promise<{ code: number; out: string }>((resolve) => {
      const env = { ...process.env, KUBECONFIG: plane.kubeconfig };
      execFile(process.execPath, [MAIN, ...args], { env }, (error, out, err) =>
        resolve({ code: error === null ? 0 : Number(error.code ?? -1), out: `${out}${err}` }),
      );
    });
  const holder = async () => {
    const path = `/apis/coordination.k8s.io/v1/namespaces/${NAMESPACE}/leases/karpenter-leader-election`;
    const { body } = await client.raw({ method: "GET", path });
    return (body as { spec: { holderIdentity: string } }).spec.holderIdentity;
  };
  const operator = async (
    name: string,
    replicas: number,
    command: readonly string[],
    more: Readonly<Record<string, string>> = {},
  ) => {
    await apply(operatorDeployment(name, replicas, { ...ENVIRONMENT, ...more }));
    standIns.push(
      playDeployment({
        client,
        namespace: NAMESPACE,
        labelSelector: `app.kubernetes.io/instance=${name}`,
        command,
        env: { KUBECONFIG: plane.kubeconfig },
        logFile: join(directory, `${name}.log`),
      }),
    );
  };

  beforeAll(async () => {
    const say = (line: string) => process.stderr.write(`${line}\n`);
    const upstream = await upstreamOperator(say, version);
    plane = await startControlPlane({
      directory,
      tell: say,
      extraArguments: { "kube-apiserver": auditArguments(directory, ACCOUNT_NAMESPACE) },
    });
    client = createKubeClient(plane.transport);
    const core = coreFolder(version);
    await installCustomKinds(plane.transport, new SystemClock(), [
      join(core, "pkg", "apis", "crds"),
      join(core, "kwok", "apis", "crds"),
    ]);
    await client.create(NODE, systemNode() as never);
    await operator("karpenter", 1, [upstream]);
    const ours = [process.execPath, MAIN, "controller", "--provider", "kwok"];
    await operator("karpenter-ts", 0, ours, { PRESET: "upstream-compatible" });
    await apply(NODE_CLASS);
    for (const name of ["stays", "leaves", "comes"]) await apply(pool(name));
    await apply(workload("stays", 3));
    await apply(workload("leaves", 1));
    await apply(workload("comes", 0));
    await until("upstream has made four nodes", () => allRun(4));
    await until("they are initialized", async () =>
      (await claims()).every((one) => isTrue(one, "Initialized")),
    );
  });
  afterAll(async () => {
    for (const one of standIns) await one.stop();
    await plane?.stop();
    rmSync(directory, { recursive: true, force: true });
  });

  it("begins with an observer, which writes only events according to the audit log", async () => {
    const kubeconfig = await openAccount(client, plane.kubeconfig);
    const scale = (name: string, namespace: string, replicas: number) =>
      client.patch(
        DEPLOYMENT,
        { name, namespace },
        { type: "merge", body: { spec: { replicas } } },
        "scale",
      );
    const quiet = ["--metrics-port", "0", "--health-probe-port", "0"];
    const observer = spawn(
      process.execPath,
      [
        ...["--import", END_WITH_STDIN, MAIN, "controller", "--provider", "kwok"],
        ...["--observe-only", "true", ...quiet],
      ],
      {
        stdio: ["pipe", "ignore", "ignore"],
        env: { ...process.env, KUBECONFIG: kubeconfig, SYSTEM_NAMESPACE: ACCOUNT_NAMESPACE },
      },
    );
    try {
      // Upstream is stopped, so that only the observer can plan.
      await scale("karpenter", NAMESPACE, 0);
      const own = "app.kubernetes.io/instance=karpenter";
      const running = async () =>
        (await client.list(POD, { namespace: NAMESPACE, labelSelector: own })).items.length;
      await until("upstream has ended", async () => (await running()) === 0);
      await scale("comes", "default", 1);
      const told = async () =>
        (await client.list(EVENT, { namespace: "default" })).items.filter(({ message = "" }) =>
          message.startsWith("Observe only: Pod would be scheduled on a new node of comes"),
        );
      await until("the observer plans", async () => (await told()).length > 0);
      expect((await claims()).length).toBe(4);
    } finally {
      await scale("comes", "default", 0);
      await scale("karpenter", NAMESPACE, 1);
      observer.kill();
    }
    const asked = auditedRequests(directory).filter(({ user }) => user === ACCOUNT);
    expect(asked.length).toBeGreaterThan(20);
    const written = asked.filter(({ verb }) => !["get", "list", "watch"].includes(verb));
    expect(new Set(written.map(({ resource }) => resource))).toEqual(new Set(["events"]));
    await until("upstream leads again", async () => /^karpenter-[0-9a-f]+-/.test(await holder()));
    await until("its pods are gone", () => allRun(4));
  });

  it("replaces and evicts nothing, with claims launching, one node draining and drift pending", async () => {
    await client.create(POD_DISRUPTION_BUDGET, {
      metadata: { name: "leaves", namespace: "default" },
      spec: { maxUnavailable: 0, selector: { matchLabels: { app: "leaves" } } },
    } as never);
    const leaving = (await claims()).find(
      ({ metadata }) => metadata.labels?.["karpenter.sh/nodepool"] === "leaves",
    );
    await client.delete(NODE_CLAIM, { name: leaving?.metadata.name ?? "" });
    await apply(marked("stays"));
    const drifted = async () => (await claims()).filter((one) => isTrue(one, "Drifted")).length;
    await until("three claims have drifted", async () => (await drifted()) === 3);
    const check = await karpenter(["migrate", "check"]);
    expect(check.out).toContain("3 nodes drifted before");
    expect(check.out).toContain("1 node being removed; draining continues");
    expect([check.code, check.out]).toEqual([0, expect.any(String)]);

    await apply(workload("comes", 3));
    await until("claims for them are made", async () => (await claims()).length === 7);
    const before = await snapshot();
    const { code, out } = await karpenter([
      ...["migrate", "handover", "--from", `${NAMESPACE}/karpenter`],
      ...["--to", `${NAMESPACE}/karpenter-ts`, "--replicas", "1"],
    ]);
    expect([code, out]).toEqual([
      0,
      expect.stringContaining("scaled kube-system/karpenter from 1 replica to 0"),
    ]);
    expect(await holder()).toMatch(/^karpenter-ts-/);
    await until("what was launching has come up", () => allRun(7));
    await sleep(QUIET_MS);
    const after = await snapshot();
    expectKept(before, after);
    expect([after.claims.size, after.nodes.size, await drifted()]).toEqual([7, 7, 3]);
  });

  it("leaves a cluster in which the doctor finds no fault, and which a support bundle can hold", async () => {
    const place = ["--provider", "kwok", "-n", NAMESPACE];
    const doctor = await karpenter(["doctor", ...place]);
    expect([doctor.code, doctor.out]).toEqual([
      0,
      expect.stringContaining("Nothing is to be done."),
    ]);
    expect(doctor.out).toMatch(/lease +kube-system\/karpenter-leader-election +ready/);
    const out = join(directory, "bundle");
    const bundle = await karpenter(["support-bundle", "-n", NAMESPACE, "--out", out]);
    expect([bundle.code, bundle.out]).toEqual([0, expect.stringContaining(`files to ${out}`)]);
    const stored = JSON.parse(
      readFileSync(join(out, "objects/nodeclaims.karpenter.sh.json"), "utf8"),
    );
    expect(stored.length).toBe(7);
    const again = await karpenter(["support-bundle", "-n", NAMESPACE, "--out", out]);
    expect([again.code, again.out]).toEqual([1, expect.stringContaining("it exists already")]);
  });

  it("continues the work under way: the draining node is removed once its pod may be evicted", async () => {
    await client.delete(POD_DISRUPTION_BUDGET, { name: "leaves", namespace: "default" });
    const own = "karpenter.sh/nodepool=leaves";
    await until("its pod has moved to a new node", async () => {
      const { items } = await client.list(NODE, { labelSelector: own });
      return (
        items.length === 1 &&
        items[0]?.metadata.deletionTimestamp === undefined &&
        (await allRun(7))
      );
    });
    expect((await claims()).length).toBe(7);
  });

  it("replaces and evicts nothing on the way back", async () => {
    await apply(workload("comes", 5));
    await until("claims for them are made", async () => (await claims()).length === 9);
    const before = await snapshot();
    const { code, out } = await karpenter([
      ...["migrate", "handover", "--from", `${NAMESPACE}/karpenter-ts`],
      ...["--to", `${NAMESPACE}/karpenter`, "--replicas", "1"],
    ]);
    expect([code, out]).toEqual([0, expect.stringContaining("its lease is free")]);
    expect(await holder()).toMatch(/^karpenter-[0-9a-f]+-/);
    await until("what was launching has come up", () => allRun(9));
    await sleep(QUIET_MS);
    const after = await snapshot();
    expectKept(before, after);
    expect([after.claims.size, after.nodes.size]).toEqual([9, 9]);
    const drifted = (await claims()).filter((one) => isTrue(one, "Drifted"));
    expect(drifted.length).toBe(3);
  });
});

/** The pool with one more label in its template, so that its nodes drift. Its budget keeps them. */
function marked(name: string): KubeObject {
  const plain = nodePool(name, {
    template: { metadata: { labels: { mark: "new" } } },
    disruption: { consolidateAfter: "Never", budgets: [{ nodes: "0" }] },
  });
  return plain;
}

function operatorDeployment(
  name: string,
  replicas: number,
  environment: Readonly<Record<string, string>>,
): KubeObject {
  const labels = { "app.kubernetes.io/instance": name, "app.kubernetes.io/name": "karpenter" };
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name, namespace: NAMESPACE, labels },
    spec: {
      replicas,
      selector: { matchLabels: labels },
      template: {
        metadata: { labels },
        spec: {
          terminationGracePeriodSeconds: 5,
          nodeSelector: { system: "true" },
          tolerations: [{ key: "CriticalAddonsOnly", operator: "Exists" }],
          containers: [
            {
              name: "controller",
              image: name,
              env: Object.entries(environment).map(([key, value]) => ({ name: key, value })),
            },
          ],
        },
      },
    },
  } as KubeObject;
}

function systemNode(): KubeObject {
  const resources = { cpu: "8", memory: "32Gi", pods: "110" };
  return {
    apiVersion: "v1",
    kind: "Node",
    metadata: {
      name: "system-0",
      labels: { "kwok.x-k8s.io/node": "fake", system: "true" },
      annotations: { "kwok.x-k8s.io/node": "fake" },
    },
    spec: { taints: [{ key: "CriticalAddonsOnly", effect: "NoSchedule" }] },
    status: { capacity: resources, allocatable: resources },
  } as KubeObject;
}
