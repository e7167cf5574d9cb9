import { afterEach, describe, expect, it } from "vitest";
import { EC2_NODE_CLASS, type EC2NodeClass } from "../../apis/aws/ec2nodeclass.ts";
import { SERVICE } from "../../apis/core/kinds.ts";
import { NODE } from "../../apis/core/node.ts";
import { MACHINE } from "../../apis/karpenter/machine.ts";
import { NODE_CLAIM, type NodeClaim } from "../../apis/karpenter/nodeclaim.ts";
import type { RequirementSpec } from "../../apis/karpenter/nodepool.ts";
import { InsufficientCapacityError } from "../../core/cloudprovider/errors.ts";
import type { SimulatedAws } from "../../sandbox/ec2/simulated-aws.ts";
import {
  type AwsWorld,
  awsClaim,
  awsWorld,
  CLUSTER,
  ec2NodeClass,
} from "../../testing/aws-world.ts";
import { pool } from "../../testing/builders.ts";
import type { CreateFleetInput } from "./api/launches.ts";
import type { AwsSettings } from "./parts.ts";

const CLASS_REF = { group: "karpenter.k8s.aws", kind: "EC2NodeClass", name: "default" };
const TYPE = "node.kubernetes.io/instance-type";
const CAPACITY = "karpenter.sh/capacity-type";
const RESERVATION = "karpenter.k8s.aws/capacity-reservation-id";

let world: AwsWorld;
afterEach(() => world.stop());

async function begin(
  spec: Partial<EC2NodeClass["spec"]> = {},
  settings: Partial<AwsSettings> = {},
  prepare: () => void = () => undefined,
): Promise<void> {
  world = await awsWorld(settings);
  prepare();
  await world.kube.create(EC2_NODE_CLASS, ec2NodeClass(spec));
  await world.clock.advance(1_000);
}

function asking(requirements: Readonly<Record<string, readonly string[]>>): NodeClaim {
  const specs = Object.entries(requirements).map(
    ([key, values]): RequirementSpec => ({ key, operator: "In", values }),
  );
  return awsClaim(specs);
}

let claims = 0;

/** Another claim with equal requirements, because one claim gets only one instance, however often it is launched. */
function another(claim: NodeClaim): NodeClaim {
  return { ...claim, metadata: { ...claim.metadata, uid: `uid-another-${++claims}` } };
}

function launch(claim: NodeClaim): Promise<NodeClaim> {
  return world.settle(world.cloud.create(claim));
}

function fleet(): CreateFleetInput | undefined {
  return world.aws.journal.inputs<CreateFleetInput>("CreateFleet").at(-1);
}

function nodeClass(): EC2NodeClass {
  return world.kube.find(EC2_NODE_CLASS, "default") as EC2NodeClass;
}

function conditionOf(type: string) {
  return nodeClass().status?.conditions?.find((one) => one.type === type);
}

async function offerings(type: string) {
  const types = await world.settle(world.cloud.getInstanceTypes(pool({ classRef: CLASS_REF })));
  return types.find((one) => one.name === type)?.offerings ?? [];
}

/** Only m5.xlarge of the simulated types can run enclaves. */
function sellEnclaves({ api }: SimulatedAws): void {
  const { describeInstanceTypes } = api.ec2;
  const answer: typeof describeInstanceTypes = async (input) => {
    const page = await describeInstanceTypes.call(api.ec2, input);
    const InstanceTypes = page.InstanceTypes.map((one) =>
      one.InstanceType === "m5.xlarge" ? { ...one, NitroEnclavesSupport: "supported" } : one,
    );
    return { ...page, InstanceTypes };
  };
  Object.assign(api.ec2, { describeInstanceTypes: answer });
}

const TWO = { InstanceType: "m5.large", AvailabilityZone: "us-east-1a", TotalInstanceCount: 2 };
const OF_CR = [{ tags: { team: "a" } }];
const tags = [{ Key: "team", Value: "a" }];

async function withReservation(
  seed: object = {},
  settings: Partial<AwsSettings> = {},
): Promise<string> {
  let id = "";
  await begin({ capacityReservationSelectorTerms: OF_CR }, settings, () => {
    id = world.aws.controls.addReservation({ ...TWO, ...seed, tags });
  });
  return id;
}

