/**
 * Faults in a cluster, on the whole product. Each fault ends in a condition or an event that names the cause,
 * nothing else stalls, and when the fault ends the cluster recovers. One long file, because each fault is checked
 * by the same few functions.
 */
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { afterEach, describe, expect, it } from "vitest";
import { CUSTOM_RESOURCE_DEFINITION } from "../src/apis/core/custom-resource-definition.ts";
import type { Event } from "../src/apis/core/kinds.ts";
import type { Node } from "../src/apis/core/node.ts";
import type { Pod } from "../src/apis/core/pod.ts";
import { condition } from "../src/apis/karpenter/conditions.ts";
import { NODE_CLAIM, type NodeClaim } from "../src/apis/karpenter/nodeclaim.ts";
import type { KubeObject } from "../src/apis/meta.ts";
import { isUsual, openWorld, type TestWorld } from "./world.ts";

const MINUTE = 60_000;
const EXAMPLES = fileURLToPath(new URL("../examples/", import.meta.url));
const POOL = readFileSync(`${EXAMPLES}v1/nodepool.yaml`, "utf8");
/** The pods may run only on Karpenter's nodes, because the managed node group has room too. */
const INFLATE = readFileSync(`${EXAMPLES}inflate.yaml`, "utf8").replace(
  "      containers:",
  [
    "      affinity:",
    "        nodeAffinity:",
    "          requiredDuringSchedulingIgnoredDuringExecution:",
    "            nodeSelectorTerms:",
    "              - matchExpressions: [{ key: karpenter.sh/nodepool, operator: Exists }]",
    "      containers:",
  ].join("\n"),
);
const V1 = "karpenter.sh/v1";
const AWS_V1 = "karpenter.k8s.aws/v1";

const CRD_V1 = "apiextensions.k8s.io/v1";

let world: TestWorld;
afterEach(() => world.close());

/** The usual pool and class, and a Deployment of one-CPU pods with no replica yet. */
async function cluster(): Promise<void> {
  world = await openWorld({ sells: isUsual });
  await world.apply(POOL);
  await world.apply(INFLATE);
  await ready("default");
}

async function ready(pool: string): Promise<void> {
  await world.until(`pool ${pool} is ready`, async () => (await poolCondition(pool)) === "True");
}

async function poolCondition(name: string, type = "Ready"): Promise<string | undefined> {
  return condition(await world.get("NodePool", name, V1), type)?.status;
}

function claims(): Promise<readonly NodeClaim[]> {
  return world.list<NodeClaim>("NodeClaim", V1);
}

/** Karpenter's nodes, without those of the managed node group. */
function nodes(): Promise<readonly Node[]> {
  return world.list<Node>("Node", "v1", "karpenter.sh/nodepool");
}

async function runningPods(app = "inflate"): Promise<number> {
  const pods = await world.list<Pod>("Pod", "v1", `app=${app}`);
  return pods.filter((pod) => pod.status?.phase === "Running").length;
}

async function untilRunning(count: number, limitMs = 5 * MINUTE): Promise<void> {
  await world.until(`${count} pods run`, async () => (await runningPods()) === count, limitMs);
}

/** Messages of all events with this reason. */
async function events(reason: string): Promise<readonly string[]> {
  const all = await world.list<Event>("Event");
  return all.filter((event) => event.reason === reason).map((event) => event.message ?? "");
}

/** A CRD as another project may write it: its schema accepts anything. */
function withoutSchemas(crd: KubeObject): KubeObject {
  const { spec } = crd as KubeObject & { readonly spec: { readonly versions: readonly object[] } };
  const openAPIV3Schema = { type: "object", "x-kubernetes-preserve-unknown-fields": true };
  const versions = spec.versions.map((version) => ({
    ...version,
    schema: { openAPIV3Schema },
    additionalPrinterColumns: [],
    selectableFields: [],
  }));
  return { ...crd, spec: { ...spec, versions } } as KubeObject;
}

