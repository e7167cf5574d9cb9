import { afterEach, describe, expect, it } from "vitest";
import { EC2_NODE_CLASS } from "../../../apis/aws/ec2nodeclass.ts";
import { isTrue } from "../../../apis/karpenter/conditions.ts";
import { NODE_POOL } from "../../../apis/karpenter/nodepool.ts";
import { VirtualClock } from "../../../base/virtual-clock.ts";
import type { SimulatedAws } from "../../../sandbox/ec2/simulated-aws.ts";
import { type AwsWorld, awsClaim, awsWorld, ec2NodeClass } from "../../../testing/aws-world.ts";
import { nodePool, pool } from "../../../testing/builders.ts";
import { Quotas } from "./quotas.ts";
import { readQuotas } from "./read-quotas.ts";
import { quotaOf } from "./vcpu-quotas.ts";

const CLASS_REF = { group: "karpenter.k8s.aws", kind: "EC2NodeClass", name: "default" };
const STANDARD = "L-1216C47A";
/** vCPUs of the two machines in the simulated account's own node group. */
const OF_NODE_GROUP = 4;

describe("the vCPU quota of an instance type", () => {
  const everyCode = { has: () => true };
  const cases: readonly [type: string, capacityType: "on-demand" | "spot", code?: string][] = [
    ["m5.large", "on-demand", STANDARD],
    ["im4gn.large", "on-demand", STANDARD],
    ["is4gen.large", "spot", "L-34B43A08"],
    ["inf2.xlarge", "on-demand", "L-1945791B"],
    ["trn1.2xlarge", "spot", "L-6B0D517C"],
    ["t3.small", "spot", "L-34B43A08"],
    ["gr6.4xlarge", "on-demand", "L-DB2E81BA"],
    ["u7i-12tb.224xlarge", "on-demand", "L-43DA4232"],
    ["x2gd.large", "spot", "L-E3A00192"],
    ["p5en.48xlarge", "spot", "L-C4BD4855"],
    ["p4d.24xlarge", "spot", "L-7212CCBC"],
    ["hpc7a.96xlarge", "spot"],
    ["mac2.metal", "on-demand"],
  ];
  it.each(cases)("of %s as %s has the code %s", (type, capacityType, code) => {
    expect(quotaOf(type, capacityType, everyCode)).toBe(code);
  });

  it("is one that the account has", () => {
    const older = { has: (code: string) => code !== "L-C4BD4855" };
    expect(quotaOf("p5.48xlarge", "spot", older)).toBe("L-7212CCBC");
  });
});

describe("launches under a vCPU quota", () => {
  const VCPUS = new Map([
    ["m5.large", 2],
    ["m5.xlarge", 4],
  ]);
  const reading = (askedMs: number, running = 0) => ({
    askedMs,
    quotas: new Map([[STANDARD, { name: "Standard", vcpus: 6 }]]),
    running: Array.from({ length: running }, () => ({ InstanceType: "m5.large" })),
    reserved: [],
    vcpus: VCPUS,
  });
  const fitting = (quotas: Quotas): readonly string[] =>
    [...VCPUS.keys()].filter((type) => quotas.refusal(type, "on-demand") === undefined);

  it("count until EC2 lists their instances", async () => {
    const clock = new VirtualClock();
    const quotas = new Quotas(clock);
    expect(fitting(quotas)).toEqual(["m5.large", "m5.xlarge"]);
    quotas.take(reading(clock.elapsedMs(), 1));
    const before = quotas.version;
    const settle = quotas.hold("m5.large", "on-demand");
    expect(quotas.version).toBeGreaterThan(before);
    expect(fitting(quotas)).toEqual(["m5.large"]);
    settle(true);
    await clock.advance(5_000);
    quotas.take(reading(clock.elapsedMs(), 1));
    expect(fitting(quotas)).toEqual(["m5.large"]);
    await clock.advance(60_000);
    quotas.take(reading(clock.elapsedMs(), 2));
    expect(fitting(quotas)).toEqual(["m5.large"]);
    expect(quotas.refusal("m5.xlarge", "on-demand")).toBe(
      `4 of 6 vCPUs of EC2's quota "Standard" (${STANDARD}) are used`,
    );
  });

  it("that EC2 refused no longer count", () => {
    const quotas = new Quotas(new VirtualClock());
    quotas.take(reading(0, 1));
    quotas.hold("m5.xlarge", "on-demand")(false);
    expect(fitting(quotas)).toEqual(["m5.large", "m5.xlarge"]);
  });

  it("have no room that a capacity reservation takes, used or not", () => {
    const quotas = new Quotas(new VirtualClock());
    const running = [{ InstanceType: "m5.large", CapacityReservationId: "cr-1" }];
    quotas.take({ ...reading(0), running, reserved: [{ InstanceType: "m5.large", count: 2 }] });
    expect(quotas.list().map(({ used }) => used)).toEqual([4]);
    expect(fitting(quotas)).toEqual(["m5.large"]);
  });

  it("into reservations and capacity blocks count against no quota", () => {
    const quotas = new Quotas(new VirtualClock());
    const running = [
      { InstanceType: "m5.xlarge", CapacityReservationId: "cr-1" },
      { InstanceType: "m5.xlarge", InstanceLifecycle: "capacity-block" },
    ];
    quotas.take({ ...reading(0), running });
    expect(quotas.list()).toEqual([{ code: STANDARD, name: "Standard", allowed: 6, used: 0 }]);
  });
});