describe("capacity reservations of an EC2NodeClass", () => {
  it("are in the status of the class and in the offerings, with their free count", async () => {
    const id = await withReservation();
    expect(nodeClass().status?.capacityReservations).toMatchObject([
      { id, instanceType: "m5.large", availabilityZone: "us-east-1a", state: "active" },
    ]);
    expect(conditionOf("CapacityReservationsReady")?.status).toBe("True");
    const reserved = (await offerings("m5.large")).filter((one) => one.capacityType === "reserved");
    expect(reserved).toMatchObject([
      {
        zone: "us-east-1a",
        available: true,
        reservationCapacity: 2,
        labels: { [RESERVATION]: id },
      },
    ]);
    expect((await offerings("m5.xlarge")).some((one) => one.capacityType === "reserved")).toBe(
      false,
    );
  });

  it("are launched into, and their free count falls to 0", async () => {
    const id = await withReservation();
    const claim = asking({ [CAPACITY]: ["reserved"], [RESERVATION]: [id] });
    const launched = await launch(claim);
    expect(launched.metadata.labels).toMatchObject({ [CAPACITY]: "reserved", [RESERVATION]: id });
    const template = world.templates().at(-1);
    expect(template?.CapacityReservationSpecification).toEqual({
      CapacityReservationPreference: "capacity-reservations-only",
      CapacityReservationTarget: { CapacityReservationId: id },
    });
    expect(fleet()?.TargetCapacitySpecification.DefaultTargetCapacityType).toBe("on-demand");
    const again = await world.settle(world.cloud.get(launched.status?.providerID ?? ""));
    expect(again.metadata.labels?.[CAPACITY]).toBe("reserved");
    await launch(claim);
    await expect(launch(claim)).rejects.toThrow(InsufficientCapacityError);
  });

  it("have a free place again after an instance in them ended", async () => {
    const id = await withReservation({ TotalInstanceCount: 1 });
    const claim = asking({ [CAPACITY]: ["reserved"], [RESERVATION]: [id] });
    const launched = await launch(claim);
    await world.settle(world.cloud.delete(launched));
    await world.clock.advance(30_000);
    await expect(world.settle(world.cloud.delete(launched))).rejects.toThrow("not found");
    await expect(launch(claim)).resolves.toBeDefined();
  });

  it("free one place for each ended instance, once", async () => {
    const id = await withReservation();
    const launched = await launch(asking({ [CAPACITY]: ["reserved"], [RESERVATION]: [id] }));
    await world.settle(world.cloud.delete(launched));
    await world.clock.advance(30_000);
    const room = async (): Promise<number | undefined> =>
      (await offerings("m5.large")).find((one) => one.capacityType === "reserved")
        ?.reservationCapacity;
    for (const _ of [1, 2, 3])
      await expect(world.settle(world.cloud.delete(launched))).rejects.toThrow("not found");
    expect(await room()).toBe(2);
  });

  it("are unavailable for three minutes after an instance in them was interrupted, each one separately", async () => {
    const id = await withReservation({}, { interruptionQueue: CLUSTER });
    const sibling = world.aws.controls.addReservation({ ...TWO, tags });
    await world.clock.advance(61_000);
    const launched = await launch(asking({ [CAPACITY]: ["reserved"], [RESERVATION]: [id] }));
    await world.kube.create(NODE_CLAIM, launched);
    world.kube.change(NODE_CLAIM, launched.metadata.name, { status: launched.status });
    const queue = { QueueName: CLUSTER };
    const { QueueUrl } = (await world.aws.call("sqs", "GetQueueUrl", queue)) as {
      QueueUrl: string;
    };
    const MessageBody = JSON.stringify({
      version: "0",
      source: "aws.ec2",
      "detail-type": "EC2 Capacity Reservation Instance Interruption Warning",
      detail: { "instance-id": launched.status?.providerID?.split("/").at(-1) },
    });
    await world.aws.call("sqs", "SendMessage", { QueueUrl, MessageBody });
    await world.clock.advance(1_000);
    const shown = async (reservation: string): Promise<unknown> => {
      const one = (await offerings("m5.large")).find(
        ({ labels }) => labels?.[RESERVATION] === reservation,
      );
      return [one?.available, one?.reservationCapacity];
    };
    expect(await shown(id)).toEqual([false, 1]);
    expect(await shown(sibling)).toEqual([true, 2]);
    await world.clock.advance(181_000);
    expect(await shown(id)).toEqual([true, 1]);
  });

  it("are not used by launches that name no reservation", async () => {
    await withReservation();
    await launch(asking({ [TYPE]: ["m5.large"], [CAPACITY]: ["on-demand"] }));
    expect(world.templates().at(-1)?.CapacityReservationSpecification).toEqual({
      CapacityReservationPreference: "none",
    });
  });

  it("cause drift if the class no longer selects them", async () => {
    const id = await withReservation();
    const launched = await launch(asking({ [CAPACITY]: ["reserved"], [RESERVATION]: [id] }));
    expect(await world.settle(world.cloud.isDrifted(launched))).toBeUndefined();
    world.kube.change(EC2_NODE_CLASS, "default", {
      spec: { capacityReservationSelectorTerms: [] },
    });
    await world.clock.advance(2_000);
    expect(await world.settle(world.cloud.isDrifted(launched))).toBe("CapacityReservationDrift");
  });

  it("can be selected by zone", async () => {
    const zones = ["us-east-1a", "us-east-1b"];
    let ids: readonly string[] = [];
    const terms = [{ tags: { team: "a" }, availabilityZone: "us-east-1b" }];
    await begin({ capacityReservationSelectorTerms: terms }, {}, () => {
      ids = zones.map((AvailabilityZone) =>
        world.aws.controls.addReservation({
          ...TWO,
          AvailabilityZone,
          tags: [{ Key: "team", Value: "a" }],
        }),
      );
    });
    expect(nodeClass().status?.capacityReservations?.map(({ id }) => id)).toEqual([ids[1]]);
  });

  it("that are capacity blocks are left before they end", async () => {
    world = await awsWorld();
    const endMs = world.clock.now() + 45 * 60_000;
    const id = world.aws.controls.addReservation({
      ...TWO,
      ReservationType: "capacity-block",
      EndDate: new Date(endMs).toISOString(),
      tags,
    });
    await world.kube.create(
      EC2_NODE_CLASS,
      ec2NodeClass({ capacityReservationSelectorTerms: [{ id }] }),
    );
    await world.clock.advance(1_000);
    const launched = await launch(asking({ [CAPACITY]: ["reserved"], [RESERVATION]: [id] }));
    expect(fleet()?.TargetCapacitySpecification.DefaultTargetCapacityType).toBe("capacity-block");
    expect(world.templates().at(-1)?.InstanceMarketOptions).toEqual({
      MarketType: "capacity-block",
    });
    await world.kube.create(NODE_CLAIM, {
      ...launched,
      metadata: { ...launched.metadata, name: "c" },
    });
    await world.clock.advance(3 * 60_000);
    expect(world.kube.find(NODE_CLAIM, "c")).toBeDefined();
    await world.clock.advance(4 * 60_000);
    expect(world.kube.find(NODE_CLAIM, "c")).toBeUndefined();
    expect(nodeClass().status?.capacityReservations?.[0]?.state).toBe("expiring");
  });

  it("are ignored while the feature gate is off", async () => {
    await begin({ capacityReservationSelectorTerms: OF_CR }, { reservedCapacity: false }, () => {
      world.aws.controls.addReservation({ ...TWO, tags });
    });
    expect(world.aws.journal.calls({ action: "DescribeCapacityReservations" })).toEqual([]);
    await launch(asking({ [TYPE]: ["m5.large"], [CAPACITY]: ["on-demand"] }));
    expect(world.templates().at(-1)).not.toHaveProperty("CapacityReservationSpecification");
  });
});