/** A webhook that refuses an operation on one of Karpenter's resources, because its server does not exist. */
function brokenWebhook(resource: string, operation: "CREATE" | "UPDATE"): KubeObject {
  return {
    apiVersion: "admissionregistration.k8s.io/v1",
    kind: "ValidatingWebhookConfiguration",
    metadata: { name: "broken" },
    webhooks: [
      {
        name: "broken.example.com",
        failurePolicy: "Fail",
        sideEffects: "None",
        admissionReviewVersions: ["v1"],
        clientConfig: { service: { name: "nobody", namespace: "default", path: "/nobody" } },
        rules: [
          {
            apiGroups: ["karpenter.sh"],
            apiVersions: ["*"],
            resources: [resource],
            operations: [operation],
          },
        ],
      },
    ],
  } as unknown as KubeObject;
}

/** The number of fleets that EC2 accepted. */
function created(): number {
  return world.box.sandbox.aws.journal.calls({ action: "CreateFleet", failed: false }).length;
}

function failedCreates(): number {
  return world.box.sandbox.aws.journal.calls({ action: "CreateFleet", failed: true }).length;
}

/** The example pool under another name, changed by a patch of its spec. */
function pool(name: string, spec: Record<string, unknown> = {}, className = "default"): KubeObject {
  return {
    apiVersion: V1,
    kind: "NodePool",
    metadata: { name },
    spec: {
      template: {
        spec: {
          requirements: [
            { key: "kubernetes.io/arch", operator: "In", values: ["amd64"] },
            { key: "karpenter.k8s.aws/instance-category", operator: "In", values: ["m"] },
          ],
          nodeClassRef: { group: "karpenter.k8s.aws", kind: "EC2NodeClass", name: className },
        },
      },
      ...spec,
    },
  } as unknown as KubeObject;
}

function nodeClass(name: string, spec: Record<string, unknown> = {}): KubeObject {
  const discovered = [{ tags: { "karpenter.sh/discovery": "karpenter-demo" } }];
  return {
    apiVersion: AWS_V1,
    kind: "EC2NodeClass",
    metadata: { name },
    spec: {
      role: "KarpenterNodeRole-karpenter-demo",
      amiSelectorTerms: [{ alias: "al2023@latest" }],
      subnetSelectorTerms: discovered,
      securityGroupSelectorTerms: discovered,
      ...spec,
    },
  } as unknown as KubeObject;
}

