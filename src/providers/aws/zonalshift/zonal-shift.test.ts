import { afterEach, describe, expect, it } from "vitest";
import { EC2_NODE_CLASS } from "../../../apis/aws/ec2nodeclass.ts";
import { NODE_CLAIM } from "../../../apis/karpenter/nodeclaim.ts";
import { NODE_POOL } from "../../../apis/karpenter/nodepool.ts";
import type { SimulatedAws } from "../../../sandbox/ec2/simulated-aws.ts";
import {
  type AwsWorld,
  awsClaim,
  awsWorld,
  CLUSTER,
  ec2NodeClass,
} from "../../../testing/aws-world.ts";
import { nodePool, pool } from "../../../testing/builders.ts";
import type { AwsSettings } from "../parts.ts";

const CLASS_REF = { group: "karpenter.k8s.aws", kind: "EC2NodeClass", name: "default" };
const ZONE = "topology.kubernetes.io/zone";
const AWAY_FROM = "use1-az1";

let world: AwsWorld;
afterEach(() => world.stop());

async function begin(settings: Partial<AwsSettings> = { zonalShift: true }): Promise<void> {
  world = await awsWorld(settings);
  await world.kube.create(EC2_NODE_CLASS, ec2NodeClass());
  await world.clock.advance(1_000);
}

async function shift(expiresIn = "30m"): Promise<string> {
  const resourceIdentifier = world.aws.state.cluster.arn;
  const input = { resourceIdentifier, awayFrom: AWAY_FROM, expiresIn, comment: "power" };
  const answer = await world.aws.call("zonalShift", "StartZonalShift", input);
  await world.clock.advance(31_000);
  return (answer as { zonalShiftId: string }).zonalShiftId;
}

async function zonesToBeHad(): Promise<readonly string[]> {
  const types = await world.settle(world.cloud.getInstanceTypes(pool({ classRef: CLASS_REF })));
  const open = types.flatMap((type) => type.offerings.filter((one) => one.available));
  return [...new Set(open.map((one) => one.zone))].sort();
}

const ALL = ["us-east-1a", "us-east-1b", "us-east-1c"];

function eventsOf(reason: string): readonly string[] {
  return world.events
    .filter((one) => one.reason === reason)
    .map((one) => `${one.object.metadata.name}: ${one.message}`);
}

