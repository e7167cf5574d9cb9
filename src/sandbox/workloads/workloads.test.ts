import { describe, expect, it } from "vitest";
import { CRON_JOB, DAEMON_SET, JOB, REPLICA_SET, STATEFUL_SET } from "../../apis/apps/kinds.ts";
import {
  CONFIG_MAP,
  EVENT,
  NAMESPACE,
  PERSISTENT_VOLUME,
  PERSISTENT_VOLUME_CLAIM,
  SERVICE_ACCOUNT,
} from "../../apis/core/kinds.ts";
import { NODE } from "../../apis/core/node.ts";
import { POD } from "../../apis/core/pod.ts";
import { POD_DISRUPTION_BUDGET } from "../../apis/policy/kinds.ts";
import { CLUSTER_ROLE } from "../../apis/rbac/kinds.ts";
import { STORAGE_CLASS } from "../../apis/storage/kinds.ts";
import { type PartsCluster, startParts } from "../testing/parts-cluster.ts";

const LABELS = { app: "x" };
const SELECTOR = { matchLabels: LABELS };

function template(extra: object = {}, annotations: Record<string, string> = {}): object {
  const resources = { requests: { cpu: "100m" } };
  return {
    metadata: { labels: LABELS, annotations },
    spec: { containers: [{ name: "main", image: "pause", resources }], ...extra },
  };
}

function workload(apiVersion: string, kind: string, spec: object): object {
  const metadata = { name: "x", namespace: "default" };
  return { apiVersion, kind, metadata, spec };
}

async function names(cluster: PartsCluster): Promise<readonly string[]> {
  return (await cluster.pods()).map(({ metadata }) => metadata.name);
}

/** A class whose volumes are created in the zone of the first pod that uses them. */
const GP3 = {
  apiVersion: "storage.k8s.io/v1",
  kind: "StorageClass",
  metadata: { name: "gp3" },
  provisioner: "ebs.csi.aws.com",
  volumeBindingMode: "WaitForFirstConsumer",
};

const CLAIM_SPEC = {
  accessModes: ["ReadWriteOnce"],
  storageClassName: "gp3",
  resources: { requests: { storage: "1Gi" } },
};

describe("a StatefulSet", () => {
  it("creates pods in order, each after the previous one is ready, and deletes them in reverse", async () => {
    const cluster = await startParts();
    cluster.node("node-a");
    const spec = { replicas: 3, serviceName: "x", selector: SELECTOR, template: template() };
    await cluster.create(STATEFUL_SET, workload("apps/v1", "StatefulSet", spec));
    await cluster.clock.advance(1_500);
    expect(await names(cluster)).toEqual(["x-0"]);
    await cluster.clock.advance(15_000);
    expect(await names(cluster)).toEqual(["x-0", "x-1", "x-2"]);
    const body = { spec: { replicas: 1 } };
    const ref = { name: "x", namespace: "default" };
    await cluster.kube.patch(STATEFUL_SET, ref, { type: "merge", body });
    await cluster.clock.advance(500);
    const leaving = (await cluster.pods()).filter((pod) => pod.metadata.deletionTimestamp);
    expect(leaving.map(({ metadata }) => metadata.name)).toEqual(["x-2"]);
    await cluster.clock.advance(10_000);
    expect(await names(cluster)).toEqual(["x-0"]);
    const set = await cluster.get(STATEFUL_SET, "x");
    expect(set.status).toMatchObject({ replicas: 1, readyReplicas: 1, availableReplicas: 1 });
    await cluster.stop();
  });

  it("with Parallel creates all pods at once, each with its own claim in its node's zone", async () => {
    const cluster = await startParts();
    cluster.node("node-a");
    await cluster.create(STORAGE_CLASS, GP3);
    const claim = {
      apiVersion: "v1",
      kind: "PersistentVolumeClaim",
      metadata: { name: "data" },
      spec: CLAIM_SPEC,
    };
    const spec = {
      replicas: 2,
      serviceName: "x",
      podManagementPolicy: "Parallel",
      selector: SELECTOR,
      template: template(),
      volumeClaimTemplates: [claim],
    };
    await cluster.create(STATEFUL_SET, workload("apps/v1", "StatefulSet", spec));
    await cluster.clock.advance(10_000);
    const pods = await cluster.pods();
    expect(pods.map(({ status }) => status?.phase)).toEqual(["Running", "Running"]);
    const claims = (await cluster.kube.list(PERSISTENT_VOLUME_CLAIM)).items;
    expect(claims.map(({ metadata, status }) => [metadata.name, status?.phase])).toEqual([
      ["data-x-0", "Bound"],
      ["data-x-1", "Bound"],
    ]);
    const [volume] = (await cluster.kube.list(PERSISTENT_VOLUME)).items;
    const term = volume?.spec.nodeAffinity?.required?.nodeSelectorTerms[0];
    expect(term?.matchExpressions?.[0]?.values).toEqual(["test-1a"]);
    await cluster.stop();
  });
});

