/** Work on several objects in a row, of which the first cannot be changed: the work on the second is done. */
import { afterEach, expect, it } from "vitest";
import { EC2_NODE_CLASS } from "../../apis/aws/ec2nodeclass.ts";
import { NODE_CLAIM } from "../../apis/karpenter/nodeclaim.ts";
import { NODE_POOL } from "../../apis/karpenter/nodepool.ts";
import type { SimulatedAws } from "../../sandbox/ec2/simulated-aws.ts";
import {
  type AwsWorld,
  awsClaim,
  awsWorld,
  CLUSTER,
  ec2NodeClass,
  REGION,
} from "../../testing/aws-world.ts";
import { nodePool } from "../../testing/builders.ts";
import { AwsError } from "./api/call.ts";

const CAPACITY = "karpenter.sh/capacity-type";
const RESERVATION = "karpenter.k8s.aws/capacity-reservation-id";
const VERSION = "karpenter.k8s.aws/ec2nodeclass-hash-version";
const CLASS_REF = { group: "karpenter.k8s.aws", kind: "EC2NodeClass", name: "default" };
const QueueUrl = `https://sqs.${REGION}.amazonaws.com/123456789012/${CLUSTER}`;
const MINUTE = 60_000;
const BOTH = ["first", "second"] as const;

let world: AwsWorld;
afterEach(() => world.stop());

const ROWS: readonly {
  readonly title: string;
  /** Does the work. Returns the names of the objects on which it is done. */
  readonly work: () => Promise<readonly string[]>;
}[] = [
  { title: "hashes of NodeClaims by another version of the product", work: restamped },
  { title: "NodeClaims whose instances left their capacity reservation", work: demoted },
  { title: "NodeClaims whose capacity block ends", work: expired },
  { title: "instance profiles of a deleted EC2NodeClass", work: profilesOfClass },
  { title: "unused instance profiles", work: unusedProfiles },
  { title: "NodePools that are told of a zonal shift", work: toldOfShift },
  { title: "NodeClaims that an interruption message is about", work: interrupted },
];

it.each(ROWS)("one failure stops no work on others: $title", async ({ work }) => {
  expect(await work()).toEqual(["second"]);
});

async function restamped(): Promise<readonly string[]> {
  world = await awsWorld();
  for (const name of BOTH) {
    const metadata = { annotations: { [VERSION]: "v0" } };
    await world.kube.create(NODE_CLAIM, awsClaim([], { name, metadata }));
  }
  world.kube.unpatchable.add("first");
  await world.kube.create(EC2_NODE_CLASS, ec2NodeClass());
  await world.clock.advance(MINUTE);
  return claims(({ metadata }) => metadata.annotations?.[VERSION] !== "v0");
}

async function demoted(): Promise<readonly string[]> {
  const id = await withReservation({ TotalInstanceCount: 2 });
  for (const name of BOTH) {
    const claim = awsClaim(reservedIn(id), { name, metadata: { uid: name } });
    const launched = await world.settle(world.cloud.create(claim));
    await world.kube.create(NODE_CLAIM, launched);
    world.kube.change(NODE_CLAIM, name, { status: launched.status });
  }
  await world.clock.advance(2 * MINUTE);
  world.kube.unpatchable.add("first");
  const { capacityReservations, instances } = world.aws.state;
  Object.assign(capacityReservations.get(id) ?? {}, { State: "cancelled" });
  for (const one of instances.values()) Object.assign(one, { capacityReservationId: undefined });
  await world.clock.advance(3 * MINUTE);
  return claims(({ metadata }) => metadata.labels?.[CAPACITY] === "on-demand");
}

async function expired(): Promise<readonly string[]> {
  const id = await withReservation({ TotalInstanceCount: 2 });
  const EndDate = new Date(world.clock.now() + 20 * MINUTE).toISOString();
  Object.assign(world.aws.state.capacityReservations.get(id) ?? {}, {
    ReservationType: "capacity-block",
    EndDate,
  });
  for (const name of BOTH) {
    const labels = { [CAPACITY]: "reserved", [RESERVATION]: id };
    await world.kube.create(NODE_CLAIM, awsClaim([], { name, labels }));
  }
  world.kube.undeletable.add("first");
  await world.clock.advance(3 * MINUTE);
  const left = claims(() => true);
  return BOTH.filter((name) => !left.includes(name));
}

async function profilesOfClass(): Promise<readonly string[]> {
  await withProfiles();
  await world.kube.delete(EC2_NODE_CLASS, { name: "default" });
  await world.clock.advance(MINUTE);
  return BOTH.filter((name) => !world.aws.state.profiles.has(name));
}

async function unusedProfiles(): Promise<readonly string[]> {
  await withProfiles();
  await world.clock.advance(91 * MINUTE);
  return BOTH.filter((name) => !world.aws.state.profiles.has(name));
}

