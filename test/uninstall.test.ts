/**
 * The recipes of docs/guide/uninstall.md: a proper uninstall that leaves nothing, and objects that remain because their
 * finalizers are not removed. test/safety.test.ts covers deleted definitions and a restored etcd.
 */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { NODE } from "../src/apis/core/node.ts";
import { NODE_CLAIM, type NodeClaim } from "../src/apis/karpenter/nodeclaim.ts";
import { NODE_POOL } from "../src/apis/karpenter/nodepool.ts";
import type { Kind } from "../src/apis/meta.ts";
import { awsPoolManifest, webManifest } from "../src/testing/manifests.ts";
import { isUsual, openWorld, type TestWorld } from "./world.ts";

const OBJECTS = `${awsPoolManifest()}---${webManifest(8)}`;
const FOREGROUND = { propagationPolicy: "Foreground" } as const;

describe("the uninstallation of Karpenter", () => {
  let world: TestWorld;

  const claims = () => world.list<NodeClaim>("NodeClaim", "karpenter.sh/v1");
  const nodes = () => world.list("Node", "v1", "karpenter.sh/nodepool");
  const instances = () =>
    [...world.box.sandbox.aws.state.instances.values()]
      .filter(({ fleetId, state }) => fleetId !== undefined && state === "running")
      .map(({ id }) => id);

  beforeEach(async () => {
    world = await openWorld({ sells: isUsual });
    await world.apply(OBJECTS);
    await world.until("nodes are there", async () => (await nodes()).length > 0);
    await world.advance(60_000);
  });
  afterEach(() => world?.close());

  it("in order: NodePools are deleted with their nodes, and nothing is left in AWS", async () => {
    await world.client.delete(NODE_POOL as Kind, { name: "default" }, FOREGROUND);
    const gone = async () => (await claims()).length + (await nodes()).length === 0;
    await world.until("claims and nodes are gone", gone, 1_800_000);
    await world.until("the instances have ended", () => instances().length === 0, 600_000);
    expect(await world.list("NodePool", "karpenter.sh/v1")).toEqual([]);
    await world.remove("EC2NodeClass", "default", "karpenter.k8s.aws/v1");
    const classes = () => world.list("EC2NodeClass", "karpenter.k8s.aws/v1");
    await world.until("the class is gone", async () => (await classes()).length === 0);
    const profiles = world.box.sandbox.aws.journal.calls({ action: "DeleteInstanceProfile" });
    expect(profiles.length).toBeGreaterThan(0);
  });

  it("without the controller: objects stay, and their deletion continues once it is installed again", async () => {
    await world.box.operator.stop();
    for (const { metadata } of await claims())
      await world.client.delete(NODE_CLAIM as Kind, { name: metadata.name });
    await world.advance(600_000);
    const before = await claims();
    expect(before.length).toBeGreaterThan(0);
    expect(before.every(({ metadata }) => metadata.deletionTimestamp !== undefined)).toBe(true);
    const names = new Set(before.map(({ metadata }) => metadata.name));
    await world.box.restart();
    const left = async () => (await claims()).filter(({ metadata }) => names.has(metadata.name));
    await world.until("they have ended", async () => (await left()).length === 0, 1_800_000);
  });

  it("without the controller: instances remain for the user to terminate if finalizers are removed by hand", async () => {
    await world.box.operator.stop();
    const before = instances();
    for (const { metadata } of await claims())
      await world.client.delete(NODE_CLAIM as Kind, { name: metadata.name });
    const body = { metadata: { finalizers: null } };
    for (const { metadata } of await claims())
      await world.client.patch(
        NODE_CLAIM as Kind,
        { name: metadata.name },
        { type: "merge", body },
      );
    for (const { metadata } of await nodes()) {
      await world.client.patch(NODE as Kind, { name: metadata.name }, { type: "merge", body });
      await world.client.delete(NODE as Kind, { name: metadata.name }).catch(() => undefined);
    }
    await world.advance(60_000);
    expect(await claims()).toEqual([]);
    // The instances still run and cost money. The recipe's last step is to terminate those with the tags.
    expect(instances()).toEqual(before);
    const filters = [
      { Name: "tag-key", Values: ["karpenter.sh/nodepool"] },
      { Name: "tag:kubernetes.io/cluster/karpenter-demo", Values: ["owned"] },
      { Name: "instance-state-name", Values: ["running"] },
    ];
    const { ec2 } = world.box.sandbox.aws.api;
    const { Reservations } = await ec2.describeInstances({ Filters: filters });
    const found = Reservations.flatMap((one) => one.Instances.map(({ InstanceId }) => InstanceId));
    expect([...found].sort()).toEqual([...before].sort());
    await ec2.terminateInstances({ InstanceIds: found });
    await world.advance(120_000);
    expect(instances()).toEqual([]);
  });
});