describe("pools and classes that cannot be used", () => {
  it("a pool whose class is missing says so, and other pools work on", async () => {
    await cluster();
    await world.apply(pool("astray", { weight: 100 }, "nowhere"));
    await world.scale("inflate", 3);
    await untilRunning(3);
    const astray = await world.get("NodePool", "astray", V1);
    expect(condition(astray, "NodeClassReady")).toMatchObject({
      status: "False",
      reason: "NodeClassNotFound",
    });
    expect(await poolCondition("astray")).toBe("False");
    expect((await nodes()).map((node) => node.metadata.labels?.["karpenter.sh/nodepool"])).toEqual([
      "default",
    ]);
    // Once the class exists, the pool recovers without a change to the pool.
    await world.apply(nodeClass("nowhere"));
    await ready("astray");
  });

  it.each([
    ["SubnetsReady", "SubnetsNotFound", { subnetSelectorTerms: [{ tags: { no: "such" } }] }],
    [
      "SecurityGroupsReady",
      "SecurityGroupsNotFound",
      { securityGroupSelectorTerms: [{ tags: { no: "such" } }] },
    ],
    ["AMIsReady", "AMINotFound", { amiFamily: "AL2023", amiSelectorTerms: [{ name: "no-such" }] }],
  ])("a class whose selector matches nothing has %s=False", async (type, reason, spec) => {
    await cluster();
    await world.apply(nodeClass("empty", spec));
    await world.apply(pool("empty", { weight: 100 }, "empty"));
    await world.scale("inflate", 2);
    await untilRunning(2);
    const found = await world.get("EC2NodeClass", "empty", AWS_V1);
    expect(condition(found, type)).toMatchObject({ status: "False", reason });
    expect(condition(found, "Ready")?.status).toBe("False");
    expect(await poolCondition("empty", "NodeClassReady")).toBe("False");
  });

  it("a class whose role is missing says so in its conditions", async () => {
    await cluster();
    await world.apply(nodeClass("no-role", { role: "NoSuchRole" }));
    await world.advance(MINUTE);
    const found = await world.get("EC2NodeClass", "no-role", AWS_V1);
    expect(condition(found, "InstanceProfileReady")).toMatchObject({
      status: "False",
      reason: "RoleNotFound",
      message:
        'role "NoSuchRole" does not exist (NoSuchEntity: The role with name NoSuchRole cannot be found.): create it, or name another in spec.role',
    });
    expect(condition(found, "Ready")?.status).toBe("False");
    world.box.sandbox.aws.controls.addRole("NoSuchRole");
    await world.until("the class is ready", async () => {
      const now = await world.get("EC2NodeClass", "no-role", AWS_V1);
      return condition(now, "Ready")?.status === "True";
    });
  });

  it("a class with user data that cannot be merged says so, launches nothing, and works once it is corrected", async () => {
    await cluster();
    const bottlerocket = { amiSelectorTerms: [{ alias: "bottlerocket@latest" }] };
    await world.apply(nodeClass("default", { ...bottlerocket, userData: "[settings" }));
    await world.scale("inflate", 1);
    await world.advance(MINUTE);
    const found = await world.get("EC2NodeClass", "default", AWS_V1);
    const validated = condition(found, "ValidationSucceeded");
    expect(validated).toMatchObject({ status: "False", reason: "UserDataInvalid" });
    expect(validated?.message).toContain("spec.userData must be TOML for amiFamily Bottlerocket");
    expect(await claims()).toEqual([]);
    // A user's mistake must not cause a stack trace.
    expect(world.log().join("\n")).not.toContain(" at parseToml");
    await world.apply(nodeClass("default", { ...bottlerocket, userData: "" }));
    await untilRunning(1);
  });

  it("a pool with contradictory requirements creates no node and blocks no other pool", async () => {
    await cluster();
    const odd = pool("odd", { weight: 100 });
    const spec = odd as unknown as {
      spec: { template: { spec: { requirements: Record<string, unknown>[] } } };
    };
    spec.spec.template.spec.requirements.push(
      { key: "karpenter.k8s.aws/instance-cpu", operator: "Gt", values: ["8"] },
      { key: "karpenter.k8s.aws/instance-cpu", operator: "Lt", values: ["4"] },
    );
    await world.apply(odd);
    await world.scale("inflate", 2);
    await untilRunning(2);
    const own = await world.list<Node>("Node", "v1", "karpenter.sh/nodepool=odd");
    expect(own).toEqual([]);
    expect(world.log().join("\n")).toContain("odd");
  });
});

describe("a cloud that fails to deliver", () => {
  it("a sold-out offering is avoided", async () => {
    await cluster();
    const undo = world.box.sandbox.aws.faults.limitCapacity({ capacityType: "spot" });
    await world.scale("inflate", 3);
    await untilRunning(3);
    undo();
    const [node] = await nodes();
    expect(node?.metadata.labels?.["karpenter.sh/capacity-type"]).toBe("on-demand");
  });

  it("without any capacity each claim ends with an event, and pods run once there is some", async () => {
    await cluster();
    const undo = world.box.sandbox.aws.faults.limitCapacity({});
    await world.scale("inflate", 3);
    await world.advance(2 * MINUTE);
    expect((await events("InsufficientCapacityError")).length).toBeGreaterThan(0);
    expect(await runningPods()).toBe(0);
    undo();
    await untilRunning(3, 10 * MINUTE);
  });

  it("an instance that never joins is terminated after fifteen minutes, and its pods are planned again", async () => {
    await cluster();
    world.box.sandbox.aws.faults.neverJoin({ times: 1 });
    await world.scale("inflate", 2);
    await world.advance(14 * MINUTE);
    const [first] = await claims();
    expect(condition(first as NodeClaim, "Registered")?.status).toBe("Unknown");
    await untilRunning(2, 5 * MINUTE);
    const left = await claims();
    expect(left.map(({ metadata }) => metadata.name)).not.toContain(first?.metadata.name);
    expect(left.length).toBe(1);
    expect(world.log().join("\n")).toContain("terminating due to timeout");
  });

  it("a denied launch is reported in Launched, retried with backoff, and succeeds once the right is granted", async () => {
    await cluster();
    const undo = world.box.sandbox.aws.faults.deny("CreateFleet");
    await world.scale("inflate", 2);
    await world.advance(3 * MINUTE);
    const [claim] = await claims();
    expect(condition(claim as NodeClaim, "Launched")).toMatchObject({ status: "Unknown" });
    expect(condition(claim as NodeClaim, "Launched")?.reason).not.toBe("AwaitingReconciliation");
    expect(condition(claim as NodeClaim, "Launched")?.message).toContain("not authorized");
    // The controller backs off: it does not try each second.
    expect(failedCreates()).toBeGreaterThan(1);
    expect(failedCreates()).toBeLessThan(30);
    undo();
    await untilRunning(2);
  });

  it("an AWS that throttles for a minute is waited for", async () => {
    await cluster();
    const undo = world.box.sandbox.aws.faults.throttle();
    await world.scale("inflate", 2);
    await world.advance(MINUTE);
    undo();
    await untilRunning(2);
    expect((await claims()).length).toBe(1);
  });

  it("an AWS that is unreachable for ten minutes ends no node, and work continues afterwards", async () => {
    await cluster();
    await world.scale("inflate", 2);
    await untilRunning(2);
    const before = (await nodes()).map(({ metadata }) => metadata.name);
    const undo = world.box.sandbox.aws.faults.unreachable();
    await world.scale("inflate", 10);
    await world.advance(10 * MINUTE);
    expect((await nodes()).map(({ metadata }) => metadata.name)).toEqual(before);
    // The class keeps its earlier status while AWS cannot be reached.
    expect(await poolCondition("default")).toBe("True");
    undo();
    await untilRunning(10, 10 * MINUTE);
    expect(await poolCondition("default")).toBe("True");
  });
});

