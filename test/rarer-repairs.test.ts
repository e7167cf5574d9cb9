/**
 * Rarer cases of node repair, live in the sandbox: one cause for many faults, budgets, vetoes, reboots
 * that mend nothing, restarts of the controller, and conditions that come and go.
 */
import { afterEach, describe, expect, it } from "vitest";
import { NODE, type Node } from "../src/apis/core/node.ts";
import { condition } from "../src/apis/karpenter/conditions.ts";
import { NODE_CLAIM, type NodeClaim } from "../src/apis/karpenter/nodeclaim.ts";
import type { KubeObject } from "../src/apis/meta.ts";
import { toRfc3339 } from "../src/base/clock.ts";
import { awsPoolManifest } from "../src/testing/manifests.ts";
import { isUsual, openWorld, type TestWorld } from "./world.ts";

const MINUTE_MS = 60_000;
const GROUP = "karpenter.sh/v1";
const XID = "AcceleratedHardwareReady";

let world: TestWorld;
afterEach(() => world?.close());

/** Opens a world with one pod on each of `count` nodes. */
async function open(count: number, disruption = "{consolidateAfter: Never}") {
  world = await openWorld({
    sells: isUsual,
    logLevel: "info",
    flags: { "feature-gates": "NodeRepair=true", "aws-feature-gates": "RebootForRepair=true" },
  });
  await world.apply(awsPoolManifest({ disruption }));
  await world.apply(`
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: default}
spec:
  replicas: ${count}
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      nodeSelector: {karpenter.sh/nodepool: default}
      topologySpreadConstraints:
        - maxSkew: 1
          topologyKey: topology.kubernetes.io/zone
          whenUnsatisfiable: DoNotSchedule
          labelSelector: {matchLabels: {app: web}}
      affinity:
        podAntiAffinity:
          requiredDuringSchedulingIgnoredDuringExecution:
            - {topologyKey: kubernetes.io/hostname, labelSelector: {matchLabels: {app: web}}}
      containers: [{name: app, image: pause, resources: {requests: {cpu: 500m}}}]
`);
  const ready = async () => (await initialized()).length === count;
  await world.until("all nodes are initialized", ready, 5 * MINUTE_MS);
  await world.advance(MINUTE_MS);
}

const nodes = () => world.list<Node>("Node", "v1", "karpenter.sh/nodepool=default");
const initialized = () => world.list<Node>("Node", "v1", "karpenter.sh/initialized=true");
const names = (all: readonly KubeObject[]) => all.map(({ metadata }) => metadata.name).sort();
const claims = () => world.list("NodeClaim", GROUP);
const zoneOf = ({ metadata }: Node) => metadata.labels?.["topology.kubernetes.io/zone"] ?? "";

async function report(
  name: string,
  [type, status, reason]: readonly [string, "True" | "False", string],
): Promise<void> {
  const node = await world.get<Node>("Node", name, "v1");
  const others = (node.status?.conditions ?? []).filter((one) => one.type !== type);
  const lastTransitionTime = toRfc3339(world.clock.now());
  const conditions = [...others, { type, status, reason, lastTransitionTime }];
  const body = { status: { conditions } };
  await world.client.patch(NODE, { name }, { type: "merge", body }, "status");
}

const rebooting = async (status: string) =>
  (await claims()).filter((claim) => condition(claim, "Rebooting")?.status === status).length;

/** Waits for a reboot of a node from its beginning to its end. */
async function rebooted(): Promise<void> {
  await world.until("a reboot begins", async () => (await rebooting("True")) === 1, 15 * MINUTE_MS);
  await world.until(
    "the reboot ends",
    async () => (await rebooting("False")) === 1,
    15 * MINUTE_MS,
  );
}

