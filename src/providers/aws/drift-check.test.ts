/** EC2's lists are short, or it describes an instance wrongly: no node drifts. What really changed still drifts. */
import { afterEach, describe, expect, it } from "vitest";
import { EC2_NODE_CLASS, type EC2NodeClass } from "../../apis/aws/ec2nodeclass.ts";
import type { NodeClaim } from "../../apis/karpenter/nodeclaim.ts";
import type { SimulatedAws } from "../../sandbox/ec2/simulated-aws.ts";
import {
  type AwsWorld,
  awsClaim,
  awsWorld,
  CLUSTER,
  ec2NodeClass,
} from "../../testing/aws-world.ts";
import { AwsError } from "./api/call.ts";
import type { Ec2Api } from "./api/ec2.ts";
import type { Instance } from "./api/instances.ts";

const MINUTE = 60_000;
const DISCOVERY = [{ Key: "karpenter.sh/discovery", Value: CLUSTER }];
const RESERVATION = "karpenter.k8s.aws/capacity-reservation-id";

type Answer = Readonly<Record<string, unknown>>;
/** Changes EC2's answer to a call. Undefined: EC2 answers as it is. */
let fault: ((call: keyof Ec2Api, answer: Answer, input: Answer) => Answer) | undefined;
let world: AwsWorld;

async function begin(
  spec: Partial<EC2NodeClass["spec"]> = {},
  more = (_: SimulatedAws): void => undefined,
) {
  fault = undefined;
  world = await awsWorld(
    {},
    {
      prepare: (aws) => {
        Object.assign(aws.api, { ec2: faulty(aws.api.ec2) });
        more(aws);
      },
    },
  );
  await world.kube.create(EC2_NODE_CLASS, ec2NodeClass(spec));
  await world.clock.advance(2_000);
}

afterEach(() => world.stop());

/** EC2 whose answers pass the fault. */
function faulty(ec2: Ec2Api): Ec2Api {
  return new Proxy(ec2, {
    get: (target, name) => async (input: Answer) => {
      const call = name as keyof Ec2Api;
      const answer = await (target[call] as unknown as (input: unknown) => Promise<Answer>)(input);
      return fault?.(call, answer, input) ?? answer;
    },
  });
}

/** Every list of this field is short: each second object is left out, also of one that was asked for by its ID. */
function shortLists(field: string, keeps = (at: number) => at % 2 === 1): void {
  fault = (_, answer) => {
    const all = answer[field];
    return Array.isArray(all) ? { ...answer, [field]: all.filter((_, at) => keeps(at)) } : answer;
  };
}

/** EC2 describes each instance with these properties. */
function described(change: Partial<Instance>): void {
  fault = (call, answer) => {
    if (call !== "describeInstances") return answer;
    const { Reservations } = answer as {
      Reservations: readonly { Instances: readonly Instance[] }[];
    };
    const each = ({ Instances, ...rest }: { Instances: readonly Instance[] }) => ({
      ...rest,
      Instances: Instances.map((one) => ({ ...one, ...change })),
    });
    return { ...answer, Reservations: Reservations.map(each) };
  };
}

let launches = 0;
function launch(labels: Readonly<Record<string, readonly string[]>> = {}): Promise<NodeClaim> {
  const asked = {
    "node.kubernetes.io/instance-type": ["m5.large"],
    "karpenter.sh/capacity-type": ["on-demand"],
    ...labels,
  };
  const requirements = Object.entries(asked).map(([key, values]) => ({
    key,
    operator: "In" as const,
    values,
  }));
  const name = `claim-${launches++}`;
  return world.settle(world.cloud.create(awsClaim(requirements, { name, uid: name } as never)));
}

function drift(claim: NodeClaim): Promise<string | undefined> {
  return world.settle(world.cloud.isDrifted(claim));
}

/** One node in each zone. */
async function nodes(): Promise<readonly NodeClaim[]> {
  const claims: NodeClaim[] = [];
  for (const zone of ["a", "b", "c"])
    claims.push(await launch({ "topology.kubernetes.io/zone": [`us-east-1${zone}`] }));
  return claims;
}

