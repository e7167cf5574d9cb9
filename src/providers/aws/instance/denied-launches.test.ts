/** EC2 launches instances, and its answer denies them. */
import { describe, expect, it } from "vitest";
import { VirtualClock } from "../../../base/virtual-clock.ts";
import { AwsError } from "../api/call.ts";
import type { Ec2Api } from "../api/ec2.ts";
import type { DescribeInstancesInput, Instance } from "../api/instances.ts";
import type { CreateFleetInput, CreateFleetOutput } from "../api/launches.ts";
import { LAUNCH_TAG } from "../tags/tags.ts";
import { Ec2Batches } from "./ec2-batches.ts";

/** A fleet for a pool. `type`: what tells its input from others of the pool. */
function input(type = "m5.large", pool = "default"): CreateFleetInput {
  const Tags = [{ Key: "karpenter.sh/nodepool", Value: pool }];
  return {
    Type: "instant",
    LaunchTemplateConfigs: [
      {
        LaunchTemplateSpecification: { LaunchTemplateName: "one", Version: "$Latest" },
        Overrides: [{ InstanceType: type, SubnetId: "subnet-1" }],
      },
    ],
    TargetCapacitySpecification: { TotalTargetCapacity: 1, DefaultTargetCapacityType: "spot" },
    TagSpecifications: [{ ResourceType: "instance", Tags }],
  };
}

type Answer = (whole: CreateFleetOutput) => CreateFleetOutput;
const truly: Answer = (whole) => whole;
const soldOut: Answer = (whole) => ({
  ...whole,
  Instances: [],
  Errors: [{ ErrorCode: "InsufficientInstanceCapacity", ErrorMessage: "none is left" }],
});
const broken: Answer = () => {
  throw new AwsError("InternalError", "an internal error has occurred", 500);
};

