import { afterEach, describe, expect, it } from "vitest";
import { CAPACITY_BUFFER, type CapacityBuffer } from "../src/apis/autoscaling/capacity-buffer.ts";
import { CUSTOM_RESOURCE_DEFINITION } from "../src/apis/core/custom-resource-definition.ts";
import type { Node } from "../src/apis/core/node.ts";
import type { Pod } from "../src/apis/core/pod.ts";
import { customResourceDefinitions } from "../src/apis/crds/all.ts";
import { condition } from "../src/apis/karpenter/conditions.ts";
import type { KubeObject } from "../src/apis/meta.ts";
import type { BoxOptions } from "../src/cli/sandbox/box.ts";
import { rightsOf, underRights } from "../src/operator/rights.ts";
import { kwokPoolManifest, ON_DEMAND } from "../src/testing/manifests.ts";
import { withScene } from "./console-scene.ts";
import { openWorld, type TestWorld } from "./world.ts";

const POOL = kwokPoolManifest({
  requirements: [
    "{key: node.kubernetes.io/instance-type, operator: In, values: [c-4x-amd64-linux]}",
    ON_DEMAND,
  ],
  disruption: "{consolidationPolicy: WhenEmptyOrUnderutilized, consolidateAfter: 0s}",
});

const CLUSTER = `${POOL}---
apiVersion: v1
kind: PodTemplate
metadata: {name: room, namespace: default}
template:
  metadata: {labels: {app: room}}
  spec:
    nodeSelector: {karpenter.sh/nodepool: default}
    containers: [{name: app, image: pause, resources: {requests: {cpu: 1500m}}}]
`;

const buffer = (spec: string, name = "spare") => `
---
apiVersion: autoscaling.x-k8s.io/v1beta1
kind: CapacityBuffer
metadata: {name: ${name}, namespace: default}
spec: ${spec}
`;

const web = (replicas: number, cpu = "1500m") => `
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: default}
spec:
  replicas: ${replicas}
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      nodeSelector: {karpenter.sh/nodepool: default}
      containers: [{name: app, image: pause, resources: {requests: {cpu: ${cpu}}}}]
`;

let world: TestWorld;
afterEach(() => world?.close());

async function open(
  gates = "CapacityBuffer=true",
  connectKube?: BoxOptions["connectKube"],
): Promise<void> {
  world = await openWorld({
    ...(connectKube === undefined ? {} : { connectKube }),
    provider: "kwok",
    logLevel: "info",
    flags: { "feature-gates": gates },
  });
}

const nodes = () => world.list("Node", "v1", "karpenter.sh/nodepool=default");
const types = async () =>
  (await nodes()).map(({ metadata }) => metadata.labels?.["node.kubernetes.io/instance-type"]);
const eventOn = (event: KubeObject) =>
  (event as unknown as { readonly involvedObject: { readonly name: string } }).involvedObject.name;
const isReady = (node: KubeObject): boolean =>
  (node as Node).status?.conditions?.some(
    (one) => one.type === "Ready" && one.status === "True",
  ) === true;
const read = (name = "spare") =>
  world.get<CapacityBuffer>("CapacityBuffer", name, "autoscaling.x-k8s.io/v1beta1");
const reason = async (type: string, name?: string) => condition(await read(name), type)?.reason;