async function drifts(claims: readonly NodeClaim[]): Promise<readonly (string | undefined)[]> {
  const reasons: (string | undefined)[] = [];
  for (const claim of claims) reasons.push(await drift(claim));
  return reasons;
}

const NO_DRIFT = [undefined, undefined, undefined];

describe("a short list or a false description of EC2", () => {
  it.each([
    ["Subnets", () => shortLists("Subnets")],
    ["Subnets, the others", () => shortLists("Subnets", (at) => at % 2 === 0)],
    ["no Subnets", () => shortLists("Subnets", () => false)],
    ["SecurityGroups", () => shortLists("SecurityGroups")],
    ["SecurityGroups, the others", () => shortLists("SecurityGroups", (at) => at % 2 === 0)],
    ["Images", () => shortLists("Images")],
    ["Images, the others", () => shortLists("Images", (at) => at % 2 === 0)],
    ["another subnet", () => described({ SubnetId: "subnet-0other" })],
    ["no security groups", () => described({ SecurityGroups: [] })],
    ["another security group", () => described({ SecurityGroups: [{ GroupId: "sg-0other" }] })],
    ["another reservation", () => described({ CapacityReservationId: "cr-0other" })],
  ])("drifts no node: %s", async (_, begins) => {
    await begin();
    const claims = await nodes();
    begins();
    for (let minute = 0; minute < 12; minute += 4) {
      await world.clock.advance(4 * MINUTE);
      expect(await drifts(claims)).toEqual(NO_DRIFT);
    }
    fault = undefined;
    await world.clock.advance(2 * MINUTE);
    expect(await drifts(claims)).toEqual(NO_DRIFT);
  });

  it("launches with all security groups, so that the node does not drift later", async () => {
    await begin();
    shortLists("SecurityGroups");
    await world.clock.advance(2 * MINUTE);
    const claim = await launch();
    fault = undefined;
    await world.clock.advance(2 * MINUTE);
    expect(await drift(claim)).toBeUndefined();
    expect(world.said.join("\n")).toContain(
      "EC2 neither lists nor describes one of the security groups",
    );
  });

  it("drifts no node if EC2 lists none of the capacity reservations, or half of them", async () => {
    const TWO = { InstanceType: "m5.large", AvailabilityZone: "us-east-1a", TotalInstanceCount: 2 };
    const ids: string[] = [];
    await begin(
      { capacityReservationSelectorTerms: [{ tags: { "karpenter.sh/discovery": CLUSTER } }] },
      ({ controls }) =>
        ids.push(
          ...[1, 2].map(() => controls.addReservation({ ...TWO, tags: DISCOVERY } as never)),
        ),
    );
    const claims: NodeClaim[] = [];
    for (const id of ids)
      claims.push(
        await launch({ "karpenter.sh/capacity-type": ["reserved"], [RESERVATION]: [id] }),
      );
    for (const keeps of [() => false, (at: number) => at === 0, (at: number) => at === 1]) {
      shortLists("CapacityReservations", keeps);
      await world.clock.advance(4 * MINUTE);
      expect(await drifts(claims)).toEqual([undefined, undefined]);
    }
    fault = undefined;
    await world.clock.advance(2 * MINUTE);
    expect(await drifts(claims)).toEqual([undefined, undefined]);
  });
});

describe("a node that seems to have drifted", () => {
  it("has an event that says for what it waits, while EC2 does not answer by ID or contradicts its list", async () => {
    await begin();
    const claim = await launch();
    const told = () =>
      world.events.filter(({ reason }) => reason === "DriftUnproven").map(({ message }) => message);
    fault = (call, answer, input) => {
      if (call !== "describeSubnets") return answer;
      if (input["SubnetIds"] !== undefined) throw new AwsError("RequestLimitExceeded", "slow down");
      return {
        ...answer,
        Subnets: [{ ...(answer["Subnets"] as [object])[0], SubnetId: "subnet-0x" }],
      };
    };
    await world.clock.advance(4 * MINUTE);
    await expect(drift(claim)).rejects.toThrow("slow down");
    expect(told()).toEqual([
      "Whether its node has drifted is not certain, so it is not replaced for that now: RequestLimitExceeded: slow down",
    ]);
    described({ SubnetId: "subnet-0other" });
    await world.clock.advance(4 * MINUTE);
    expect(await drift(claim)).toBeUndefined();
    expect(told()[1]).toContain("EC2's answers contradict its lists, or each other (SubnetDrift)");
  });
});