describe("changes by users and other programs", () => {
  it("a Node deleted by hand is drained, its instance terminated, its pods placed elsewhere", async () => {
    await cluster();
    await world.scale("inflate", 2);
    await untilRunning(2);
    const [node] = await nodes();
    await world.remove("Node", node?.metadata.name as string);
    await world.until("the node is gone", async () =>
      (await nodes()).every(({ metadata }) => metadata.name !== node?.metadata.name),
    );
    await untilRunning(2);
    expect(running().length).toBe(1);
    expect((await claims()).length).toBe(1);
  });

  it("a claim whose instance was terminated elsewhere is deleted, and its pods run on other nodes", async () => {
    await cluster();
    await world.scale("inflate", 2);
    await untilRunning(2);
    const [claim] = await claims();
    world.box.sandbox.aws.controls.failInstance(instanceOf(claim as NodeClaim));
    await world.until(
      "the claim is gone",
      async () => (await claims()).every(({ metadata }) => metadata.uid !== claim?.metadata.uid),
      15 * MINUTE,
    );
    await untilRunning(2);
    expect(running().length).toBe(1);
  });

  it("an instance without a claim is terminated", async () => {
    await cluster();
    await world.scale("inflate", 2);
    await untilRunning(2);
    const [claim] = await claims();
    const { metadata } = claim as NodeClaim;
    await world.client.patch(
      NODE_CLAIM,
      { name: metadata.name },
      { type: "merge", body: { metadata: { finalizers: null } } },
    );
    await world.remove("NodeClaim", metadata.name, V1);
    await world.until(
      "its instance is ended",
      () => !running().includes(instanceOf(claim as NodeClaim)),
      5 * MINUTE,
    );
    await untilRunning(2);
    expect((await claims()).length).toBe(1);
  });

  it("a claim created by hand is launched, joins and is removed", async () => {
    await cluster();
    await world.apply({
      apiVersion: V1,
      kind: "NodeClaim",
      metadata: { name: "by-hand" },
      spec: {
        requirements: [
          { key: "node.kubernetes.io/instance-type", operator: "In", values: ["m5.large"] },
        ],
        nodeClassRef: { group: "karpenter.k8s.aws", kind: "EC2NodeClass", name: "default" },
      },
    } as unknown as KubeObject);
    await world.until(
      "it is Ready",
      async () => condition((await claims())[0] as NodeClaim, "Ready")?.status === "True",
    );
    expect(running().length).toBe(1);
    await world.remove("NodeClaim", "by-hand", V1);
    await world.until("it is gone", async () => (await claims()).length === 0);
    expect(running()).toEqual([]);
  });

  it("claims without a class, or without any field, delay no others", async () => {
    await cluster();
    const crd = await world.get("CustomResourceDefinition", "nodeclaims.karpenter.sh", CRD_V1);
    await world.client.update(CUSTOM_RESOURCE_DEFINITION, withoutSchemas(crd));
    await world.advance(1_000);
    const broken = [{}, { spec: {} }, { spec: { nodeClassRef: null, requirements: null } }];
    for (const [index, more] of broken.entries())
      await world.apply({
        apiVersion: V1,
        kind: "NodeClaim",
        metadata: { name: `broken-${index}` },
        ...more,
      });
    await world.scale("inflate", 2);
    await untilRunning(2);
  });

  it("a controller restarted during launches, joins and drains launches nothing twice", async () => {
    await cluster();
    await world.scale("inflate", 10);
    // The claim's status is stored, and the machine still boots.
    await world.until("the instances are there", () => running().length > 0);
    const planned = running().length;
    await world.box.restart();
    await untilRunning(10);
    expect(running().length).toBe(planned);
    await world.apply(spread(3));
    await world.advance(1_500);
    await world.box.restart();
    await world.until("three pods run", async () => (await runningPods("spread")) === 3);
    const before = running().length;
    const [node] = await nodes();
    await world.remove("Node", node?.metadata.name as string);
    await world.advance(2_000);
    await world.box.restart();
    await world.until("the node is gone", async () =>
      (await nodes()).every(({ metadata }) => metadata.name !== node?.metadata.name),
    );
    await untilRunning(10);
    expect(running().length).toBeLessThanOrEqual(before + 1);
    expect(running().length).toBe((await claims()).length);
  });

  it.each([
    [false, "is stored later, and nothing is bought twice"],
    [true, "is swept when Karpenter restarts meanwhile"],
  ])("an instance whose claim cannot be updated (restart: %s) %s", async (restart) => {
    await cluster();
    await world.scale("inflate", 2);
    while ((await claims()).length === 0) await world.advance(10);
    await world.apply(brokenWebhook("nodeclaims/status", "UPDATE"));
    await world.until("the instance is bought", () => running().length === 1);
    expect((await claims())[0]?.status?.providerID).toBe(undefined);
    if (restart) await world.box.restart();
    await world.advance(5_000);
    await world.remove(
      "ValidatingWebhookConfiguration",
      "broken",
      "admissionregistration.k8s.io/v1",
    );
    await untilRunning(2);
    await world.advance(5 * MINUTE);
    expect((await claims()).map(instanceOf)).toEqual(running());
    expect(running()).toHaveLength(1);
    if (!restart) expect(created()).toBe(1);
  });

  it("a deleted pool deletes its three nodes; no instance remains", async () => {
    await cluster();
    await world.apply(pool("three", { weight: 100 }));
    await ready("three");
    await world.apply(spread(3));
    await world.until(
      "three nodes",
      async () => (await nodes()).length === 3 && (await runningPods("spread")) === 3,
    );
    await world.remove("NodePool", "default", V1);
    await world.remove("NodePool", "three", V1);
    await world.until(
      "no node, no claim, no pool",
      async () =>
        (await nodes()).length === 0 &&
        (await claims()).length === 0 &&
        (await world.list("NodePool", V1)).length === 0,
      10 * MINUTE,
    );
    expect(running()).toEqual([]);
  });
});

