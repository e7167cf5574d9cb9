import { afterEach, describe, expect, it } from "vitest";
import { EC2_NODE_CLASS } from "../../../apis/aws/ec2nodeclass.ts";
import { NODE, type Node } from "../../../apis/core/node.ts";
import { NODE_CLAIM } from "../../../apis/karpenter/nodeclaim.ts";
import { VirtualClock } from "../../../base/virtual-clock.ts";
import { type AwsWorld, awsClaim, awsWorld, ec2NodeClass } from "../../../testing/aws-world.ts";
import { pool } from "../../../testing/builders.ts";
import { LearnedMemory } from "./learned-memory.ts";

const MIB = 1_048_576;

describe("the learned memory of nodes", () => {
  it("is recorded if a node has another amount than promised, and only decreases after that", () => {
    const memory = new LearnedMemory(new VirtualClock());
    expect(memory.learn("m5.large", "ami-1", 100, 100)).toBe(false);
    expect(memory.of("m5.large", "ami-1")).toBeUndefined();
    expect(memory.learn("m5.large", "ami-1", 110, 100)).toBe(true);
    // A node that reports exactly the promised memory, which is less than another node of its type and image has.
    expect(memory.learn("m5.large", "ami-1", 100, 100)).toBe(true);
    expect(memory.learn("m5.large", "ami-1", 105, 100)).toBe(false);
    expect(memory.of("m5.large", "ami-1")).toBe(100);
    expect(memory.of("m5.large", "ami-2")).toBeUndefined();
  });

  it("is forgotten after sixty days", async () => {
    const clock = new VirtualClock();
    const memory = new LearnedMemory(clock);
    memory.learn("m5.large", "ami-1", 90, 100);
    await clock.advance(59 * 86_400_000);
    const { version } = memory;
    expect(memory.of("m5.large", "ami-1")).toBe(90);
    await clock.advance(86_400_000);
    expect(memory.version).toBe(version + 1);
    expect(memory.of("m5.large", "ami-1")).toBeUndefined();
  });
});

describe("an instance type", () => {
  let world: AwsWorld;
  afterEach(() => world.stop());

  it("gets the memory that a node of it reported, and other types are unchanged", async () => {
    world = await awsWorld();
    await world.kube.create(EC2_NODE_CLASS, ec2NodeClass());
    await world.clock.advance(1_000);
    const types = async () => {
      const classRef = { group: "karpenter.k8s.aws", kind: "EC2NodeClass", name: "default" };
      const list = await world.settle(world.cloud.getInstanceTypes(pool({ classRef })));
      return new Map(list.map((one) => [one.name, one]));
    };
    const before = await types();
    const only = { key: "node.kubernetes.io/instance-type", operator: "In", values: ["m5.large"] };
    const launched = await world.settle(world.cloud.create(awsClaim([only as never])));
    const had = 7_700 * MIB;
    const node = { metadata: { name: "n" }, spec: {} } as Node;
    await world.kube.create(NODE, node);
    world.kube.change(NODE, "n", { status: { capacity: { memory: `${had / 1_024}Ki` } } });
    const metadata = { ...launched.metadata, name: "c" };
    await world.kube.create(NODE_CLAIM, { ...launched, metadata });
    const conditions = [{ type: "Registered", status: "True" }];
    world.kube.change(NODE_CLAIM, "c", {
      status: { ...launched.status, nodeName: "n", conditions },
    });
    await world.clock.advance(2_000);
    const after = await types();
    expect(before.get("m5.large")?.capacity["memory"]).not.toBe(had);
    expect(after.get("m5.large")?.capacity["memory"]).toBe(had);
    expect(after.get("m5.xlarge")).toBe(before.get("m5.xlarge"));
  });
});