describe("a pod with a generic ephemeral volume", () => {
  it("gets a claim of its own, which it owns, with a volume in its node's zone", async () => {
    const cluster = await startParts();
    cluster.node("node-a");
    await cluster.create(STORAGE_CLASS, GP3);
    const volumeClaimTemplate = {
      metadata: { labels: { team: "a" } },
      spec: CLAIM_SPEC,
    };
    const volumes = [{ name: "scratch", ephemeral: { volumeClaimTemplate } }];
    await cluster.create(POD, {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name: "x", namespace: "default" },
      spec: { ...(template() as { spec: object }).spec, volumes },
    });
    await cluster.clock.advance(10_000);
    const [pod] = await cluster.pods();
    expect(pod?.status?.phase).toBe("Running");
    const [claim] = (await cluster.kube.list(PERSISTENT_VOLUME_CLAIM)).items;
    expect(claim).toMatchObject({
      metadata: {
        name: "x-scratch",
        labels: { team: "a" },
        ownerReferences: [{ kind: "Pod", name: "x", uid: pod?.metadata.uid, controller: true }],
      },
      status: { phase: "Bound" },
    });
    await cluster.stop();
  });
});

describe("a DaemonSet", () => {
  it("runs on every node that its template tolerates, including new and cordoned ones", async () => {
    const cluster = await startParts();
    cluster.node("node-a");
    cluster.node("node-b", { taints: [{ key: "team", value: "b", effect: "NoSchedule" }] });
    await cluster.create(
      DAEMON_SET,
      workload("apps/v1", "DaemonSet", { selector: SELECTOR, template: template() }),
    );
    await cluster.clock.advance(5_000);
    cluster.node("node-c");
    await cluster.clock.advance(1_000);
    const cordon = { type: "merge", body: { spec: { unschedulable: true } } } as const;
    await cluster.kube.patch(NODE, { name: "node-c" }, cordon);
    await cluster.clock.advance(5_000);
    const pods = await cluster.pods();
    expect(pods.map(({ spec }) => spec.nodeName).sort()).toEqual(["node-a", "node-c"]);
    const set = await cluster.get(DAEMON_SET, "x");
    expect(set.status).toMatchObject({
      desiredNumberScheduled: 2,
      currentNumberScheduled: 2,
      numberReady: 2,
      numberAvailable: 2,
      numberMisscheduled: 0,
    });
    await cluster.stop();
  });

  it("has no pod that waits for a deleted node", async () => {
    const cluster = await startParts();
    const node = { apiVersion: "v1", kind: "Node", metadata: { name: "n" }, status: {} };
    await cluster.create(NODE, node);
    const spec = { selector: SELECTOR, template: template() };
    await cluster.create(DAEMON_SET, workload("apps/v1", "DaemonSet", spec));
    await cluster.clock.advance(1_000);
    const [waiting] = await cluster.pods();
    expect(waiting?.spec.nodeName).toBeUndefined();
    expect(waiting).toBeDefined();
    await cluster.kube.delete(NODE, { name: "n" });
    await cluster.clock.advance(1_000);
    expect(await names(cluster)).toEqual([]);
    await cluster.stop();
  });
});