describe("pods that cannot be placed", () => {
  it("a pod that requests more than any instance has gets an event with the reason, and others run", async () => {
    await cluster();
    await world.apply(
      INFLATE.replaceAll("inflate", "giant")
        .replace("replicas: 0", "replicas: 1")
        .replace("cpu: 1", "cpu: 9000"),
    );
    await world.scale("inflate", 2);
    await untilRunning(2);
    const messages = await events("FailedScheduling");
    expect(messages.filter((text) => text.startsWith("Failed to schedule pod, "))).not.toEqual([]);
    expect(world.log().join("\n")).toContain("could not schedule pod");
    expect((await claims()).length).toBe(1);
  });

  it("a pod that planning ignores gets an event with the reason, unless it asked to be ignored", async () => {
    await cluster();
    const manifest = INFLATE.replace("replicas: 0", "replicas: 1");
    const volume = "volumes: [{ name: data, persistentVolumeClaim: { claimName: gone } }]";
    await world.apply(
      manifest.replaceAll("inflate", "astray").replace("      containers:", `      ${volume}\n$&`),
    );
    await world.apply(
      manifest
        .replaceAll("inflate", "alone")
        .replace("operator: Exists", "operator: DoesNotExist")
        .replace("cpu: 1", "cpu: 9"),
    );
    await world.advance(MINUTE);
    const all = await world.list<Event>("Event");
    const told = all.filter(({ source }) => source?.component === "karpenter");
    const about = (app: string) =>
      told.filter((one) => one.involvedObject.name.startsWith(app)).map(({ message }) => message);
    expect(about("astray")).toEqual([
      'Failed to schedule pod, persistentvolumeclaim "gone" not found',
    ]);
    expect(about("alone")).toEqual([]);
    expect(world.log().filter((line) => line.includes("ignoring pod")).length).toBeGreaterThan(1);
    expect(await world.box.operator.metrics.render()).toContain(
      "karpenter_scheduler_ignored_pods_count 2",
    );
  });

  it("pods beyond a pool's limits wait with an event, and run once the limits are raised", async () => {
    await cluster();
    await world.apply(POOL.replace("cpu: 2000", "cpu: 4"));
    await world.scale("inflate", 12);
    await world.advance(3 * MINUTE);
    const served = await runningPods();
    expect(served).toBeLessThan(12);
    expect((await events("FailedScheduling")).join("\n")).toContain("limits");
    const { status } = await world.get<KubeObject & { status?: { resources?: { cpu?: string } } }>(
      "NodePool",
      "default",
      V1,
    );
    expect(Number(status?.resources?.cpu)).toBeLessThanOrEqual(4);
    await world.apply(POOL);
    await untilRunning(12);
  });

  it("a failing webhook blocks claims, with the reason on the pods, until it is removed", async () => {
    await cluster();
    await world.apply(brokenWebhook("nodeclaims", "CREATE"));
    await world.scale("inflate", 2);
    await world.advance(2 * MINUTE);
    expect(await claims()).toEqual([]);
    expect((await events("FailedScheduling")).join("\n")).toContain("broken.example.com");
    await world.remove(
      "ValidatingWebhookConfiguration",
      "broken",
      "admissionregistration.k8s.io/v1",
    );
    await untilRunning(2);
  });
});

