import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { EC2_NODE_CLASS } from "../../../apis/aws/ec2nodeclass.ts";
import type { NodeClaim } from "../../../apis/karpenter/nodeclaim.ts";
import { type AwsWorld, awsClaim, awsWorld, ec2NodeClass } from "../../../testing/aws-world.ts";
import type { Instance } from "../api/instances.ts";

const TYPE = "node.kubernetes.io/instance-type";
const CAPACITY = "karpenter.sh/capacity-type";
const ZONE = "topology.kubernetes.io/zone";

/** On-demand in one zone, so that only one kind of instance can be launched. */
function asking(more: Readonly<Record<string, readonly string[]>> = {}): NodeClaim {
  const wanted = {
    [TYPE]: ["m5.large"],
    [CAPACITY]: ["on-demand"],
    [ZONE]: ["us-east-1a"],
    ...more,
  };
  return awsClaim(Object.entries(wanted).map(([key, values]) => ({ key, operator: "In", values })));
}

/** Another claim, because one claim gets only one instance, however often it is launched. */
function later(claim: NodeClaim): NodeClaim {
  return { ...claim, metadata: { ...claim.metadata, name: "later", uid: "uid-later" } };
}

let world: AwsWorld;
let launched: NodeClaim;

beforeEach(async () => {
  world = await awsWorld();
  await world.kube.create(EC2_NODE_CLASS, ec2NodeClass());
  await world.clock.advance(1_000);
  launched = await world.settle(world.cloud.create(asking()));
  await world.clock.advance(10_000);
});
afterEach(() => world.stop());

const providerId = () => launched.status?.providerID ?? "";
const takeOver = (claim: NodeClaim) =>
  world.settle(world.cloud.takeOver(later(claim), providerId()));

async function change(spec: Parameters<typeof ec2NodeClass>[0]): Promise<void> {
  world.kube.change(EC2_NODE_CLASS, "default", { spec });
  await world.clock.advance(120_000);
}

describe("an instance that was launched before a restart", () => {
  it("is taken over by its claim as if it had been launched for it now", async () => {
    const taken = await takeOver(asking());
    expect(taken?.metadata.name).toBe("later");
    expect(taken?.status).toEqual(launched.status);
    expect(taken?.metadata.labels).toEqual(launched.metadata.labels);
    expect(taken?.metadata.annotations).toEqual(launched.metadata.annotations);
  });

  it.each([
    ["another type", { [TYPE]: ["m5.xlarge"] }],
    ["another zone", { [ZONE]: ["us-east-1b"] }],
    ["spot", { [CAPACITY]: ["spot"] }],
  ])("is not taken over by a claim that requires %s", async (_, requirements) => {
    expect(await takeOver(asking(requirements))).toBeUndefined();
  });

  it("is not taken over by a claim with larger requests, or of another NodePool", async () => {
    const claim = asking();
    const resources = { requests: { cpu: "3" } };
    expect(await takeOver({ ...claim, spec: { ...claim.spec, resources } })).toBeUndefined();
    const labels = { ...claim.metadata.labels, "karpenter.sh/nodepool": "other" };
    expect(await takeOver({ ...claim, metadata: { ...claim.metadata, labels } })).toBeUndefined();
  });

  it.each([
    ["image", { amiSelectorTerms: [{ alias: "al2@latest" }] }],
    ["tags", { tags: { team: "b" } }],
  ])("is not taken over after the class changed: another %s", async (_, spec) => {
    await change(spec);
    expect(await takeOver(asking())).toBeUndefined();
  });

  it.each<[string, Partial<Instance>]>([
    ["in another subnet", { SubnetId: "subnet-1" }],
    ["behind other security groups", { SecurityGroups: [{ GroupId: "sg-1" }] }],
    ["of another profile", { IamInstanceProfile: { Arn: "arn:aws:iam::1:instance-profile/x" } }],
    ["in a capacity reservation", { CapacityReservationId: "cr-1" }],
    ["in a placement group", { Placement: { AvailabilityZone: "us-east-1a", GroupId: "pg-1" } }],
    ["dedicated", { Placement: { AvailabilityZone: "us-east-1a", Tenancy: "dedicated" } }],
    ["stopped", { State: { Name: "stopped" } }],
  ])("is not taken over if it is %s", async (_, other) => {
    const { describeInstances } = world.api.ec2;
    Object.assign(world.api.ec2, {
      describeInstances: async (input: Parameters<typeof describeInstances>[0]) => {
        const answer = await describeInstances(input);
        const Reservations = answer.Reservations.map(({ Instances }) => ({
          Instances: Instances.map((one) => ({ ...one, ...other })),
        }));
        return { ...answer, Reservations };
      },
    });
    expect(await takeOver(asking())).toBeUndefined();
  });

  it("is not taken over if it is terminating or unknown", async () => {
    const unknown = world.cloud.takeOver(later(asking()), "aws:///us-east-1a/i-00000000");
    expect(await world.settle(unknown)).toBeUndefined();
    await world.settle(world.cloud.delete(launched));
    expect(await takeOver(asking())).toBeUndefined();
  });
});
