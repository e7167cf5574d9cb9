/** What capacity reservations do to claims, and what one false answer of EC2 does not. */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { EC2_NODE_CLASS } from "../../../apis/aws/ec2nodeclass.ts";
import { NODE_CLAIM } from "../../../apis/karpenter/nodeclaim.ts";
import { type AwsWorld, awsClaim, awsWorld, ec2NodeClass } from "../../../testing/aws-world.ts";
import type { Ec2Api } from "../api/ec2.ts";
import type { Instance } from "../api/instances.ts";

const CAPACITY = "karpenter.sh/capacity-type";
const RESERVATION = "karpenter.k8s.aws/capacity-reservation-id";
const NAME = "reserved";
const MINUTE = 60_000;

let world: AwsWorld;
let id: string;
/** Changes EC2's descriptions of instances. */
let told: (one: Instance) => Partial<Instance>;

async function begin(seed: object = {}): Promise<void> {
  told = () => ({});
  const prepare: NonNullable<Parameters<typeof awsWorld>[1]>["prepare"] = (aws) => {
    id = aws.controls.addReservation({
      ...{ InstanceType: "m5.large", AvailabilityZone: "us-east-1a", TotalInstanceCount: 2 },
      ...seed,
      tags: [{ Key: "team", Value: "a" }],
    } as never);
    Object.assign(aws.api, { ec2: describing(aws.api.ec2) });
  };
  world = await awsWorld({}, { prepare });
  const terms = { capacityReservationSelectorTerms: [{ tags: { team: "a" } }] };
  await world.kube.create(EC2_NODE_CLASS, ec2NodeClass(terms));
  await world.clock.advance(2_000);
  const requirements = Object.entries({ [CAPACITY]: "reserved", [RESERVATION]: id }).map(
    ([key, value]) => ({ key, operator: "In" as const, values: [value] }),
  );
  const claim = awsClaim(requirements, { name: NAME, uid: NAME } as never);
  const launched = await world.settle(world.cloud.create(claim));
  await world.kube.create(NODE_CLAIM, launched);
  world.kube.change(NODE_CLAIM, NAME, { status: launched.status });
  await world.clock.advance(2 * MINUTE);
}

beforeEach(() => begin());
afterEach(() => world.stop());

function describing(ec2: Ec2Api): Ec2Api {
  const { describeInstances } = ec2;
  const answer: typeof describeInstances = async (input) => {
    const page = await describeInstances.call(ec2, input);
    const Reservations = page.Reservations.map(({ Instances, ...rest }) => ({
      ...rest,
      Instances: Instances.map((one) => ({ ...one, ...told(one) }) as Instance),
    }));
    return { ...page, Reservations };
  };
  return new Proxy(ec2, {
    get: (target, name) =>
      name === "describeInstances" ? answer : target[name as keyof Ec2Api].bind(target),
  });
}

function claimNow() {
  return world.kube.find(NODE_CLAIM, NAME);
}

function capacityType(): string | undefined {
  return claimNow()?.metadata.labels?.[CAPACITY];
}

const outside = () => ({ CapacityReservationId: undefined }) as unknown as Partial<Instance>;

describe("a claim of a reserved instance", () => {
  it("stays reserved if EC2 describes the instance without its reservation, which has it", async () => {
    expect(capacityType()).toBe("reserved");
    told = outside;
    await world.clock.advance(5 * MINUTE);
    expect(capacityType()).toBe("reserved");
    expect(world.said.filter((line) => line.includes("without its reservation"))).toHaveLength(1);
  });

  it.each([
    ["was cancelled", { State: "cancelled" }],
    ["was made smaller", { TotalInstanceCount: 0 }],
  ])("becomes on-demand if the reservation %s and the instance has left it", async (_, change) => {
    const { capacityReservations, instances } = world.aws.state;
    Object.assign(capacityReservations.get(id) ?? {}, change);
    for (const one of instances.values()) Object.assign(one, { capacityReservationId: undefined });
    await world.clock.advance(3 * MINUTE);
    expect(capacityType()).toBe("on-demand");
    expect(claimNow()?.metadata.labels?.[RESERVATION]).toBeUndefined();
  });
});

describe("a claim in a capacity block", () => {
  it("is deleted before the end of the block only if EC2 says so of the block by its ID", async () => {
    const { capacityReservations } = world.aws.state;
    const EndDate = new Date(world.clock.now() + 20 * MINUTE).toISOString();
    const { describeCapacityReservations } = world.aws.api.ec2;
    Object.assign(capacityReservations.get(id) ?? {}, {
      ReservationType: "capacity-block",
      EndDate,
    });
    let isFalse = true;
    const answer: typeof describeCapacityReservations = async (input) => {
      const page = await describeCapacityReservations.call(world.aws.api.ec2, input);
      if (input.CapacityReservationIds === undefined || !isFalse) return page;
      const CapacityReservations = page.CapacityReservations.map(({ EndDate: _, ...one }) => one);
      return { ...page, CapacityReservations };
    };
    Object.assign(world.aws.api, {
      ec2: new Proxy(world.aws.api.ec2, {
        get: (target, name) =>
          name === "describeCapacityReservations" ? answer : target[name as keyof Ec2Api],
      }),
    });
    await world.clock.advance(3 * MINUTE);
    expect(claimNow()?.metadata.deletionTimestamp).toBeUndefined();
    isFalse = false;
    await world.clock.advance(3 * MINUTE);
    expect(claimNow()).toBeUndefined();
  });
});