describe("placement groups of an EC2NodeClass", () => {
  it("are found by name, launched into, and shown on the claim", async () => {
    let id = "";
    await begin({ placementGroupSelector: { name: "near" } }, {}, () => {
      id = world.aws.controls.addPlacementGroup({ GroupName: "near", Strategy: "cluster" });
    });
    expect(conditionOf("PlacementGroupReady")?.status).toBe("True");
    const near = await offerings("c5n.18xlarge");
    expect(near.some((one) => one.available)).toBe(true);
    const launched = await launch(asking({ [TYPE]: ["c5n.18xlarge"], [CAPACITY]: ["on-demand"] }));
    expect(world.templates().at(-1)?.Placement).toEqual({ GroupId: id });
    expect(launched.metadata.labels?.["karpenter.k8s.aws/placement-group-id"]).toBe(id);
  });

  it("with partitions: if one partition has no capacity, the next one is used", async () => {
    await begin({ placementGroupSelector: { name: "p" } }, {}, () => {
      const seed = { GroupName: "p", Strategy: "partition", PartitionCount: 3 } as const;
      world.aws.controls.addPlacementGroup(seed);
    });
    const key = "karpenter.k8s.aws/placement-group-partition";
    const claim = asking({ [TYPE]: ["m5.large"], [CAPACITY]: ["on-demand"], [key]: ["2", "3"] });
    expect((await launch(another(claim))).metadata.labels?.[key]).toBe("2");
    world.aws.faults.limitCapacity({ instanceType: "m5.large" });
    await expect(launch(another(claim))).rejects.toThrow(InsufficientCapacityError);
    world.aws.faults.clear();
    // All zones of partition 2 are marked as unavailable, but not the whole group.
    expect((await launch(another(claim))).metadata.labels?.[key]).toBe("3");
    expect((await offerings("m5.large")).filter((one) => one.available)).toHaveLength(6);
    await world.clock.advance(181_000);
    expect((await launch(another(claim))).metadata.labels?.[key]).toBe("2");
  });

  it("with partitions: the partition that EC2 chose is a label before the node is registered", async () => {
    await begin({ placementGroupSelector: { name: "p" } }, {}, () => {
      const seed = { GroupName: "p", Strategy: "partition", PartitionCount: 2 } as const;
      world.aws.controls.addPlacementGroup(seed);
    });
    const key = "karpenter.k8s.aws/placement-group-partition";
    for (const partition of ["1", "2", "1"]) {
      const launched = await launch(another(asking({ [TYPE]: ["m5.large"] })));
      expect(launched.metadata.labels).not.toHaveProperty([key]);
      const labels = world.cloud.labelsOfRunning?.(launched) ?? Promise.resolve({});
      expect(await world.settle(labels)).toEqual({ [key]: partition });
    }
    const other = { ...awsClaim([]), metadata: { name: "o", labels: {} } };
    expect(await world.cloud.labelsOfRunning?.(other)).toEqual({});
  });

  it("with the strategy spread are full after seven instances in a zone, whatever the type", async () => {
    await begin({ placementGroupSelector: { name: "s" } }, {}, () => {
      world.aws.controls.addPlacementGroup({ GroupName: "s", Strategy: "spread" });
    });
    const claim = asking({
      [TYPE]: ["m5.large", "m5.xlarge"],
      [CAPACITY]: ["on-demand"],
      "topology.kubernetes.io/zone": ["us-east-1a"],
    });
    for (let count = 0; count < 7; count++) await launch(another(claim));
    await expect(launch(another(claim))).rejects.toThrow(
      "limit of instances in this spread placement",
    );
    const inZone = async (type: string) =>
      (await offerings(type)).filter((one) => one.available && one.zone === "us-east-1a");
    expect(await inZone("m5.xlarge")).toMatchObject([{ capacityType: "spot" }]);
    // Only the group is full, so another class can launch the same types.
    const marks = world.said.filter((line) => line.includes('"placement-group"'));
    expect(new Set(marks).size).toBe(2);
  });

  it("that do not exist keep the class from being ready", async () => {
    await begin({ placementGroupSelector: { name: "none" } });
    expect(conditionOf("PlacementGroupReady")).toMatchObject({
      status: "False",
      reason: "PlacementGroupNotFound",
      message:
        'PlacementGroupSelector did not match any Placement Group: spec.placementGroupSelector is {"name":"none"}; name one that is available in this region, or create it',
    });
    expect(conditionOf("Ready")?.status).toBe("False");
  });
});