describe("pods that must not be disturbed", () => {
  it("a PodDisruptionBudget is obeyed while all nodes are deleted at once (60 pods)", async () => {
    await cluster();
    await world.apply(
      `{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: inflate}, spec: {maxUnavailable: 5, selector: {matchLabels: {app: inflate}}}}`,
    );
    await world.scale("inflate", 60);
    await untilRunning(60);
    const first = (await nodes()).map(({ metadata }) => metadata.name);
    for (const name of first) await world.remove("Node", name);
    let fewest = 60;
    await world.until(
      "the first nodes are gone and all pods run",
      async () => {
        const count = await runningPods();
        fewest = Math.min(fewest, count);
        const left = (await nodes()).filter(({ metadata }) => first.includes(metadata.name));
        return left.length === 0 && count === 60;
      },
      60 * MINUTE,
    );
    expect(fewest).toBeGreaterThanOrEqual(55);
  });

  it("a do-not-disrupt pod keeps its otherwise empty node, with an event, until it is gone", async () => {
    await cluster();
    await world.apply(AGENT.replace("ANNOTATION", "karpenter.sh/do-not-disrupt"));
    await world.scale("inflate", 1);
    await untilRunning(1);
    await world.scale("inflate", 0);
    await world.advance(10 * MINUTE);
    expect((await nodes()).length).toBe(1);
    expect((await events("DisruptionBlocked")).join("\n")).toContain("do-not-disrupt");
    await world.apply(AGENT.replace("ANNOTATION", "nothing"));
    await world.remove("DaemonSet", "agent", "apps/v1");
    await world.until("the node is gone", async () => (await nodes()).length === 0, 10 * MINUTE);
  });
});