describe("a Job", () => {
  it("runs as many pods in parallel as allowed until enough have succeeded", async () => {
    const cluster = await startParts();
    cluster.node("node-a");
    const annotations = { "karpenter-ts.sandbox/run-for": "5s" };
    const spec = {
      parallelism: 2,
      completions: 3,
      template: template({ restartPolicy: "Never" }, annotations),
    };
    await cluster.create(JOB, workload("batch/v1", "Job", spec));
    await cluster.clock.advance(3_000);
    expect(await cluster.pods()).toHaveLength(2);
    await cluster.clock.advance(30_000);
    const { status } = await cluster.get(JOB, "x");
    expect(status).toMatchObject({ succeeded: 3 });
    expect(status?.conditions?.map(({ type, reason }) => [type, reason])).toEqual([
      ["SuccessCriteriaMet", "CompletionsReached"],
      ["Complete", "CompletionsReached"],
    ]);
    await cluster.stop();
  });

  it("fails if its pods fail more often than the limit", async () => {
    const cluster = await startParts();
    cluster.node("node-a");
    const annotations = {
      "karpenter-ts.sandbox/run-for": "1s",
      "karpenter-ts.sandbox/exit-code": "1",
    };
    const spec = { backoffLimit: 1, template: template({ restartPolicy: "Never" }, annotations) };
    await cluster.create(JOB, workload("batch/v1", "Job", spec));
    await cluster.clock.advance(60_000);
    const { status } = await cluster.get(JOB, "x");
    expect(status).toMatchObject({ failed: 2 });
    expect(status?.conditions?.at(-1)).toMatchObject({
      type: "Failed",
      reason: "BackoffLimitExceeded",
    });
    await cluster.stop();
  });
});

describe("a PodDisruptionBudget", () => {
  it("allows as many evictions as there are healthy pods above the desired number", async () => {
    const cluster = await startParts();
    cluster.node("node-a");
    const spec = { replicas: 4, selector: SELECTOR, template: template() };
    await cluster.create(REPLICA_SET, workload("apps/v1", "ReplicaSet", spec));
    const budget = { selector: SELECTOR, maxUnavailable: "25%" };
    await cluster.create(
      POD_DISRUPTION_BUDGET,
      workload("policy/v1", "PodDisruptionBudget", budget),
    );
    await cluster.clock.advance(500);
    expect((await cluster.get(POD_DISRUPTION_BUDGET, "x")).status).toMatchObject({
      disruptionsAllowed: 0,
      currentHealthy: 0,
      desiredHealthy: 3,
      expectedPods: 4,
      conditions: [{ type: "DisruptionAllowed", status: "False", reason: "InsufficientPods" }],
    });
    await cluster.clock.advance(5_000);
    expect((await cluster.get(POD_DISRUPTION_BUDGET, "x")).status).toMatchObject({
      disruptionsAllowed: 1,
      currentHealthy: 4,
      conditions: [{ type: "DisruptionAllowed", status: "True", reason: "SufficientPods" }],
    });
    const [first, second] = await names(cluster);
    await cluster.kube.evict({ name: first as string, namespace: "default" });
    await expect(
      cluster.kube.evict({ name: second as string, namespace: "default" }),
    ).rejects.toMatchObject({ status: 429 });
    await cluster.clock.advance(10_000);
    await cluster.kube.evict({ name: second as string, namespace: "default" });
    await cluster.stop();
  });
});

describe("a namespace", () => {
  it("gets its default ServiceAccount and the cluster's CA", async () => {
    const cluster = await startParts();
    const team = { apiVersion: "v1", kind: "Namespace", metadata: { name: "team" } };
    await cluster.create(NAMESPACE, team);
    await cluster.clock.advance(100);
    await cluster.get(SERVICE_ACCOUNT, "default", "team");
    await cluster.get(CONFIG_MAP, "kube-root-ca.crt", "team");
    await cluster.stop();
  });
});

describe("a DaemonSet with a matching pod that has no owner", () => {
  it("adopts the pod, and creates no second one for its node", async () => {
    const cluster = await startParts();
    await cluster.create(NODE, {
      apiVersion: "v1",
      kind: "Node",
      metadata: { name: "n" },
      status: {},
    });
    await cluster.create(POD, {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name: "orphan", namespace: "default", labels: LABELS },
      spec: { nodeName: "n", containers: [{ name: "main", image: "pause" }] },
    });
    const updateStrategy = { type: "OnDelete" };
    const spec = { updateStrategy, selector: SELECTOR, template: template() };
    await cluster.create(DAEMON_SET, workload("apps/v1", "DaemonSet", spec));
    await cluster.clock.advance(1_000);
    const pods = await cluster.pods();
    expect(pods.map(({ metadata }) => metadata.name)).toEqual(["orphan"]);
    expect(pods[0]?.metadata.ownerReferences?.[0]?.kind).toBe("DaemonSet");
    await cluster.stop();
  });
});