describe("network interfaces and CPU options of an instance", () => {
  it("are as the class says, including prefixes and timeouts", async () => {
    await begin({
      ipPrefixCount: 2,
      connectionTracking: { tcpEstablishedTimeout: 400, udpTimeout: 40 },
    });
    await launch(asking({ [TYPE]: ["m5.large"], [CAPACITY]: ["on-demand"] }));
    const data = world.templates().at(-1);
    expect(data?.NetworkInterfaces).toMatchObject([
      {
        DeviceIndex: 0,
        Ipv4PrefixCount: 2,
        ConnectionTrackingSpecification: { TcpEstablishedTimeout: 400, UdpTimeout: 40 },
      },
    ]);
  });

  it("have addresses of an IPv6 cluster, and the node's configuration has them too", async () => {
    world = await awsWorld(
      {},
      {
        prepare: ({ state }) =>
          Object.assign(state.cluster, {
            kubernetesNetworkConfig: { serviceIpv6Cidr: "fd00:10::/108", ipFamily: "ipv6" },
          }),
      },
    );
    const service = { metadata: { namespace: "kube-system", name: "kube-dns" } };
    await world.kube.create(SERVICE, { ...service, spec: { clusterIP: "fd00:10::a" } } as never);
    await world.kube.create(EC2_NODE_CLASS, ec2NodeClass({ ipPrefixCount: 1 }));
    await world.clock.advance(1_000);
    await launch(asking({ [TYPE]: ["m5.large"], [CAPACITY]: ["on-demand"] }));
    const data = world.templates().at(-1);
    expect(data?.NetworkInterfaces).toMatchObject([
      { DeviceIndex: 0, Ipv6AddressCount: 1, PrimaryIpv6: true, Ipv6PrefixCount: 1 },
    ]);
    const userData = Buffer.from(data?.UserData ?? "", "base64").toString();
    expect(userData).toContain("cidr: fd00:10::/108");
    expect(userData).toContain("fd00:10::a");
    await world.clock.advance(10_000);
    const running = world.instances.find((one) => one.type === "running");
    expect(running?.problem).toBeUndefined();
    expect(running?.kubelet?.allocatable["pods"]).toBe("29");
  });

  it("leave only instance types that support them", async () => {
    await begin({
      networkInterfaces: [
        { networkCardIndex: 0, deviceIndex: 0, interfaceType: "interface" },
        { networkCardIndex: 1, deviceIndex: 1, interfaceType: "efa-only" },
      ],
    });
    expect((await offerings("m5.large")).some((one) => one.available)).toBe(false);
    expect((await offerings("p5.48xlarge")).some((one) => one.available)).toBe(true);
    await launch(asking({ [TYPE]: ["p5.48xlarge"], [CAPACITY]: ["on-demand"] }));
    expect(world.templates().at(-1)?.NetworkInterfaces).toMatchObject([
      { NetworkCardIndex: 0, DeviceIndex: 0, InterfaceType: "interface" },
      { NetworkCardIndex: 1, DeviceIndex: 1, InterfaceType: "efa-only" },
    ]);
  });

  it.each<[string, Partial<EC2NodeClass["spec"]>, string, number]>([
    ["all that the type has", {}, "dra.net", 8],
    ["none for other devices", {}, "gpu.nvidia.com", 0],
    [
      "those of the class, which decides alone",
      {
        networkInterfaces: [
          { networkCardIndex: 0, deviceIndex: 0, interfaceType: "interface" },
          { networkCardIndex: 1, deviceIndex: 1, interfaceType: "efa-only" },
        ],
      },
      "dra.net,gpu.nvidia.com",
      1,
    ],
  ])("include EFA interfaces for pods that claim them: %s", async (_, spec, drivers, count) => {
    await begin(spec);
    const claim = asking({ [TYPE]: ["trn1.32xlarge"], [CAPACITY]: ["on-demand"] });
    const annotations = { "karpenter.sh/requested-dra-drivers": drivers };
    const launched = await launch({ ...claim, metadata: { ...claim.metadata, annotations } });
    const interfaces = world.templates().at(-1)?.NetworkInterfaces ?? [];
    expect(interfaces.filter((one) => one.InterfaceType?.startsWith("efa")).length).toBe(count);
    const shown = launched.status?.capacity?.["vpc.amazonaws.com/efa"];
    expect(shown).toBe(count === 0 ? undefined : String(count));
  });

  it("need a type with nested virtualization if the class asks for it", async () => {
    await begin({ cpuOptions: { nestedVirtualization: "enabled" } });
    expect((await offerings("m5.large")).some((one) => one.available)).toBe(false);
  });

  it.each<[object, string, object, string]>([
    [{ threadsPerCore: 1 }, "m5.xlarge", { CoreCount: 2, ThreadsPerCore: 1 }, "2"],
    [{ threadsPerCore: 1 }, "m5.2xlarge", { CoreCount: 4, ThreadsPerCore: 1 }, "4"],
    [{ coreCount: 1 }, "m5.xlarge", { CoreCount: 1, ThreadsPerCore: 2 }, "2"],
    [{ coreCount: 1, threadsPerCore: 1 }, "m5.xlarge", { CoreCount: 1, ThreadsPerCore: 1 }, "1"],
  ])("have the cores and threads of the class: %j on %s", async (cpuOptions, type, asked, cpu) => {
    await begin({ cpuOptions });
    const launched = await launch(asking({ [TYPE]: [type], [CAPACITY]: ["on-demand"] }));
    expect(world.templates().at(-1)?.CpuOptions).toEqual(asked);
    expect(launched.status?.capacity?.["cpu"]).toBe(cpu);
    expect(launched.metadata.labels?.["karpenter.k8s.aws/instance-cpu"]).not.toBe(cpu);
  });

  it("need a type with that many cores and threads", async () => {
    await begin({ cpuOptions: { coreCount: 3, threadsPerCore: 2 } });
    const available = async (type: string): Promise<boolean> =>
      (await offerings(type)).some((one) => one.available);
    expect(await available("m5.2xlarge")).toBe(true);
    expect(await available("m5.xlarge")).toBe(false);
    // ARM has one thread for each core, and on bare metal nothing can be chosen.
    expect(await available("m6g.2xlarge")).toBe(false);
    expect(await available("m5.metal")).toBe(false);
  });

  it("cause one launch template for each number of cores", async () => {
    await begin({ cpuOptions: { threadsPerCore: 1 } });
    await launch(asking({ [TYPE]: ["m5.xlarge", "m5.2xlarge"], [CAPACITY]: ["on-demand"] }));
    const cores = world.templates().map(({ CpuOptions }) => CpuOptions?.CoreCount);
    expect(cores.sort()).toEqual([2, 4]);
  });

  it("need a type with Nitro enclaves if the class asks for them, and enable them", async () => {
    world = await awsWorld({}, { prepare: sellEnclaves });
    await world.kube.create(EC2_NODE_CLASS, ec2NodeClass({ enclaveOptions: { enabled: true } }));
    await world.clock.advance(1_000);
    const available = async (type: string): Promise<boolean> =>
      (await offerings(type)).some((one) => one.available);
    expect([await available("m5.xlarge"), await available("m5.large")]).toEqual([true, false]);
    await launch(asking({ [TYPE]: ["m5.xlarge"], [CAPACITY]: ["on-demand"] }));
    expect(world.templates().at(-1)?.EnclaveOptions).toEqual({ Enabled: true });
    const before = nodeClass().metadata.annotations?.["karpenter.k8s.aws/ec2nodeclass-hash"];
    world.kube.change(EC2_NODE_CLASS, "default", {
      spec: { ...nodeClass().spec, enclaveOptions: { enabled: false } },
    });
    await world.clock.advance(1_000);
    expect(await available("m5.large")).toBe(true);
    expect(nodeClass().metadata.annotations?.["karpenter.k8s.aws/ec2nodeclass-hash"]).not.toBe(
      before,
    );
  });

  it("enable Nitro enclaves if the claim asks for them", async () => {
    await begin();
    const claim = asking({ [TYPE]: ["m5.large"], [CAPACITY]: ["on-demand"] });
    const types = await world.settle(world.cloud.getInstanceTypes(pool({ classRef: CLASS_REF })));
    const enclave = "eks.amazonaws.com/nitro-sandbox";
    const overlaid = types.map((one) => ({ ...one, capacity: { ...one.capacity, [enclave]: 1 } }));
    const asked = { ...claim.spec, resources: { requests: { [enclave]: "1" } } };
    await world.settle(world.cloud.create({ ...claim, spec: asked }, () => overlaid));
    expect(world.templates().at(-1)?.EnclaveOptions).toEqual({ Enabled: true });
  });

  it("are on dedicated hardware if the claim asks for it", async () => {
    await begin();
    const launched = await launch(
      asking({
        [TYPE]: ["m5.large"],
        [CAPACITY]: ["on-demand"],
        "karpenter.k8s.aws/instance-tenancy": ["dedicated"],
      }),
    );
    expect(world.templates().at(-1)?.Placement).toEqual({ Tenancy: "dedicated" });
    expect(launched.metadata.labels?.["karpenter.k8s.aws/instance-tenancy"]).toBe("dedicated");
  });
});