async function toldOfShift(): Promise<readonly string[]> {
  const prepare = (aws: SimulatedAws) => refuseAbout(aws, "of-first");
  world = await awsWorld({ zonalShift: true }, { prepare });
  const own = [{ tags: { team: "of-first" } }];
  const unread = ec2NodeClass({ subnetSelectorTerms: own });
  await world.kube.create(EC2_NODE_CLASS, { ...unread, metadata: { name: "first" } });
  await world.kube.create(EC2_NODE_CLASS, ec2NodeClass());
  for (const name of BOTH) {
    const nodeClassRef = { ...CLASS_REF, ...(name === "first" ? { name } : {}) };
    await world.kube.create(NODE_POOL, nodePool({ name, template: { nodeClassRef } }));
  }
  const resourceIdentifier = world.aws.state.cluster.arn;
  const input = { resourceIdentifier, awayFrom: "use1-az1", expiresIn: "30m", comment: "power" };
  await world.aws.call("zonalShift", "StartZonalShift", input);
  await world.clock.advance(31_000);
  const told = world.events.filter(({ reason }) => reason === "ZonalShiftActive");
  return told.map(({ object }) => object.metadata.name);
}

async function interrupted(): Promise<readonly string[]> {
  world = await awsWorld({ interruptionQueue: CLUSTER });
  const id = "i-00000000000000001";
  for (const name of BOTH) {
    await world.kube.create(NODE_CLAIM, awsClaim([], { name }));
    const status = { providerID: `aws:///us-east-1a/${id}` };
    world.kube.change(NODE_CLAIM, name, { status });
  }
  world.kube.undeletable.add("first");
  await world.clock.settle();
  const MessageBody = JSON.stringify({
    version: "0",
    source: "aws.ec2",
    "detail-type": "EC2 Spot Instance Interruption Warning",
    detail: { "instance-id": id, "instance-action": "terminate" },
  });
  await world.aws.call("sqs", "SendMessage", { QueueUrl, MessageBody });
  await world.clock.advance(1_000);
  const left = claims(() => true);
  return BOTH.filter((name) => !left.includes(name));
}

/** A class and a reservation that it selects. Returns the ID of the reservation. */
async function withReservation(seed: object): Promise<string> {
  let id = "";
  const prepare = (aws: SimulatedAws) => {
    const place = { InstanceType: "m5.large", AvailabilityZone: "us-east-1a" };
    const tags = [{ Key: "team", Value: "a" }];
    id = aws.controls.addReservation({ ...place, ...seed, tags } as never);
  };
  world = await awsWorld({}, { prepare });
  const terms = { capacityReservationSelectorTerms: [{ tags: { team: "a" } }] };
  await world.kube.create(EC2_NODE_CLASS, ec2NodeClass(terms));
  await world.clock.advance(2_000);
  return id;
}

function reservedIn(id: string) {
  return Object.entries({ [CAPACITY]: "reserved", [RESERVATION]: id }).map(([key, value]) => ({
    key,
    operator: "In" as const,
    values: [value],
  }));
}

/** A class with two further instance profiles. IAM does not delete the first. */
async function withProfiles(): Promise<void> {
  const uid = "class-uid";
  const prepare = (aws: SimulatedAws) => {
    const { iam } = aws.api;
    const deleteInstanceProfile: typeof iam.deleteInstanceProfile = async (input) => {
      if (input.InstanceProfileName === "first") throw new AwsError("ServiceFailure", "away");
      return iam.deleteInstanceProfile(input);
    };
    Object.assign(aws, { api: { ...aws.api, iam: { ...iam, deleteInstanceProfile } } });
  };
  world = await awsWorld({}, { prepare });
  const Path = `/karpenter/${REGION}/${CLUSTER}/${uid}/`;
  for (const InstanceProfileName of BOTH)
    await world.api.iam.createInstanceProfile({ InstanceProfileName, Path, Tags: [] });
  const nodeClass = ec2NodeClass();
  await world.kube.create(EC2_NODE_CLASS, { ...nodeClass, metadata: { name: "default", uid } });
  await world.clock.advance(2_000);
}

/** EC2 does not answer which subnets there are for this tag. */
function refuseAbout(aws: SimulatedAws, tag: string): void {
  const { ec2 } = aws.api;
  const describeSubnets: typeof ec2.describeSubnets = async (input) => {
    if (JSON.stringify(input).includes(tag)) throw new AwsError("InternalError", "away");
    return ec2.describeSubnets(input);
  };
  Object.assign(aws, { api: { ...aws.api, ec2: { ...ec2, describeSubnets } } });
}

function claims(isDone: (claim: ReturnType<typeof awsClaim>) => boolean): readonly string[] {
  return world.kube
    .all(NODE_CLAIM)
    .filter(isDone)
    .map(({ metadata }) => metadata.name);
}