describe("a ReplicaSet", () => {
  it("adopts matching pods without an owner", async () => {
    const cluster = await startParts();
    await cluster.create(POD, {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name: "orphan", namespace: "default", labels: LABELS },
      spec: { containers: [{ name: "main", image: "pause" }] },
    });
    const spec = { replicas: 2, selector: SELECTOR, template: template() };
    await cluster.create(REPLICA_SET, workload("apps/v1", "ReplicaSet", spec));
    await cluster.clock.advance(1_000);
    const pods = await cluster.pods();
    expect(pods).toHaveLength(2);
    expect(pods.every(({ metadata }) => metadata.ownerReferences?.[0]?.name === "x")).toBe(true);
    await cluster.stop();
  });
});

describe("an aggregated ClusterRole", () => {
  const role = (name: string, verb: string | undefined, labels: object, part?: string): object => {
    const rule = { verbs: [verb], apiGroups: [""], resources: ["pods"] };
    const selectors = [{ matchLabels: { [part ?? ""]: "yes" } }];
    return {
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "ClusterRole",
      metadata: { name, labels },
      rules: verb === undefined ? null : [rule],
      ...(part === undefined ? {} : { aggregationRule: { clusterRoleSelectors: selectors } }),
    };
  };

  it("gets the rules of the roles that it selects, directly or through others, and is not created again once deleted", async () => {
    const cluster = await startParts();
    const verbs = async (name: string) =>
      (await cluster.get(CLUSTER_ROLE, name)).rules?.flatMap((rule) => rule.verbs);
    await cluster.create(CLUSTER_ROLE, role("whole", undefined, {}, "to-whole"));
    await cluster.create(CLUSTER_ROLE, role("half", undefined, { "to-whole": "yes" }, "to-half"));
    await cluster.create(CLUSTER_ROLE, role("write", "create", { "to-half": "yes" }));
    await cluster.create(
      CLUSTER_ROLE,
      role("read", "get", { "to-whole": "yes", "to-half": "yes" }),
    );
    await cluster.clock.advance(1_000);
    expect(await verbs("half")).toEqual(["get", "create"]);
    expect(await verbs("whole")).toEqual(["get", "create"]);
    await cluster.kube.delete(CLUSTER_ROLE, { name: "write" });
    await cluster.clock.advance(1_000);
    expect(await verbs("whole")).toEqual(["get"]);
    await cluster.kube.delete(CLUSTER_ROLE, { name: "read" });
    await cluster.kube.delete(CLUSTER_ROLE, { name: "whole" });
    await cluster.clock.advance(1_000);
    expect(await verbs("half")).toBeUndefined();
    await expect(verbs("whole")).rejects.toThrow("not found");
    await cluster.stop();
  });
});

describe("a CronJob", () => {
  it("that could not run for long starts a Job for the last missed time only, and reports that there were more", async () => {
    const cluster = await startParts();
    const jobTemplate = { spec: { template: template({ restartPolicy: "Never" }) } };
    const spec = { schedule: "* * * * *", suspend: true, jobTemplate };
    await cluster.create(CRON_JOB, workload("batch/v1", "CronJob", spec));
    await cluster.clock.advance(7_830_000);
    const body = { spec: { suspend: false } };
    const ref = { name: "x", namespace: "default" };
    await cluster.kube.patch(CRON_JOB, ref, { type: "merge", body });
    await cluster.clock.advance(1_000);
    const minute = Math.floor(cluster.clock.now() / 60_000);
    const jobs = (await cluster.kube.list(JOB)).items;
    expect(jobs.map(({ metadata }) => metadata.name)).toEqual([`x-${minute}`]);
    const events = (await cluster.kube.list(EVENT)).items;
    expect(events.map(({ reason }) => reason)).toContain("TooManyMissedTimes");
    await cluster.stop();
  });
});