describe("dry runs of a launch", () => {
  it.each([
    ["CreateLaunchTemplate", "CreateLaunchTemplateAuthCheckFailed"],
    ["CreateFleet", "CreateFleetAuthCheckFailed"],
    ["RunInstances", "RunInstancesAuthCheckFailed"],
  ])("report that the permission for %s is missing", async (action, reason) => {
    await begin({}, {}, () => {
      world.aws.faults.deny(action);
    });
    const validation = conditionOf("ValidationSucceeded");
    expect(validation).toMatchObject({ status: "False", reason });
    expect(validation?.message).toContain(`ec2:${action}`);
    expect(conditionOf("Ready")?.status).toBe("False");
  });

  it("report that a named instance profile does not exist, until it does", async () => {
    world = await awsWorld();
    const { role: _, ...spec } = ec2NodeClass().spec;
    const named = { ...ec2NodeClass(), spec: { ...spec, instanceProfile: "mine" } };
    await world.kube.create(EC2_NODE_CLASS, named);
    await world.clock.advance(1_000);
    expect(conditionOf("ValidationSucceeded")).toMatchObject({
      status: "False",
      reason: "InstanceProfileNotFound",
    });
    world.aws.controls.addInstanceProfile("mine", `KarpenterNodeRole-${CLUSTER}`);
    await world.clock.advance(61_000);
    expect(conditionOf("Ready")?.status).toBe("True");
  });

  it("are repeated after half an hour, and the class recovers", async () => {
    let undo = (): void => undefined;
    await begin({}, {}, () => {
      undo = world.aws.faults.deny("RunInstances");
    });
    undo();
    await world.clock.advance(31 * 60_000);
    expect(conditionOf("Ready")?.status).toBe("True");
  });

  it("are skipped if a setting turns them off", async () => {
    await begin({}, { disableDryRun: true }, () => {
      world.aws.faults.deny("RunInstances");
    });
    expect(conditionOf("Ready")?.status).toBe("True");
    expect(world.aws.journal.calls({ action: "RunInstances" })).toEqual([]);
  });
});