class FalseEc2 {
  /** The instances of each call, by ClientToken: EC2 repeats its answer to a repeated call. */
  readonly #byToken = new Map<string, readonly string[]>();
  readonly clock = new VirtualClock();
  readonly instances: Instance[] = [];
  answer: Answer = truly;
  /** Milliseconds until EC2 lists an instance. */
  lateMs = 0;
  canList = true;
  lists = 0;
  readonly #seenAt = new Map<string, number>();
  readonly #batches = new Ec2Batches(this as unknown as Ec2Api, this.clock, {
    observe: () => undefined,
  });

  /** What Karpenter does from time to time: it lists all instances that EC2 shows. */
  list(): readonly string[] {
    const shown = this.instances.filter(
      ({ InstanceId }) => (this.#seenAt.get(InstanceId) ?? 0) <= this.clock.now(),
    );
    return this.#batches.listed(shown).map(({ InstanceId }) => InstanceId);
  }

  async createFleet(fleet: CreateFleetInput): Promise<CreateFleetOutput> {
    const [{ Overrides: [override] = [] } = {}] = fleet.LaunchTemplateConfigs;
    const InstanceType = override?.InstanceType ?? "";
    const count = fleet.TargetCapacitySpecification.TotalTargetCapacity;
    const token = fleet.ClientToken ?? "";
    const InstanceIds =
      this.#byToken.get(token) ??
      Array.from({ length: count }, () => {
        const InstanceId = `i-${this.instances.length + 1}`;
        const { Tags = [] } = fleet.TagSpecifications?.[0] ?? {};
        const Placement = { AvailabilityZone: "us-west-2a" };
        const { SubnetId } = override ?? {};
        const one = { InstanceId, InstanceType, Tags, Placement, SubnetId };
        this.instances.push({ ...one, State: { Name: "running" } } as unknown as Instance);
        this.#seenAt.set(InstanceId, this.clock.now() + this.lateMs);
        return InstanceId;
      });
    this.#byToken.set(token, InstanceIds);
    return this.answer({
      FleetId: "fleet-1",
      Instances: [{ InstanceIds, InstanceType }],
      Errors: [],
    });
  }

  async describeInstances({ Filters = [] }: DescribeInstancesInput) {
    this.lists++;
    if (!this.canList) throw new AwsError("InternalError", "no list", 500);
    const tokens = Filters.find(({ Name }) => Name === `tag:${LAUNCH_TAG}`)?.Values ?? [];
    const Instances = this.instances.filter(
      ({ InstanceId, Tags }) =>
        (this.#seenAt.get(InstanceId) ?? 0) <= this.clock.now() &&
        Tags.some(({ Key, Value }) => Key === LAUNCH_TAG && tokens.includes(Value)),
    );
    return { Reservations: [{ Instances }] };
  }

  /** The instance that each claim gets, or the code of the error. */
  async launch(uids: readonly string[], fleet = input()): Promise<readonly string[]> {
    const all = Promise.allSettled(uids.map((uid) => this.#batches.createFleet(fleet, uid)));
    await this.clock.advance(2_000);
    return (await all).map((one) =>
      one.status === "rejected"
        ? (one.reason as AwsError).code
        : (one.value.instance?.instanceId ?? one.value.errors[0]?.ErrorCode ?? "nothing"),
    );
  }
}

describe("instances that EC2 launches and denies", () => {
  it.each([soldOut, broken])("go to the claims of the call", async (answer) => {
    const ec2 = new FalseEc2();
    ec2.answer = answer;
    expect(await ec2.launch(["a", "b"])).toEqual(["i-1", "i-2"]);
    expect(ec2.instances).toHaveLength(2);
  });

  it("go to their claims although EC2 names an instance of an earlier call, or one twice", async () => {
    const ec2 = new FalseEc2();
    ec2.answer = (whole) => ({ ...whole, Instances: [{ InstanceIds: ["i-1", "i-1"] } as never] });
    expect(await ec2.launch(["a"])).toEqual(["i-1"]);
    expect(await ec2.launch(["b"])).toEqual(["i-2"]);
    ec2.answer = (whole) => ({ ...whole, Instances: [{ InstanceIds: ["i-3", "i-3"] } as never] });
    expect(await ec2.launch(["c", "d"])).toEqual(["i-3", "i-4"]);
    expect(ec2.instances).toHaveLength(4);
  });

  it("go to the claims that the answer leaves out", async () => {
    const ec2 = new FalseEc2();
    ec2.answer = ({ Instances: [group], ...rest }) => ({
      ...rest,
      Instances: [{ InstanceIds: group?.InstanceIds.slice(0, 1) ?? [], InstanceType: "m5.large" }],
    });
    expect(await ec2.launch(["a", "b", "c"])).toEqual(["i-1", "i-2", "i-3"]);
  });

  it("go to later claims for an equal fleet, one each, if EC2 lists them late", async () => {
    const ec2 = new FalseEc2();
    ec2.answer = broken;
    ec2.lateMs = 20_000;
    expect(await ec2.launch(["a", "b"])).toEqual(["InternalError", "InternalError"]);
    await ec2.clock.advance(20_000);
    expect(await ec2.launch(["c"])).toEqual(["i-1"]);
    ec2.answer = truly;
    ec2.lateMs = 0;
    expect(await ec2.launch(["d", "e"])).toEqual(["i-2", "i-3"]);
  });

  it("go to one claim each, also if EC2 names them when the call is repeated", async () => {
    const ec2 = new FalseEc2();
    ec2.answer = broken;
    ec2.lateMs = 5_000;
    expect(await ec2.launch(["a", "b"])).toEqual(["InternalError", "InternalError"]);
    ec2.answer = truly;
    expect(await ec2.launch(["a", "b"])).toEqual(["i-1", "i-2"]);
    await ec2.clock.advance(5_000);
    expect(await ec2.launch(["d", "e"])).toEqual(["i-3", "i-4"]);
    ec2.answer = broken;
    ec2.lateMs = 5_000;
    expect(await ec2.launch(["f"])).toEqual(["InternalError"]);
    await ec2.clock.advance(5_000);
    expect(await ec2.launch(["g"])).toEqual(["i-5"]);
    ec2.answer = truly;
    expect(await ec2.launch(["f"])).toEqual(["UnfulfillableCapacity"]);
    expect((await ec2.launch(["f"]))[0]).toMatch(/^i-[67]$/);
  });

  it("hold up no launch that asks for another fleet", async () => {
    const ec2 = new FalseEc2();
    ec2.answer = broken;
    ec2.lateMs = 20_000;
    await ec2.launch(["a"]);
    ec2.answer = truly;
    expect(await ec2.launch(["b"], input("c5.large"))).toEqual(["i-2"]);
  });

  it("do not hold up launches while EC2 lists nothing", async () => {
    const ec2 = new FalseEc2();
    ec2.answer = broken;
    ec2.canList = false;
    expect(await ec2.launch(["a"])).toEqual(["InternalError"]);
    ec2.answer = truly;
    expect(await ec2.launch(["b"])).toEqual(["i-2"]);
    expect(await ec2.launch(["a"])).toEqual(["i-1"]);
  });
});

describe("instances that EC2 lists minutes after it said that it had no capacity", () => {
  async function lying(...types: readonly string[]): Promise<FalseEc2> {
    const ec2 = new FalseEc2();
    ec2.answer = soldOut;
    ec2.lateMs = 40_000;
    for (const [at, type] of types.entries())
      expect(await ec2.launch([`${at}`], input(type))).toEqual(["InsufficientInstanceCapacity"]);
    await ec2.clock.advance(60_000);
    expect(ec2.list()).toHaveLength(types.length);
    return ec2;
  }

  it("go to the next claims whose fleet could have launched them", async () => {
    const ec2 = await lying("m5.large", "c5.large");
    expect(await ec2.launch(["a", "b"], input("c5.large"))).toEqual([
      "i-2",
      "InsufficientInstanceCapacity",
    ]);
    expect(await ec2.launch(["c"], input("m5.large"))).toEqual(["i-1"]);
    expect(ec2.list()).toEqual([]);
  });

  it("hold up no launch once they were listed and a claim got them", async () => {
    const ec2 = await lying("m5.large");
    ec2.lateMs = 10_000;
    expect(await ec2.launch(["a", "b"], input("m5.large"))).toEqual([
      "i-1",
      "InsufficientInstanceCapacity",
    ]);
    await ec2.clock.advance(10_000);
    expect(await ec2.launch(["c"], input("m5.large"))).toEqual(["i-2"]);
    ec2.answer = truly;
    ec2.lateMs = 0;
    expect(await ec2.launch(["d"], input("m5.large"))).toEqual(["i-3"]);
  });

  it("let none be launched before the last one is listed, and five in all, while no claim can use them", async () => {
    const ec2 = await lying("m5.large");
    const bought: number[] = [];
    for (let at = 0; at < 60; at++) {
      await ec2.launch([`later-${at}`], input(`r${at}.large`));
      await ec2.clock.advance(8_000);
      if (at % 6 === 5) ec2.list();
      bought.push(ec2.instances.length);
    }
    expect([bought[3], bought.at(-1)]).toEqual([2, 5]);
  });

  it("hold up no launch of another NodePool", async () => {
    const ec2 = await lying("m5.large", "c5.large", "r5.large", "m6i.large", "c6i.large");
    expect(await ec2.launch(["a"], input("m7i.large"))).toEqual(["UnfulfillableCapacity"]);
    ec2.answer = truly;
    expect(await ec2.launch(["b"], input("m7i.large", "other"))).toEqual(["i-6"]);
  });

  it("hold up no launch once they are terminated", async () => {
    const ec2 = await lying("m5.large", "c5.large", "r5.large", "m6i.large", "c6i.large");
    ec2.instances.length = 0;
    ec2.list();
    ec2.answer = truly;
    expect(await ec2.launch(["a"], input("m7i.large"))).toEqual(["i-1"]);
  });

  it("are not doubted if the answer named them", async () => {
    const ec2 = new FalseEc2();
    ec2.answer = ({ Instances: [group], ...rest }) => ({
      ...rest,
      Instances: [{ InstanceIds: group?.InstanceIds.slice(0, 1) ?? [], InstanceType: "m5.large" }],
      Errors: [{ ErrorCode: "InsufficientInstanceCapacity", ErrorMessage: "one is left" }],
    });
    ec2.lateMs = 500;
    ec2.canList = false;
    expect(await ec2.launch(["a", "b"])).toEqual(["i-1", "InsufficientInstanceCapacity"]);
    ec2.instances.length = 1;
    await ec2.clock.advance(60_000);
    expect(ec2.list()).toEqual([]);
  });
});

describe("EC2 is not asked", () => {
  it("after answers that name an instance for each claim", async () => {
    const ec2 = new FalseEc2();
    await ec2.launch(["a", "b"]);
    await ec2.launch(["c"]);
    expect(ec2.lists).toBe(0);
  });

  it("before a launch that follows a sold-out answer, which is sure", async () => {
    const ec2 = new FalseEc2();
    ec2.answer = (whole) => {
      ec2.instances.length = 0;
      return soldOut(whole);
    };
    for (const uid of ["a", "b", "c"]) await ec2.launch([uid]);
    expect(ec2.lists).toBe(3);
  });

  it("after an error that says that nothing was begun", async () => {
    const ec2 = new FalseEc2();
    ec2.answer = () => {
      throw new AwsError("UnauthorizedOperation", "you are not authorized", 403);
    };
    await ec2.launch(["a"]);
    await ec2.launch(["a"]);
    expect(ec2.lists).toBe(0);
  });

  it("about a launch of some minutes ago", async () => {
    const ec2 = new FalseEc2();
    ec2.answer = broken;
    ec2.canList = false;
    await ec2.launch(["a"]);
    ec2.canList = true;
    ec2.answer = truly;
    await ec2.clock.advance(120_000);
    const { lists } = ec2;
    await ec2.launch(["b"]);
    expect(ec2.lists).toBe(lists);
  });
});

it("gives the tag of the launch once, also if the user set it", async () => {
  const ec2 = new FalseEc2();
  const fleet = input();
  const [tagged = { ResourceType: "instance", Tags: [] }] = fleet.TagSpecifications ?? [];
  const withMine = [...tagged.Tags, { Key: LAUNCH_TAG, Value: "mine" }];
  await ec2.launch(["a"], { ...fleet, TagSpecifications: [{ ...tagged, Tags: withMine }] });
  const [{ Tags } = { Tags: [] }] = ec2.instances;
  expect(Tags.filter(({ Key }) => Key === LAUNCH_TAG)).toHaveLength(1);
});
