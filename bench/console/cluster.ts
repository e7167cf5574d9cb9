/**
 * The cluster of `npm run bench -- console`: kwok nodes with pods of Deployments, some of which have a
 * PodDisruptionBudget.
 */
import type { KubeObject } from "../../src/apis/meta.ts";

const ZONES = ["test-zone-a", "test-zone-b", "test-zone-c", "test-zone-d"];
const CREATED = "2026-01-01T00:00:00Z";
const WORKLOADS = 400;

/** The objects of each list, by its path. */
export function drawObjects(nodes: number, podsPerNode: number): Map<string, KubeObject[]> {
  const pools = ["general", "spot"].map(poolOf);
  const claims = indexes(nodes).map(claimOf);
  const workers = indexes(nodes).map(nodeOf);
  const pods = indexes(nodes * podsPerNode).map((index) => podOf(index, index % nodes));
  return new Map([
    ["/apis/karpenter.sh/v1/nodepools", pools],
    ["/apis/karpenter.sh/v1/nodeclaims", claims],
    ["/apis/policy/v1/poddisruptionbudgets", indexes(20).map(budgetOf)],
    ["/api/v1/nodes", workers],
    ["/api/v1/pods", pods],
    ["/api/v1/namespaces", indexes(20).map((at) => object("v1 Namespace", `team-${at}`))],
  ]);
}

function indexes(count: number): number[] {
  return Array.from({ length: count }, (_, index) => index);
}

function object(kinds: `${string} ${string}`, name: string, more: object = {}): KubeObject {
  const [apiVersion, kind] = kinds.split(" ");
  return {
    apiVersion,
    kind,
    metadata: { name, uid: `${kind}-${name}`, resourceVersion: "1", creationTimestamp: CREATED },
    ...more,
  } as KubeObject;
}

function poolOf(name: string): KubeObject {
  const nodeClassRef = { group: "karpenter.kwok.sh", kind: "KWOKNodeClass", name: "default" };
  const ready = { type: "Ready", status: "True", reason: "Ready", lastTransitionTime: CREATED };
  return object("karpenter.sh/v1 NodePool", name, {
    spec: {
      template: { spec: { nodeClassRef, requirements: [], expireAfter: "Never" } },
      disruption: {
        consolidationPolicy: "WhenEmptyOrUnderutilized",
        consolidateAfter: "0s",
        budgets: [{ nodes: "10%" }],
      },
    },
    status: { conditions: [ready] },
  });
}

function labelsOf(index: number): Record<string, string> {
  return {
    "karpenter.sh/nodepool": index % 3 === 0 ? "spot" : "general",
    "karpenter.sh/capacity-type": index % 3 === 0 ? "spot" : "on-demand",
    "karpenter.sh/registered": "true",
    "karpenter.sh/initialized": "true",
    "node.kubernetes.io/instance-type": "s-8x-amd64-linux",
    "topology.kubernetes.io/zone": ZONES[index % 4] as string,
    "kubernetes.io/arch": "amd64",
    "kubernetes.io/os": "linux",
    "kubernetes.io/hostname": `node-${index}`,
  };
}

const SIZE = { cpu: "8", memory: "32Gi", pods: "110" };

function claimOf(index: number): KubeObject {
  const name = `claim-${index}`;
  const conditions = ["Launched", "Registered", "Initialized", "Consolidatable", "Ready"].map(
    (type) => ({ type, status: "True", reason: type, lastTransitionTime: CREATED }),
  );
  const claim = object("karpenter.sh/v1 NodeClaim", name, {
    spec: {
      nodeClassRef: { group: "karpenter.kwok.sh", kind: "KWOKNodeClass", name: "default" },
      requirements: [],
      resources: { requests: { cpu: "1" } },
    },
    status: {
      providerID: `kwok://node-${index}`,
      nodeName: `node-${index}`,
      capacity: SIZE,
      allocatable: SIZE,
      conditions,
    },
  });
  return { ...claim, metadata: { ...claim.metadata, labels: labelsOf(index) } };
}

function nodeOf(index: number): KubeObject {
  const node = object("v1 Node", `node-${index}`, {
    spec: { providerID: `kwok://node-${index}` },
    status: {
      capacity: SIZE,
      allocatable: SIZE,
      conditions: [{ type: "Ready", status: "True", lastTransitionTime: CREATED }],
    },
  });
  return { ...node, metadata: { ...node.metadata, labels: labelsOf(index) } };
}

/** One pod of a Deployment on this node. */
export function podOf(index: number, node: number, version = 1): KubeObject {
  const workload = index % WORKLOADS;
  const name = `app-${workload}-6d4cf56db6-${index}`;
  const owner = {
    apiVersion: "apps/v1",
    kind: "ReplicaSet",
    name: `app-${workload}-6d4cf56db6`,
    uid: `rs-${workload}`,
    controller: true,
  };
  const requests = {
    cpu: `${100 + (workload % 6) * 100}m`,
    memory: `${256 + (workload % 5) * 256}Mi`,
  };
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      name,
      namespace: `team-${workload % 20}`,
      uid: `pod-${index}`,
      resourceVersion: String(version),
      creationTimestamp: CREATED,
      labels: { app: `app-${workload}`, "pod-template-hash": "6d4cf56db6" },
      ownerReferences: [owner],
    },
    spec: {
      nodeName: `node-${node}`,
      schedulerName: "default-scheduler",
      priority: 0,
      restartPolicy: "Always",
      containers: [{ name: "app", image: "registry.test/app:1", resources: { requests } }],
    },
    status: {
      phase: "Running",
      startTime: CREATED,
      conditions: ["PodScheduled", "Initialized", "ContainersReady", "Ready"].map((type) => ({
        type,
        status: "True",
        lastTransitionTime: CREATED,
      })),
    },
  } as unknown as KubeObject;
}

function budgetOf(index: number): KubeObject {
  const budget = object("policy/v1 PodDisruptionBudget", `app-${index}`, {
    spec: { selector: { matchLabels: { app: `app-${index}` } }, maxUnavailable: 1 },
    status: {
      disruptionsAllowed: index % 2,
      currentHealthy: 125,
      desiredHealthy: 124,
      expectedPods: 125,
      observedGeneration: 1,
    },
  });
  return { ...budget, metadata: { ...budget.metadata, namespace: `team-${index}` } };
}