describe("an EC2NodeClass and its claims", () => {
  it("waits for Machines as for NodeClaims when it is deleted", async () => {
    await begin();
    const machine = {
      apiVersion: "karpenter.sh/v1alpha5",
      kind: "Machine",
      metadata: { name: "m" },
      spec: { machineTemplateRef: { kind: "EC2NodeClass", name: "default" } },
    };
    await world.kube.create(MACHINE, machine as never);
    await world.kube.delete(EC2_NODE_CLASS, { name: "default" });
    await world.clock.advance(5_000);
    expect(nodeClass()).toBeDefined();
    world.kube.vanish(MACHINE, "m");
    await world.clock.advance(5_000);
    expect(world.kube.find(EC2_NODE_CLASS, "default")).toBeUndefined();
  });

  it("updates the hash of claims with another hash version, except claims that had drifted", async () => {
    await begin();
    const hash = "karpenter.k8s.aws/ec2nodeclass-hash";
    const version = "karpenter.k8s.aws/ec2nodeclass-hash-version";
    const old = { [hash]: "1", [version]: "v4" };
    for (const name of ["a", "b"]) {
      const claim = awsClaim([], { name });
      const metadata = { ...claim.metadata, annotations: old };
      await world.kube.create(NODE_CLAIM, { ...claim, metadata });
    }
    const drifted = { type: "Drifted", status: "True", lastTransitionTime: "2026-01-01T00:00:00Z" };
    world.kube.change(NODE_CLAIM, "b", { status: { conditions: [drifted] } });
    await world.clock.advance(61_000);
    const stamps = (name: string) => {
      const own = world.kube.find(NODE_CLAIM, name)?.metadata.annotations ?? {};
      return [own[hash], own[version]];
    };
    const own = nodeClass().metadata.annotations ?? {};
    expect(stamps("a")).toEqual([own[hash], own[version]]);
    expect(stamps("b")).toEqual(["1", own[version]]);
  });
});

