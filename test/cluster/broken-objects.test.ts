/**
 * Malformed objects on a real control plane. While each exists, a sound NodePool still launches and removes nodes,
 * and the user is told which object is broken.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Event } from "../../src/apis/core/kinds.ts";
import type { Node } from "../../src/apis/core/node.ts";
import type { Pod } from "../../src/apis/core/pod.ts";
import { condition } from "../../src/apis/karpenter/conditions.ts";
import type { KubeObject } from "../../src/apis/meta.ts";
import {
  CLASS_REF,
  NODE_CLASS,
  nodePool,
  ON_DEMAND,
  pauseDeployment,
  pauseSpec,
} from "./kwok-objects.ts";
import { type LiveCluster, openLiveCluster } from "./live-cluster.ts";

const V1 = "karpenter.sh/v1";
const CRD = "apiextensions.k8s.io/v1";
function claim(name: string, spec: object): KubeObject {
  return {
    apiVersion: V1,
    kind: "NodeClaim",
    metadata: { name, labels: { "karpenter.sh/nodepool": "sound" } },
    spec: { nodeClassRef: CLASS_REF, requirements: [ON_DEMAND], ...spec },
  } as KubeObject;
}

const SMALL = { cpu: "1", memory: "512Mi" };
const TO = { "karpenter.sh/capacity-type": "on-demand" };

describe("one broken object does not stop the controller's other work", () => {
  let cluster: LiveCluster;
  const pods = async () =>
    (await cluster.list<Pod>("Pod", "v1", "app=web")).filter(
      ({ status, metadata }) =>
        status?.phase === "Running" && metadata.deletionTimestamp === undefined,
    );
  const eventsOf = async (name: string) =>
    (await cluster.list<Event>("Event")).filter(
      ({ involvedObject }) => involvedObject.name === name,
    );
  const scale = (replicas: number) =>
    cluster.merge("Deployment", "web", { spec: { replicas } }, "apps/v1");

  /**
   * Launches nodes of the sound pool, then empties them. They end by consolidation, or at once because the test
   * deletes them.
   */
  async function upAndDown(how: "emptied" | "deleted" = "deleted"): Promise<void> {
    await scale(4);
    await cluster.until("4 pods run", async () => (await pods()).length === 4, 90_000);
    const nodes = await cluster.list<Node>("Node", "v1", "karpenter.sh/nodepool=sound");
    const used = nodes.map(({ metadata }) => metadata.name).filter((name) => name !== "forged");
    expect(used.length).toBeGreaterThan(0);
    await scale(0);
    for (const name of how === "deleted" ? used : []) await cluster.remove("Node", name);
    const empty = async () => {
      const left = await cluster.list<Node>("Node", "v1", "karpenter.sh/nodepool=sound");
      return !left.some(({ metadata }) => used.includes(metadata.name));
    };
    await cluster.until("the nodes are gone", empty, 90_000);
  }

  beforeAll(async () => {
    cluster = await openLiveCluster();
    await cluster.apply(NODE_CLASS);
    await cluster.apply(nodePool("sound"));
    await cluster.apply(pauseDeployment("web", { requests: SMALL, spec: { nodeSelector: TO } }));
  });
  afterAll(() => cluster?.close());

  it("NodeClaims that never get a providerID: their class is missing, or no instance type fits", async () => {
    await cluster.apply(claim("no-class", { nodeClassRef: { ...CLASS_REF, name: "gone" } }));
    const nowhere = {
      key: "node.kubernetes.io/instance-type",
      operator: "In",
      values: ["no-such-type"],
    };
    await cluster.apply(claim("no-type", { requirements: [ON_DEMAND, nowhere] }));
    await upAndDown("emptied");
  });

  it("a NodeClaim whose status another client emptied", async () => {
    await scale(1);
    await cluster.until("a pod runs", async () => (await pods()).length === 1, 90_000);
    let name = "";
    await cluster.until("its claim is initialized", async () => {
      const found = await cluster.list("NodeClaim", V1);
      name =
        found.find((one) => condition(one, "Initialized")?.status === "True")?.metadata.name ?? "";
      return name !== "";
    });
    await cluster.client.patch(
      {
        group: "karpenter.sh",
        version: "v1",
        kind: "NodeClaim",
        plural: "nodeclaims",
        namespaced: false,
      },
      { name },
      { type: "merge", body: { status: { providerID: null, nodeName: null, conditions: null } } },
      "status",
    );
    await upAndDown();
  });

  it("a Node with Karpenter's labels and neither providerID nor capacity", async () => {
    await cluster.apply({
      apiVersion: "v1",
      kind: "Node",
      metadata: { name: "forged", labels: { "karpenter.sh/nodepool": "sound" } },
    } as KubeObject);
    await upAndDown();
    await cluster.remove("Node", "forged");
  });

  it("a pod whose PersistentVolumeClaim is bound to a deleted volume", async () => {
    await cluster.apply({
      apiVersion: "v1",
      kind: "PersistentVolumeClaim",
      metadata: {
        name: "data",
        namespace: "default",
        annotations: { "pv.kubernetes.io/bind-completed": "yes" },
      },
      spec: {
        accessModes: ["ReadWriteOnce"],
        storageClassName: "",
        volumeName: "gone",
        resources: { requests: { storage: "1Gi" } },
      },
    } as KubeObject);
    const volumes = [{ name: "data", persistentVolumeClaim: { claimName: "data" } }];
    await cluster.apply({
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name: "lost", namespace: "default" },
      spec: pauseSpec({ requests: SMALL, spec: { nodeSelector: TO, volumes } }),
    } as KubeObject);
    await upAndDown();
    expect((await eventsOf("lost")).map(({ message }) => message).join("\n")).toContain("gone");
    await cluster.remove("Pod", "lost");
  });

  it("NodePools that another client made invalid in etcd, past the schema", async () => {
    const name = "nodepools.karpenter.sh";
    const crd = (await cluster.list("CustomResourceDefinition", CRD)).find(
      ({ metadata }) => metadata.name === name,
    ) as KubeObject & { spec: { versions: object[] } };
    const anything = { type: "object", "x-kubernetes-preserve-unknown-fields": true };
    const open = crd.spec.versions.map((version) => ({
      ...version,
      schema: { openAPIV3Schema: anything },
    }));
    await cluster.merge("CustomResourceDefinition", name, { spec: { versions: open } }, CRD);
    const broken = [
      nodePool("operator", {
        template: { spec: { requirements: [{ ...ON_DEMAND, operator: "Nonsense" }] } },
      }),
      nodePool("budget", {
        disruption: { budgets: [{ nodes: "many", schedule: "never", duration: "1x" }] },
      }),
      nodePool("duration", { template: { spec: { expireAfter: "soon" } } }),
      { apiVersion: V1, kind: "NodePool", metadata: { name: "hollow" }, spec: {} } as KubeObject,
    ];
    for (const one of broken)
      await cluster.until(`${one.metadata.name} is stored`, () =>
        cluster.apply(one).then(
          () => true,
          () => false,
        ),
      );
    await cluster.merge(
      "CustomResourceDefinition",
      name,
      { spec: { versions: crd.spec.versions } },
      CRD,
    );
    await upAndDown("emptied");
    const told = await cluster.list("NodePool", V1);
    const notReady = told.filter((one) => condition(one, "Ready")?.status !== "True");
    // A pool with a broken budget stays ready: only its disruption stops, and nodes are still launched.
    const names = notReady.map(({ metadata }) => metadata.name).sort();
    expect(names).toEqual(["duration", "hollow", "operator"]);
    const hollow = told.find(({ metadata }) => metadata.name === "hollow") as KubeObject;
    expect(condition(hollow, "ValidationSucceeded")?.message).toBe("spec.template: is missing");
    expect(cluster.log().join("\n")).toContain("nodepool cannot be read");
    for (const { metadata } of broken) await cluster.remove("NodePool", metadata.name, V1);
  });

  it("and the controller's process has not ended", () => {
    const log = cluster.log();
    expect(log.filter((line) => /TypeError|AssertionError|unhandled/i.test(line))).toEqual([]);
    expect(log.filter((line) => line.includes("successfully acquired lease")).length).toBe(1);
  });
});