describe("an instance type that the list of types lacks", () => {
  it("is gone only if EC2, asked for it by name, has none or describes it without the capacity type", async () => {
    await begin();
    const claim = await launch();
    const isGone = async (): Promise<boolean> => {
      await world.clock.advance(31 * MINUTE);
      return world.settle(world.cloud.isTypeGone(claim));
    };
    expect(await isGone()).toBe(false);
    shortLists("InstanceTypes", () => false);
    expect(await isGone()).toBe(false);
    fault = (call) => {
      if (call !== "describeInstanceTypes") return undefined as never;
      throw new AwsError("InvalidInstanceType", "do not exist: [m5.large]");
    };
    expect(await isGone()).toBe(true);
    fault = (call, answer) =>
      call === "describeInstanceTypes"
        ? {
            InstanceTypes: (answer["InstanceTypes"] as readonly object[]).map((one) => ({
              ...one,
              SupportedUsageClasses: ["spot"],
            })),
          }
        : answer;
    expect(await isGone()).toBe(true);
  });
});

describe("what really changed", () => {
  it("is drift: tags of a subnet, a security group, another image in SSM, and it costs few calls", async () => {
    await begin();
    const claims = await nodes();
    const { SubnetId } = (await world.settle(world.api.ec2.describeSubnets({}))).Subnets[0] ?? {};
    await world.aws.call("ec2", "DeleteTags", { Resources: [SubnetId], Tags: DISCOVERY });
    await world.clock.advance(2 * MINUTE);
    const calls = () => world.aws.journal.inputs("DescribeSubnets").length;
    const before = calls();
    const reasons = await drifts(claims);
    expect(reasons.filter((one) => one !== undefined)).toEqual(["SubnetDrift"]);
    // At most a new list of the class and one question by ID.
    expect(calls() - before).toBeLessThanOrEqual(2);
    await world.aws.call("ec2", "CreateTags", { Resources: [SubnetId], Tags: DISCOVERY });
    world.aws.controls.addSecurityGroup({ name: "new", tags: DISCOVERY });
    await world.clock.advance(2 * MINUTE);
    expect(new Set(await drifts(claims))).toEqual(new Set(["SecurityGroupDrift"]));
    const { Images } = await world.settle(world.api.ec2.describeImages({}));
    const used = claims[0]?.status?.imageID;
    const other = Images.find((one) => one.Architecture === "x86_64" && one.ImageId !== used);
    const family = "/aws/service/eks/optimized-ami/1.34/amazon-linux-2023";
    const path = `${family}/x86_64/standard/recommended/image_id`;
    world.aws.controls.setParameter(path, other?.ImageId ?? "");
    await world.clock.advance(7 * MINUTE);
    expect(new Set(await drifts(claims))).toEqual(new Set(["AMIDrift"]));
  });

  it("is SecurityGroupDrift if a group of the node lost its tag", async () => {
    await begin();
    const claim = await launch();
    const { SecurityGroups } = await world.settle(world.api.ec2.describeSecurityGroups({}));
    const [group] = SecurityGroups.filter(({ Tags }) =>
      Tags.some(({ Key }) => Key === "karpenter.sh/discovery"),
    );
    await world.aws.call("ec2", "DeleteTags", { Resources: [group?.GroupId], Tags: DISCOVERY });
    await world.clock.advance(2 * MINUTE);
    expect(await drift(claim)).toBe("SecurityGroupDrift");
  });
});