describe("EC2's status checks of an instance", () => {
  async function registered(): Promise<string> {
    await begin();
    const launched = await launch(asking({ [TYPE]: ["m5.large"], [CAPACITY]: ["on-demand"] }));
    await world.kube.create(NODE_CLAIM, {
      ...launched,
      metadata: { ...launched.metadata, name: "c", finalizers: ["karpenter.sh/termination"] },
    });
    await world.clock.advance(10_000);
    return launched.status?.providerID?.split("/").at(-1) ?? "";
  }
  const failedAt = (ms: number) => ({
    Status: "impaired",
    Details: [
      { Name: "reachability", Status: "failed", ImpairedSince: new Date(ms).toISOString() },
    ],
  });
  const claim = (): NodeClaim | undefined => world.kube.find(NODE_CLAIM, "c");

  it("that fail for two minutes end the claim without waiting for a drain", async () => {
    const id = await registered();
    world.aws.controls.impair(id, { SystemStatus: failedAt(world.clock.now()) });
    await world.clock.advance(90_000);
    expect(claim()?.metadata.deletionTimestamp).toBeUndefined();
    await world.clock.advance(120_000);
    expect(claim()?.metadata.deletionTimestamp).toBeDefined();
    expect(claim()?.metadata.annotations).toHaveProperty([
      "karpenter.sh/nodeclaim-termination-timestamp",
    ]);
    expect(world.counts.get("interruption_instance_status_unhealthy_total SystemStatus")).toBe(1);
    expect(world.events.map((event) => event.reason)).toContain("InstanceUnhealthy");
  });

  it.each([
    ["that its claim names", "n"],
    ["whose name its claim has lost", ""],
    ["that has another name by now", "before"],
  ])("that fail drain a node %s and that is still Ready", async (_, nodeName) => {
    const id = await registered();
    const providerID = claim()?.status?.providerID;
    const node = { metadata: { name: "n" }, spec: { providerID } };
    const conditions = [{ type: "Ready", status: "True" }];
    await world.kube.create(NODE, { ...node, status: { conditions } } as never);
    world.kube.change(NODE_CLAIM, "c", { status: { nodeName } });
    world.aws.controls.impair(id, { SystemStatus: failedAt(world.clock.now()) });
    await world.clock.advance(210_000);
    expect(claim()?.metadata.deletionTimestamp).toBeDefined();
    expect(claim()?.metadata.annotations ?? {}).not.toHaveProperty([
      "karpenter.sh/nodeclaim-termination-timestamp",
    ]);
  });

  it("that announce an event drain the claim", async () => {
    const id = await registered();
    world.aws.controls.impair(id, { Events: [{ Code: "instance-retirement" }] });
    await world.clock.advance(70_000);
    expect(claim()?.metadata.deletionTimestamp).toBeDefined();
    expect(claim()?.metadata.annotations ?? {}).not.toHaveProperty([
      "karpenter.sh/nodeclaim-termination-timestamp",
    ]);
  });

  it("are handled for each claim, even if the first one cannot be deleted", async () => {
    const id = await registered();
    const { finalizers = [] } = claim()?.metadata ?? {};
    const first = { ...claim(), metadata: { name: "b", finalizers } } as NodeClaim;
    await world.kube.create(NODE_CLAIM, first);
    world.kube.undeletable.add("b");
    world.aws.controls.impair(id, { Events: [{ Code: "instance-retirement" }] });
    await world.clock.advance(70_000);
    expect(world.events.map(({ object }) => object.metadata.name)).toContain("b");
    expect(claim()?.metadata.deletionTimestamp).toBeDefined();
  });

  it("are no longer read without the permission, which is logged once", async () => {
    await begin({}, {}, () => {
      world.aws.faults.deny("DescribeInstanceStatus");
    });
    await world.clock.advance(200_000);
    expect(
      world.aws.journal.calls({ action: "DescribeInstanceStatus", failed: true }),
    ).toHaveLength(1);
    expect(
      world.lines.filter((line) => line.includes("DescribeInstanceStatus")).length,
    ).toBeLessThan(2);
  });
});