describe("what the controller reports", () => {
  it("each step in the life of a claim is logged once, and the pool's registration health becomes True", async () => {
    await cluster();
    await world.scale("inflate", 5);
    await untilRunning(5);
    const [claim, ...more] = await claims();
    expect(more).toEqual([]);
    for (const step of ["created", "launched", "registered", "initialized"]) {
      const told = world.log().filter((line) => line.includes(`${step} nodeclaim`));
      expect(told.filter((line) => line.includes(claim?.metadata.name ?? "?"))).toHaveLength(1);
    }
    expect(await poolCondition("default", "NodeRegistrationHealthy")).toBe("True");
    expect(world.log().filter((line) => line.includes("Reconciler error"))).toEqual([]);
  });

  it("changes of the conditions of nodes and classes are events too", async () => {
    await cluster();
    await world.scale("inflate", 1);
    await untilRunning(1);
    await world.apply(nodeClass("default", { subnetSelectorTerms: [{ tags: { no: "such" } }] }));
    await world.advance(MINUTE);
    const all = await world.list<Event>("Event");
    const told = (kind: string) =>
      all.filter((one) => one.involvedObject.kind === kind).map(({ message }) => message ?? "");
    expect(told("Node").join("\n")).toContain("Type: Ready, Status: False -> True");
    expect(told("EC2NodeClass").join("\n")).toContain("Type: SubnetsReady, Status: True -> False");
  });

  it("events and gauges that only inform can be turned off", async () => {
    world = await openWorld({
      sells: isUsual,
      flags: { "disable-cluster-state-observability": "true" },
    });
    await world.apply(POOL);
    await world.apply(INFLATE);
    await world.scale("inflate", 1);
    await untilRunning(1);
    const told = (await world.list<Event>("Event")).map(({ message }) => message ?? "");
    expect(told.filter((text) => text.startsWith("Status condition transitioned"))).toEqual([]);
    const gauges = await world.box.operator.metrics.render();
    for (const name of ["nodes_allocatable", "pods_state", "nodepools_usage"])
      expect(gauges).not.toContain(`karpenter_${name}{`);
    // No series for single objects or conditions. Histograms without labels remain, with zeros.
    expect(gauges).not.toMatch(/^operator_\w*\{(?!le=)/m);
    expect(gauges).toContain("karpenter_cluster_state_synced 1");
    expect(gauges).toContain("karpenter_nodeclaims_created_total{");
  });

  it("a field without effect is reported once for each object", async () => {
    await cluster();
    await world.apply(pool("fixed", { replicas: 0 }));
    await world.advance(MINUTE);
    const told = world.log().filter((line) => line.includes("field is accepted but not acted on"));
    expect(told).toHaveLength(1);
    expect(told[0]).toContain("spec.replicas");
  });

  it("three hundred pods that cannot be placed get one event each, repeated after five minutes", async () => {
    await cluster();
    await world.apply(
      INFLATE.replace("cpu: 1", "cpu: 9000").replace("replicas: 0", "replicas: 300"),
    );
    await world.advance(12 * MINUTE);
    const all = (await world.list<Event>("Event")).filter(
      ({ reason, source }) => reason === "FailedScheduling" && source?.component === "karpenter",
    );
    expect(all).toHaveLength(300);
    expect(all.every(({ count }) => count === 3)).toBe(true);
  });
});

const AGENT = `
apiVersion: apps/v1
kind: DaemonSet
metadata: { name: agent }
spec:
  selector: { matchLabels: { app: agent } }
  template:
    metadata: { labels: { app: agent }, annotations: { ANNOTATION: "true" } }
    spec:
      containers: [{ name: agent, image: agent, resources: { requests: { cpu: 10m } } }]
`;

/** Ids of Karpenter's running or pending instances. */
function running(): readonly string[] {
  const { instances } = world.box.sandbox.aws.state;
  return [...instances.values()]
    .filter(({ fleetId }) => fleetId !== undefined)
    .filter(({ state }) => state === "pending" || state === "running")
    .map(({ id }) => id);
}

function instanceOf(claim: NodeClaim): string {
  return claim.status?.providerID?.split("/").at(-1) as string;
}

/** A Deployment whose pods each need a node of their own. */
function spread(replicas: number): string {
  return INFLATE.replaceAll("inflate", "spread")
    .replace("replicas: 0", `replicas: ${replicas}`)
    .replace(
      "      affinity:",
      [
        "      affinity:",
        "        podAntiAffinity:",
        "          requiredDuringSchedulingIgnoredDuringExecution:",
        "            - topologyKey: kubernetes.io/hostname",
        "              labelSelector: { matchLabels: { app: spread } }",
      ].join("\n"),
    );
}