describe("CapacityBuffers", () => {
  it("keep room that a pod can take at once, and restore it afterwards", async () => {
    await open();
    await world.apply(CLUSTER + buffer("{podTemplateRef: {name: room}, replicas: 2}"));
    await world.advance(120_000);
    expect(await nodes()).toHaveLength(1);
    expect((await read()).status?.replicas).toBe(2);
    expect(await reason("ReadyForProvisioning")).toBe("Resolved");
    expect(await reason("Provisioning")).toBe("FitsExistingCapacity");
    // The API has no object for the buffer's virtual pods.
    expect(await world.list("Pod", "v1", "app=room")).toEqual([]);
    // The buffer keeps its empty node.
    const [first] = await nodes();
    await world.advance(20 * 60_000);
    expect((await nodes()).map(({ metadata }) => metadata.name)).toEqual([first?.metadata.name]);

    await world.apply(web(1));
    await world.advance(10_000);
    const [pod] = await world.list<Pod>("Pod", "v1", "app=web");
    expect(pod?.spec.nodeName).toBe(first?.metadata.name);
    await world.advance(60_000);
    expect(await nodes()).toHaveLength(2);
    expect(await reason("Provisioning")).toBe("FitsExistingCapacity");
  });

  it("are shown by the console on the nodes that keep their room", async () => {
    // The console learns from the controller's facts that the feature gate is on.
    const flags = { "feature-gates": "CapacityBuffer=true" };
    world = await openWorld({ provider: "kwok", isAsked: true, flags });
    await world.apply(CLUSTER + buffer("{podTemplateRef: {name: room}, replicas: 3}"));
    await world.advance(120_000);
    const room = await withScene(world, (scene) => scene.room());
    const names = (await nodes()).map(({ metadata }) => metadata.name);
    expect([...room.keys()].sort()).toEqual(names.sort());
    expect([...room.values()].sort()).toEqual([1, 2]);
  });

  it("release their nodes once they are deleted", async () => {
    await open();
    await world.apply(CLUSTER + buffer("{podTemplateRef: {name: room}, replicas: 3}"));
    await world.advance(120_000);
    expect(await nodes()).toHaveLength(2);
    await world.client.delete(CAPACITY_BUFFER, { namespace: "default", name: "spare" });
    await world.advance(120_000);
    expect(await nodes()).toEqual([]);
  });

  it("follow a percentage of a workload's replicas", async () => {
    await open();
    await world.apply(CLUSTER + web(4, "100m"));
    await world.apply(
      buffer("{scalableRef: {kind: Deployment, name: web}, percentage: 50}") +
        buffer("{scalableRef: {kind: Deployment, name: nobody}, percentage: 50}", "lost"),
    );
    await world.advance(120_000);
    expect((await read()).status?.replicas).toBe(2);
    expect(await reason("ReadyForProvisioning", "lost")).toBe("ScalableRefNotFound");
    expect(await reason("Provisioning", "lost")).toBe("NotReadyForProvisioning");
    await world.apply(web(12, "100m"));
    await world.advance(20_000);
    expect((await read()).status?.replicas).toBe(6);
  });

  it("give up their room under a pool's limit for pods that users created", async () => {
    await open();
    const limited = CLUSTER.replace("  disruption:", "  limits: {cpu: 4}\n  disruption:");
    await world.apply(limited + web(2) + buffer("{podTemplateRef: {name: room}, replicas: 2}"));
    await world.advance(120_000);
    const pods = await world.list<Pod>("Pod", "v1", "app=web");
    expect(pods.map(({ status }) => status?.phase)).toEqual(["Running", "Running"]);
    expect(condition(await read(), "Provisioning")).toMatchObject({
      status: "False",
      reason: "RequiresNewCapacity",
    });
  });

  it("are limited by ResourceQuotas of their namespace", async () => {
    await open();
    const quota = `
---
apiVersion: v1
kind: ResourceQuota
metadata: {name: few, namespace: default}
spec: {hard: {requests.cpu: "4"}}
`;
    await world.apply(CLUSTER + quota + buffer("{podTemplateRef: {name: room}, replicas: 9}"));
    await world.advance(60_000);
    expect((await read()).status?.replicas).toBe(2);
    expect(condition(await read(), "LimitedByQuotas")?.message).toBe(
      'ResourceQuota "few" has room for 2 of 9 pods',
    );
  });

  it("say why they have no pods if their limits give no number", async () => {
    await open();
    await world.apply(
      CLUSTER + buffer("{podTemplateRef: {name: room}, limits: {nvidia.com/gpu: 3}}"),
    );
    await world.advance(5_000);
    expect(condition(await read(), "Provisioning")).toMatchObject({
      reason: "BufferEmpty",
      message:
        "spec.limits: the pods request none of nvidia.com/gpu, so it gives no number of pods; set spec.replicas",
    });
  });

  it("are stored as v1beta1 when they are created as v1alpha1", async () => {
    await open();
    const alpha = buffer("{podTemplateRef: {name: room}, replicas: 1}").replace(
      "v1beta1",
      "v1alpha1",
    );
    await world.apply(CLUSTER + alpha);
    await world.advance(60_000);
    expect(await nodes()).toHaveLength(1);
    expect((await read()).status?.provisioningStrategy).toBe("buffer.x-k8s.io/active-capacity");
  });

  it("do not keep an expensive node: a cheaper one has the same room", async () => {
    await open();
    const wide = CLUSTER.replace(
      "[c-4x-amd64-linux]",
      "[c-2x-amd64-linux, c-4x-amd64-linux, c-16x-amd64-linux]",
    );
    await world.apply(wide + web(8) + buffer("{podTemplateRef: {name: room}, replicas: 2}"));
    await world.advance(120_000);
    expect(await types()).toEqual(["c-16x-amd64-linux"]);
    await world.apply(web(0));
    await world.advance(5 * 60_000);
    // Two pods of 1.5 CPU: a smaller type has no room for them.
    expect(await types()).toEqual(["c-4x-amd64-linux"]);
    const [first] = await nodes();
    await world.advance(30 * 60_000);
    expect((await nodes()).map(({ metadata }) => metadata.name)).toEqual([first?.metadata.name]);
  });

  it("get new nodes before their drifted nodes are removed", async () => {
    await open();
    await world.apply(CLUSTER + buffer("{podTemplateRef: {name: room}, replicas: 3}"));
    await world.advance(120_000);
    const before = (await nodes()).map(({ metadata }) => metadata.name);
    expect(before).toHaveLength(2);
    await world.apply(
      CLUSTER.replace("  template:\n", "  template:\n    metadata: {labels: {of: later}}\n"),
    );
    const ready: number[] = [];
    for (let step = 0; step < 60; step++) {
      await world.advance(5_000);
      ready.push((await nodes()).filter(isReady).length);
    }
    expect(Math.min(...ready)).toBe(2);
    const after = (await nodes()).map(({ metadata }) => metadata.name);
    expect(after).toHaveLength(2);
    expect(after.filter((name) => before.includes(name))).toEqual([]);
  });

  it("do not meet a pod's affinity: a pod that requires such a neighbour gets no node", async () => {
    await open();
    const near = `
---
apiVersion: v1
kind: Pod
metadata: {name: near, namespace: default}
spec:
  nodeSelector: {karpenter.sh/nodepool: default}
  affinity:
    podAffinity:
      requiredDuringSchedulingIgnoredDuringExecution:
        - {labelSelector: {matchLabels: {app: room}}, topologyKey: topology.kubernetes.io/zone}
  containers: [{name: app, image: pause, resources: {requests: {cpu: 1500m}}}]
`;
    await world.apply(CLUSTER + near + buffer("{podTemplateRef: {name: room}, replicas: 2}"));
    await world.advance(120_000);
    // Only the buffer's node exists: kube-scheduler could not bind the pod to a second one.
    expect(await nodes()).toHaveLength(1);
    const events = await world.list<KubeObject & { readonly reason: string }>("Event", "v1");
    const reasons = events.filter((one) => eventOn(one) === "near").map((one) => one.reason);
    expect(new Set(reasons)).toEqual(new Set(["FailedScheduling"]));
    expect(await reason("Provisioning")).toBe("FitsExistingCapacity");
  });

  it("keep their nodes over restarts of the controller, and lose them if deleted meanwhile", async () => {
    await open();
    await world.apply(CLUSTER + buffer("{podTemplateRef: {name: room}, replicas: 3}"));
    await world.advance(120_000);
    const before = (await nodes()).map(({ metadata }) => metadata.name);
    expect(before).toHaveLength(2);
    // At once, and after the claims' notes about their planned pods have expired.
    for (const waitMs of [0, 20 * 60_000]) {
      await world.advance(waitMs);
      await world.box.restart();
      await world.advance(5 * 60_000);
      expect((await nodes()).map(({ metadata }) => metadata.name)).toEqual(before);
    }
    await world.client.delete(CAPACITY_BUFFER, { namespace: "default", name: "spare" });
    await world.box.restart();
    await world.advance(60_000);
    expect(await nodes()).toEqual([]);
  });

  it("release a node that is still being launched when they are deleted", async () => {
    await open();
    await world.apply(CLUSTER + buffer("{podTemplateRef: {name: room}, replicas: 3}"));
    const claims = () => world.list("NodeClaim", "karpenter.sh/v1");
    await world.until("claims", async () => (await claims()).length > 0);
    await world.client.delete(CAPACITY_BUFFER, { namespace: "default", name: "spare" });
    await world.advance(120_000);
    expect(await claims()).toEqual([]);
  });

  it("may share a template, and each has room of its own", async () => {
    await open();
    const one = "{podTemplateRef: {name: room}, replicas: 2}";
    await world.apply(CLUSTER + buffer(one, "a") + buffer(one, "b"));
    await world.advance(120_000);
    expect(await nodes()).toHaveLength(2);
    await world.client.delete(CAPACITY_BUFFER, { namespace: "default", name: "a" });
    await world.advance(120_000);
    expect(await nodes()).toHaveLength(1);
    expect(await reason("Provisioning", "b")).toBe("FitsExistingCapacity");
  });

  it("do not delay pods when the controller may not read buffers", async () => {
    const rights = rightsOf("kwok").filter(
      ({ group, resources }) =>
        group !== "autoscaling.x-k8s.io" &&
        !resources.some((one) => ["podtemplates", "replicasets", "statefulsets"].includes(one)),
    );
    await open("CapacityBuffer=true", ({ transport }) =>
      underRights(transport, rights, "karpenter"),
    );
    await world.apply(CLUSTER + web(2) + buffer("{podTemplateRef: {name: room}, replicas: 2}"));
    await world.advance(120_000);
    const pods = await world.list<Pod>("Pod", "v1", "app=web");
    expect(pods.map(({ status }) => status?.phase)).toEqual(["Running", "Running"]);
    const told = world
      .log()
      .filter((line) => line.includes("not allowed to watch, going on without"));
    for (const kind of ["CapacityBuffer", "PodTemplate", "ReplicaSet", "StatefulSet"])
      expect(told.filter((line) => line.includes(`"kind": "${kind}"`))).toHaveLength(1);
  });

  it("may be installed after the controller: it looks for their definition again", async () => {
    await open();
    const name = "capacitybuffers.autoscaling.x-k8s.io";
    const definition = customResourceDefinitions().find(({ metadata }) => metadata.name === name);
    await world.client.delete(CUSTOM_RESOURCE_DEFINITION, { name });
    await world.advance(1_000);
    await world.box.restart();
    await world.apply(CLUSTER + web(2));
    await world.advance(120_000);
    expect(await nodes()).toHaveLength(1);
    const told = world.log().filter((line) => line.includes("a feature gate has no effect"));
    expect(told.length).toBeGreaterThan(0);
    await world.client.create(CUSTOM_RESOURCE_DEFINITION, definition as KubeObject);
    await world.advance(60_000);
    await world.apply(buffer("{podTemplateRef: {name: room}, replicas: 2}"));
    // The controller looks for a missing kind at growing intervals.
    await world.advance(10 * 60_000);
    expect(await nodes()).toHaveLength(2);
  });

  it("have no effect while their feature gate is off", async () => {
    await open("CapacityBuffer=false");
    await world.apply(CLUSTER + buffer("{podTemplateRef: {name: room}, replicas: 2}"));
    await world.advance(60_000);
    expect(await nodes()).toEqual([]);
    expect(((await read()) as KubeObject & { status?: unknown }).status).toBeUndefined();
  });
});