describe("a zonal shift of the cluster", () => {
  it("stops launches in its zone while it lasts, and allows them after its end time", async () => {
    await begin();
    expect(await zonesToBeHad()).toEqual(ALL);
    await shift("30m");
    expect(await zonesToBeHad()).toEqual(["us-east-1b", "us-east-1c"]);
    const inZone = awsClaim([{ key: ZONE, operator: "In", values: ["us-east-1a"] }]);
    await expect(world.settle(world.cloud.create(inZone))).rejects.toThrow("no capacity offerings");
    await world.clock.advance(30 * 60_000);
    expect(await zonesToBeHad()).toEqual(ALL);
  });

  it("ends when it is cancelled, even if another shift is listed (upstream: not before its time)", async () => {
    await begin();
    const id = await shift();
    const input = {
      resourceIdentifier: world.aws.state.cluster.arn,
      comment: "b",
      expiresIn: "2h",
    };
    await world.aws.call("zonalShift", "CancelZonalShift", { zonalShiftId: id });
    await world.aws.call("zonalShift", "StartZonalShift", { ...input, awayFrom: "use1-az2" });
    await world.clock.advance(31_000);
    expect(await zonesToBeHad()).toEqual(["us-east-1a", "us-east-1c"]);
  });

  it("causes an event on each NodePool that could launch there, and on no other", async () => {
    await begin();
    await world.kube.create(
      NODE_POOL,
      nodePool({ name: "anywhere", template: { nodeClassRef: CLASS_REF } }),
    );
    const requirements = [{ key: ZONE, operator: "In" as const, values: ["us-east-1b"] }];
    await world.kube.create(
      NODE_POOL,
      nodePool({ name: "elsewhere", template: { nodeClassRef: CLASS_REF, requirements } }),
    );
    const id = await shift();
    expect(eventsOf("ZonalShiftActive")).toEqual([
      `anywhere: Zonal shift detected: offerings in zone us-east-1a (${AWAY_FROM}) are unavailable for this NodePool`,
    ]);
    await world.aws.call("zonalShift", "CancelZonalShift", { zonalShiftId: id });
    await world.clock.advance(31_000);
    expect(eventsOf("ZonalShiftCleared")).toEqual([
      `anywhere: Zonal shift cleared: offerings in zone us-east-1a (${AWAY_FROM}) are restored for this NodePool`,
    ]);
  });

  it("causes an event on a NodePool once its subnets can be read, even if they could not be at the beginning", async () => {
    await begin({ zonalShift: true, subnetRefreshMs: 1_000 });
    await world.kube.create(
      NODE_POOL,
      nodePool({ name: "late", template: { nodeClassRef: CLASS_REF } }),
    );
    const undo = world.aws.faults.deny("DescribeSubnets");
    await shift();
    expect(eventsOf("ZonalShiftActive")).toEqual([]);
    expect(world.said.join("\n")).toContain("DescribeSubnets");
    undo();
    await world.clock.advance(60_000);
    expect(eventsOf("ZonalShiftActive").map((one) => one.split(":")[0])).toEqual(["late"]);
    await world.clock.advance(120_000);
    expect(eventsOf("ZonalShiftActive")).toHaveLength(1);
  });

  it("protects instances in its zone: they are not terminated or tagged, and never count as terminated", async () => {
    await begin();
    const claim = awsClaim([{ key: ZONE, operator: "In", values: ["us-east-1a"] }]);
    const launched = await world.settle(world.cloud.create(claim));
    const id = await shift();
    await expect(world.settle(world.cloud.delete(launched))).rejects.toThrow("shifted away");
    const reboot = world.cloud.reboot(launched, "operation");
    await expect(world.settle(reboot)).rejects.toThrow("is not rebooted: traffic is shifted away");
    const joined = { ...launched.status, nodeName: "node-a" };
    const metadata = { name: "joined", labels: launched.metadata.labels ?? {} };
    await world.kube.create(NODE_CLAIM, { ...launched, metadata, status: joined });
    await world.clock.advance(5_000);
    const tagged = () => world.aws.journal.calls({ action: "CreateTags" }).length;
    expect(tagged()).toBe(0);
    world.aws.controls.failInstance(launched.status?.providerID?.split("/").at(-1) ?? "");
    await world.clock.advance(60_000);
    const get = (): Promise<unknown> => world.cloud.get(launched.status?.providerID ?? "");
    await expect(world.settle(get())).rejects.toThrow("is not to be seen: traffic is shifted away");
    await world.aws.call("zonalShift", "CancelZonalShift", { zonalShiftId: id });
    await world.clock.advance(31_000);
    await expect(world.settle(get())).rejects.toThrow("instance not found");
  });

  it("is checked before an instance counts as terminated, also right after a start", async () => {
    let answer = (): void => undefined;
    const answered = new Promise<void>((resolve) => {
      answer = resolve;
    });
    const prepare = (aws: SimulatedAws): void => {
      const getManagedResource = () => answered.then(() => ({ zonalShifts: [], autoshifts: [] }));
      Object.assign(aws, { api: { ...aws.api, zonalShift: { getManagedResource } } });
    };
    world = await awsWorld({ zonalShift: true }, { prepare });
    const get = (): Promise<unknown> => world.cloud.get("aws:///us-east-1a/i-0123456789abcdef0");
    await expect(world.settle(get())).rejects.toThrow("not known yet which zones are shifted");
    answer();
    await world.clock.advance(1_000);
    await expect(world.settle(get())).rejects.toThrow("instance not found");
  });

  it("stays known while AWS does not answer, until its end time", async () => {
    await begin();
    await shift("30m");
    world.aws.faults.unreachable("zonalShift");
    await world.clock.advance(10 * 60_000);
    expect(await zonesToBeHad()).not.toContain("us-east-1a");
    await world.clock.advance(21 * 60_000);
    expect(await zonesToBeHad()).toEqual(ALL);
  });

  it("is ignored without --enable-zonal-shift", async () => {
    await begin({});
    await shift();
    expect(await zonesToBeHad()).toEqual(ALL);
    expect(world.aws.journal.calls({ service: "zonalShift" }).map((one) => one.action)).toEqual([
      "StartZonalShift",
    ]);
  });

  it("of a cluster that is not registered is an error with the command that registers it", async () => {
    const refused = { code: "ResourceNotFoundException", message: "Not registered.", status: 404 };
    const prepare = ({ faults }: SimulatedAws) =>
      void faults.failCalls({ service: "zonalShift", ...refused });
    world = await awsWorld({ zonalShift: true }, { prepare });
    await world.clock.advance(1_000);
    expect(world.said.join("\n")).toContain(
      `aws eks update-cluster-config --name ${CLUSTER} --zonal-shift-config enabled=true`,
    );
  });
});