describe("with --enable-quota-awareness", () => {
  let world: AwsWorld;
  afterEach(() => world.stop());

  async function begin(vcpus: number, quotaAwareness = true): Promise<void> {
    const prepare = ({ faults }: SimulatedAws) =>
      void faults.limitQuota({ capacityType: "on-demand", vcpus });
    world = await awsWorld({ quotaAwareness }, { prepare });
    await world.kube.create(EC2_NODE_CLASS, ec2NodeClass());
    await world.clock.advance(1_000);
  }

  const typesOf = () => world.settle(world.cloud.getInstanceTypes(pool({ classRef: CLASS_REF })));
  const onDemand = (type: string) =>
    awsClaim([
      { key: "node.kubernetes.io/instance-type", operator: "In", values: [type] },
      { key: "karpenter.sh/capacity-type", operator: "In", values: ["on-demand"] },
    ]);

  it("on-demand offerings beyond the quota are unavailable, and the reason is logged", async () => {
    await begin(OF_NODE_GROUP + 3);
    const types = await typesOf();
    const offers = (name: string) => types.find((one) => one.name === name)?.offerings ?? [];
    const open = (name: string) =>
      [...new Set(offers(name).flatMap((one) => (one.available ? [one.capacityType] : [])))].sort();
    expect(open("m5.large")).toEqual(["on-demand", "spot"]);
    expect(open("m5.xlarge")).toEqual(["spot"]);
    const refused = offers("m5.xlarge").find((one) => one.capacityType === "on-demand");
    expect(refused?.unavailableBecause).toBe(
      `4 of 7 vCPUs of EC2's quota "Running On-Demand Standard (A, C, D, H, I, M, R, T, Z) instances" (${STANDARD}) are used`,
    );
  });

  it("launches stop at the quota without a call that EC2 would refuse", async () => {
    await begin(OF_NODE_GROUP + 5);
    const asked = () => world.aws.journal.calls({ action: "CreateFleet" }).length;
    const claims = [1, 2, 3].map(() => world.cloud.create(onDemand("m5.large")));
    const results = await world.settle(Promise.allSettled(claims));
    expect(results.map(({ status }) => status)).toEqual(["fulfilled", "fulfilled", "rejected"]);
    expect(String((results[2] as PromiseRejectedResult).reason)).toContain(
      "no quota has room for it: 8 of 9 vCPUs",
    );
    expect(asked()).toBe(2);
  });

  it.each([
    ["an own reservation", {}, true, 4],
    ["another account's reservation", { OwnerId: "999999999999" }, false, 0],
    ["a capacity block", { ReservationType: "capacity-block" }, false, 0],
  ] as const)("%s counts as EC2 counts it", async (_, given, isFull, more) => {
    const seed = {
      InstanceType: "m5.xlarge",
      AvailabilityZone: "us-west-2a",
      TotalInstanceCount: 1,
    };
    const vcpus = OF_NODE_GROUP + 5;
    const prepare = (aws: SimulatedAws) => {
      aws.faults.limitQuota({ capacityType: "on-demand", vcpus });
      aws.controls.addReservation({ ...seed, ...given });
    };
    world = await awsWorld({ quotaAwareness: true }, { prepare });
    await world.kube.create(EC2_NODE_CLASS, ec2NodeClass());
    await world.clock.advance(61_000);
    const { quotas, running, reserved } = await readQuotas(world.aws.api);
    const known = new Quotas(world.clock);
    const sizes = new Map([...running, ...reserved].map((one) => [one.InstanceType, 4]));
    known.take({ askedMs: 0, quotas, running: [], reserved, vcpus: sizes });
    expect(known.list().find(({ code }) => code === STANDARD)?.used).toBe(more);
    const offers = (await typesOf()).find((one) => one.name === "m5.xlarge")?.offerings ?? [];
    const refused = offers.find((one) => one.capacityType === "on-demand")?.unavailableBecause;
    const launch = world.settle(world.cloud.create(onDemand("m5.xlarge")));
    if (isFull) {
      expect(refused).toContain(`${OF_NODE_GROUP + more} of ${vcpus} vCPUs`);
      await expect(launch).rejects.toThrow("no capacity offerings are currently available");
    } else {
      expect(refused).toBeUndefined();
      await launch;
    }
  });

  it("only NodePools that launch under a nearly full quota get an event", async () => {
    await begin(OF_NODE_GROUP);
    const spot = [{ key: "karpenter.sh/capacity-type", operator: "In" as const, values: ["spot"] }];
    for (const [name, requirements] of [
      ["any", []],
      ["spot", spot],
    ] as const) {
      const template = { nodeClassRef: CLASS_REF, requirements };
      await world.kube.create(NODE_POOL, nodePool({ name, template }));
      const asked = { name, id: `nodepool/${name}`, classRef: CLASS_REF };
      await world.settle(world.cloud.getInstanceTypes(pool(asked)));
    }
    await world.clock.advance(61_000);
    const told = world.events.filter(({ reason }) => reason === "QuotaNear");
    expect(told.map(({ object }) => object.metadata.name)).toEqual(["any"]);
    expect(told[0]?.message).toContain("4 of 4 vCPUs of EC2's quota \"Running On-Demand Standard");
  });

  it("a NodePool whose status cannot be written keeps no other one from its condition QuotaNear", async () => {
    await begin(OF_NODE_GROUP);
    for (const name of ["a", "b"]) {
      const template = { nodeClassRef: CLASS_REF, requirements: [] };
      await world.kube.create(NODE_POOL, nodePool({ name, template }));
      const asked = { name, id: `nodepool/${name}`, classRef: CLASS_REF };
      await world.settle(world.cloud.getInstanceTypes(pool(asked)));
    }
    const { patch } = world.kube;
    world.kube.patch = async (...given) => {
      if (given[1].name === "a") throw new Error("a webhook fails");
      return patch(...given);
    };
    await world.clock.advance(61_000);
    const shown = (await world.settle(world.kube.list(NODE_POOL))).items.map((one) =>
      isTrue(one, "QuotaNear"),
    );
    expect(shown).toEqual([false, true]);
  });

  it("the last values stay while AWS does not answer, and a raised quota counts within a minute", async () => {
    await begin(OF_NODE_GROUP);
    const standard = async () =>
      (await typesOf())
        .find((one) => one.name === "m5.large")
        ?.offerings.some((one) => one.available && one.capacityType === "on-demand");
    expect(await standard()).toBe(false);
    world.aws.faults.clear();
    const undo = world.aws.faults.unreachable("servicequotas");
    await world.clock.advance(61_000);
    expect(await standard()).toBe(false);
    undo();
    await world.clock.advance(121_000);
    expect(await standard()).toBe(true);
  });

  it.each([
    ["no quota", []],
    ["a quota without a number", [{ QuotaCode: STANDARD, QuotaName: "Standard" }]],
    ["a number that is none", [{ QuotaCode: STANDARD, QuotaName: "Standard", Value: Number.NaN }]],
  ])("an answer with %s blocks no launch", async (_, Quotas) => {
    const listServiceQuotas = async () => ({ Quotas });
    const prepare = ({ api }: SimulatedAws) =>
      void Object.assign(api.servicequotas, { listServiceQuotas });
    world = await awsWorld({ quotaAwareness: true }, { prepare });
    await world.kube.create(EC2_NODE_CLASS, ec2NodeClass());
    await world.clock.advance(61_000);
    await world.settle(world.cloud.create(onDemand("m5.large")));
  });

  it("without that setting quotas are not read, and EC2 refuses launches", async () => {
    await begin(OF_NODE_GROUP, false);
    await expect(world.settle(world.cloud.create(onDemand("m5.large")))).rejects.toThrow(
      "VcpuLimitExceeded",
    );
    expect(world.aws.journal.calls({ service: "servicequotas" })).toEqual([]);
  });
});