describe("throttling of fleet calls", () => {
  it("of fleets for 43 seconds delays all launches together: none fails, and few calls are made", async () => {
    await begin();
    const undo = world.aws.faults.throttle("CreateFleet");
    world.clock.after(43_000, undo);
    const before = world.aws.journal.mark;
    const claim = asking({ [TYPE]: ["m5.large"], [CAPACITY]: ["on-demand"] });
    const many = Array.from({ length: 78 }, () => world.cloud.create(claim));
    const launched = await world.settle(Promise.all(many));
    expect(new Set(launched.map((one) => one.status?.providerID)).size).toBe(78);
    const calls = world.aws.journal.calls({ action: "CreateFleet", after: before });
    expect(calls.length).toBeLessThan(10);
  });
});

describe("logs and events of the AWS provider", () => {
  it("contain no user data, whatever fails", async () => {
    await begin({ userData: "#!/bin/bash\nexport TOKEN=hunter2\n" });
    for (const [denied, type] of [
      ["CreateFleet", "m5.large"],
      ["CreateLaunchTemplate", "m6g.large"],
    ] as const) {
      world.aws.faults.deny(denied);
      const asked = asking({ [TYPE]: [type], [CAPACITY]: ["on-demand"] });
      const error = await launch(asked).then(
        () => expect.unreachable(),
        (reason) => reason,
      );
      expect(`${error.stack} ${JSON.stringify(error.cause)}`).not.toContain("hunter2");
    }
    await world.clock.advance(60_000);
    const secret = Buffer.from("TOKEN=hunter2").toString("base64").slice(0, 12);
    const told = JSON.stringify([world.said, world.events, nodeClass().status]);
    expect(told).not.toContain("hunter2");
    expect(told).not.toContain(secret);
  });
});

describe("a rebalance recommendation", () => {
  it.each([
    [true, "ends the claim early"],
    [false, "only tells"],
  ])("with the option %s: %s", async (actOnRebalance) => {
    await begin({}, { interruptionQueue: CLUSTER, actOnRebalance });
    const launched = await launch(asking({ [TYPE]: ["m5.large"], [CAPACITY]: ["spot"] }));
    await world.kube.create(NODE_CLAIM, {
      ...launched,
      metadata: { ...launched.metadata, name: "c" },
    });
    await world.clock.advance(10_000);
    world.aws.controls.recommendRebalance(launched.status?.providerID?.split("/").at(-1) ?? "");
    await world.clock.advance(2_000);
    expect(world.kube.find(NODE_CLAIM, "c") === undefined).toBe(actOnRebalance);
    expect(world.events.map((event) => event.reason)).toContain("SpotRebalanceRecommendation");
  });
});