describe("node repair", () => {
  it("replaces no node while a whole zone is broken, and says that the zone is the cause", async () => {
    await open(9);
    const before = names(await nodes());
    const zone = zoneOf((await nodes())[0] as Node);
    const broken = (await nodes()).filter((node) => zoneOf(node) === zone);
    expect(broken.length).toBeGreaterThanOrEqual(3);
    for (const { metadata } of broken)
      await report(metadata.name, ["NetworkingReady", "False", "InterfaceDown"]);
    await world.advance(90 * MINUTE_MS);
    expect(names(await nodes())).toEqual(before);
    const stopped = condition(await world.get("NodePool", "default", GROUP), "RepairStopped");
    expect(stopped).toMatchObject({ status: "True", reason: "CommonCause" });
    expect(stopped?.message).toContain(`zone ${zone}`);
    for (const { metadata } of broken)
      await report(metadata.name, ["NetworkingReady", "True", "Up"]);
    await world.advance(5 * MINUTE_MS);
    expect(
      condition(await world.get("NodePool", "default", GROUP), "RepairStopped"),
    ).toBeUndefined();
    expect(names(await nodes())).toEqual(before);
  });

  it("waits while a budget of 0 for the reason Unhealthy is active, and goes on once it is raised", async () => {
    const budgets = (n: string) =>
      `{consolidateAfter: Never, budgets: [{nodes: "${n}", reasons: [Unhealthy]}]}`;
    await open(6, budgets("0"));
    const before = names(await nodes());
    await report(before[0] as string, ["StorageReady", "False", "ReadOnly"]);
    await world.advance(60 * MINUTE_MS);
    expect(names(await nodes())).toEqual(before);
    await world.apply(awsPoolManifest({ disruption: budgets("1") }));
    const isGone = async () => !names(await nodes()).includes(before[0] as string);
    await world.until("the broken node is replaced", isGone, 10 * MINUTE_MS);
    expect(await nodes()).toHaveLength(6);
  });

  it("leaves a node alone whose annotation forbids repair, until the annotation is removed", async () => {
    await open(6);
    const [name = ""] = names(await nodes());
    const veto = (value: string | null) =>
      world.client.patch(
        NODE,
        { name },
        {
          type: "merge",
          body: { metadata: { annotations: { "karpenter.sh/do-not-repair": value } } },
        },
      );
    await veto("true");
    await report(name, ["StorageReady", "False", "ReadOnly"]);
    await world.advance(60 * MINUTE_MS);
    expect(names(await nodes())).toContain(name);
    const said = (await world.list("Event", "v1")) as unknown as readonly { message: string }[];
    expect(said.map(({ message }) => message)).toContain(
      'Repair is blocked through the "karpenter.sh/do-not-repair" annotation',
    );
    await veto(null);
    const isGone = async () => !names(await nodes()).includes(name);
    await world.until("the node is replaced", isGone, 10 * MINUTE_MS);
  });

  it("heeds the annotation on a NodeClaim that registered before, too", async () => {
    await open(3);
    const [claim] = await claims();
    const { name } = claim?.metadata ?? { name: "" };
    const annotations = { "karpenter.sh/do-not-repair": "true" };
    const body = { metadata: { annotations } };
    await world.client.patch(NODE_CLAIM, { name }, { type: "merge", body });
    const node = (claim as NodeClaim).status?.nodeName ?? "";
    await report(node, ["StorageReady", "False", "ReadOnly"]);
    await world.advance(60 * MINUTE_MS);
    expect(names(await claims())).toContain(name);
  });

  it("drains a broken node within the policy's time although a budget of pods forbids evictions", async () => {
    await open(6);
    await world.apply(`
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: web, namespace: default}
spec: {maxUnavailable: 0, selector: {matchLabels: {app: web}}}
`);
    const [name = ""] = names(await nodes());
    await report(name, ["StorageReady", "False", "ReadOnly"]);
    const isGone = async () => !names(await nodes()).includes(name);
    await world.until("the node is replaced", isGone, 45 * MINUTE_MS);
    expect(await nodes()).toHaveLength(6);
  });

  it("replaces a node that two reboots did not mend", async () => {
    await open(6);
    const [name = ""] = names(await nodes());
    for (let times = 0; times < 2; times++) {
      await report(name, [XID, "False", "NvidiaXID48Error"]);
      await rebooted();
      expect(names(await nodes())).toContain(name);
    }
    await report(name, [XID, "False", "NvidiaXID48Error"]);
    const isGone = async () => !names(await nodes()).includes(name);
    await world.until("the node is replaced", isGone, 30 * MINUTE_MS);
    expect(await rebooting("True")).toBe(0);
  });

  it("counts reboots before a restart of the controller, too", async () => {
    await open(6);
    const [name = ""] = names(await nodes());
    for (let times = 0; times < 2; times++) {
      await report(name, [XID, "False", "NvidiaXID48Error"]);
      await rebooted();
      await world.during(world.box.restart());
    }
    await report(name, [XID, "False", "NvidiaXID48Error"]);
    const isGone = async () => !names(await nodes()).includes(name);
    await world.until("the node is replaced", isGone, 30 * MINUTE_MS);
  });

  it("follows the policy whose expression matches the reason, and the fallback if none does", async () => {
    await open(12);
    const [replaced = "", waits = ""] = names(await nodes());
    await report(replaced, [XID, "False", "NvidiaXID64Error"]);
    await report(waits, [XID, "False", "NvidiaUnknownError"]);
    const gone = async (name: string) => !names(await nodes()).includes(name);
    await world.until("the first is replaced", () => gone(replaced), 16 * MINUTE_MS);
    expect(await gone(waits)).toBe(false);
    await world.until("the second is replaced", () => gone(waits), 25 * MINUTE_MS);
    expect(await rebooting("False")).toBe(0);
  });

  it("does nothing about a condition that is well again before its toleration is over, again and again", async () => {
    await open(6);
    const before = names(await nodes());
    for (let times = 0; times < 8; times++) {
      await report(before[0] as string, [XID, "False", "NvidiaXID79Error"]);
      await world.advance(9 * MINUTE_MS);
      await report(before[0] as string, [XID, "True", "Fine"]);
      await world.advance(MINUTE_MS);
    }
    expect(names(await nodes())).toEqual(before);
    expect(names(await claims())).toHaveLength(6);
  });
});
