/** Seed S1: Karpenter 0.5 on a cluster of two nodes. The Deployment inflate is scaled to 1, to 10 and to 0. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  type Account,
  conditionOf,
  inAccount,
  type Json,
  MACHINES,
  NODES,
  openAccount,
  overrides,
  PROVISIONERS,
  seed,
} from "./account.ts";

const PROFILE = "KarpenterNodeInstanceProfile-karpenter-demo";
const CONFIG_MAPS = "/api/v1/namespaces/karpenter/configmaps";
const MERGE = { "content-type": "application/merge-patch+json" };

const isBase = ({ metadata }: Json) =>
  metadata.labels["karpenter.sh/provisioner-name"] === undefined;

describe("the tutorial of seed S1", () => {
  let account: Account;
  let first: Json;

  beforeAll(async () => {
    account = await openAccount({ kubernetesVersion: "1.21" });
  });
  afterAll(() => account.world.close());

  it("starts with two m5.large nodes that are not Karpenter's, on Kubernetes 1.21 (S1-14)", async () => {
    expect(await account.read("/version")).toMatchObject({ major: "1", minor: "21" });
    const nodes = await account.items(NODES);
    expect(nodes).toHaveLength(2);
    for (const { metadata } of nodes) {
      expect(metadata.labels["node.kubernetes.io/instance-type"]).toBe("m5.large");
      expect(Object.keys(metadata.labels).filter((key) => key.startsWith("karpenter."))).toEqual(
        [],
      );
    }
  });

  it("finds the role and the instance profile of the stack (S1-20)", async () => {
    const { aws } = account.world.box.sandbox;
    const input = { InstanceProfileName: PROFILE };
    expect(await aws.call("iam", "GetInstanceProfile", input)).toMatchObject({
      InstanceProfile: { Roles: [{ RoleName: "KarpenterNodeRole-karpenter-demo" }] },
    });
  });

  it("gives the inline provider the cluster's subnets and groups (S1-16, S1-31)", async () => {
    const { world } = account;
    await world.applySeed("s1-02-provisioner-RECONSTRUCTED.yaml");
    await world.applySeed("s1-03-inflate-RECONSTRUCTED.yaml");
    const { spec } = await account.read(`${PROVISIONERS}/default`);
    const selector = { "kubernetes.io/cluster/karpenter-demo": "*" };
    expect(spec.provider).toEqual({
      instanceProfile: PROFILE,
      subnetSelector: selector,
      securityGroupSelector: selector,
    });
    expect(spec.requirements).toEqual([
      { key: "karpenter.sh/capacity-type", operator: "In", values: ["spot"] },
      { key: "kubernetes.io/arch", operator: "In", values: ["amd64"] },
    ]);
  });

  it("launches a node for one replica, and logs it in v0.5's words (S1-08, S1-09, S1-21, S1-35)", async () => {
    const { world } = account;
    await account.deploy("filler", 2);
    await account.running("filler", 2);
    await world.scale("inflate", 1);
    const [pod] = await account.running("inflate", 1);
    const [instance] = await account.instances();
    [first] = (await account.items(NODES)).filter((node) => !isBase(node));
    expect(first.metadata.name).toBe(instance?.PrivateDnsName);
    expect(pod.spec.nodeName).toBe(first.metadata.name);
    expect(conditionOf(first, "Ready").status).toBe("True");
    const labels = first.metadata.labels;
    const type = labels["node.kubernetes.io/instance-type"];
    const zone = labels["topology.kubernetes.io/zone"];
    const lines = account.said("\tINFO\tcontroller.provisioning\t").map((line) => line.split("\t"));
    expect(lines.map(([, , , message]) => message)).toEqual([
      "Batched 1 pods in 1s",
      expect.stringMatching(
        /^Computed packing of 1 node\(s\) for 1 pod\(s\) with instance type option\(s\) \[[a-z0-9. -]+\]$/,
      ),
      `Launched instance: ${instance?.InstanceId}, hostname: ${first.metadata.name}, type: ${type}, zone: ${zone}, capacityType: spot`,
    ]);
    expect(account.fleets()[0]).toMatchObject({
      Type: "instant",
      TargetCapacitySpecification: { TotalTargetCapacity: 1, DefaultTargetCapacityType: "spot" },
    });
  });

  it("finds subnets by the tag's key, whatever its value (S1-16)", () => {
    const asked = account.world.box.sandbox.aws.journal.inputs<Json>("DescribeSubnets");
    expect(asked.map(({ Filters }) => Filters)).toContainEqual([
      { Name: "tag-key", Values: ["kubernetes.io/cluster/karpenter-demo"] },
    ]);
  });

  it("packs the remaining need of ten replicas into one c5.2xlarge (S1-36, S1-37)", async () => {
    const { world } = account;
    await account.send("DELETE", "/apis/apps/v1/namespaces/default/deployments/filler");
    await world.advance(2_000);
    const { faults, state } = world.box.sandbox.aws;
    for (const instanceType of state.catalogue.names) {
      if (instanceType !== "c5.2xlarge") faults.limitCapacity({ instanceType });
    }
    await world.scale("inflate", 10);
    await account.running("inflate", 10);
    const fleet = account.fleets().at(-1);
    expect(overrides(fleet).map(({ InstanceType }) => InstanceType)).toContain("c5.2xlarge");
    const added = (await account.items(NODES)).filter(
      (node) => !isBase(node) && node.metadata.name !== first.metadata.name,
    );
    expect(
      added.map(({ metadata }) => metadata.labels["node.kubernetes.io/instance-type"]),
    ).toEqual(["c5.2xlarge"]);
  });

  it("marks empty nodes with a TTL and removes them when it expires (S1-10, S1-32, S1-38, S1-39)", async () => {
    const { world } = account;
    await world.scale("inflate", 0);
    await world.advance(5_000);
    const empty = (await account.items(NODES)).filter((node) => !isBase(node));
    expect(empty).toHaveLength(2);
    for (const { metadata } of empty) {
      expect(metadata.annotations["karpenter.sh/emptiness-timestamp"]).toMatch(
        /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/,
      );
      expect(account.said(`"node": "${metadata.name}"`).join("\n")).toMatch(
        /^\S+\tINFO\tcontroller\.node\tAdded TTL to empty node\t\{"commit": "[0-9a-f]{7}", "node": "ip-[^"]+"\}$/m,
      );
    }
    expect(account.said("Triggering termination")).toEqual([]);
    await world.advance(40_000);
    const tell = (text: string) => account.said(text).map((line) => line.split("\t").slice(2, 4));
    expect(tell("Triggering termination after 30s for empty node")).toEqual([
      ["controller.node", "Triggering termination after 30s for empty node"],
      ["controller.node", "Triggering termination after 30s for empty node"],
    ]);
    expect(tell("Cordoned node")[0]).toEqual(["controller.termination", "Cordoned node"]);
    expect(tell("Deleted node")[0]).toEqual(["controller.termination", "Deleted node"]);
    expect(await account.instances()).toEqual([]);
  });

  it("leaves the two base nodes unchanged, and calls no Auto Scaling Group (S1-11, S1-14)", async () => {
    const nodes = await account.items(NODES);
    expect(nodes).toHaveLength(2);
    for (const { spec } of nodes) expect(spec.unschedulable).toBeUndefined();
    expect(await account.items(MACHINES)).toEqual([]);
    const services = account.world.box.sandbox.aws.journal.calls().map(({ service }) => service);
    expect([...new Set(services)].sort()).not.toContain("autoscaling");
    expect(services).toContain("ec2");
  });
});

describe("a new pod on an empty node", () => {
  it("removes the TTL from the node (S1-38)", () =>
    inAccount(async (account) => {
      const { world } = account;
      await world.applySeed("s1-02-provisioner-RECONSTRUCTED.yaml");
      await world.applySeed("s1-03-inflate-RECONSTRUCTED.yaml");
      await world.scale("inflate", 3);
      await account.running("inflate", 3);
      await world.scale("inflate", 0);
      await world.advance(10_000);
      await world.scale("inflate", 3);
      await account.running("inflate", 3);
      const [node] = (await account.items(NODES)).filter((one) => !isBase(one));
      expect(node.metadata.annotations["karpenter.sh/emptiness-timestamp"]).toBeUndefined();
      expect(account.said("\tcontroller.node\tRemoved emptiness TTL from node\t")).toHaveLength(1);
      await world.advance(60_000);
      expect(await account.instances()).toHaveLength(1);
    }));
});

describe("ttlSecondsAfterEmpty of seed S1", () => {
  it("keeps empty nodes if it is -1 or missing; -2 is refused (S1-33)", () =>
    inAccount(async (account) => {
      const { world } = account;
      const never = seed("s1-05-provisioner-ttl-minus-one.yaml", {
        spec: { labels: { ttl: "no" } },
      });
      expect((await account.send("POST", PROVISIONERS, never)).status).toBe(201);
      const absent = { ...seed("s1-06-provisioner-expiry.yaml", {}, "absent") };
      absent.spec = { provider: absent.spec.provider, labels: { ttl: "absent" } };
      await account.send("POST", PROVISIONERS, absent);
      const worse = seed("s1-05-provisioner-ttl-minus-one.yaml", {
        metadata: { name: "worse" },
        spec: { ttlSecondsAfterEmpty: -2 },
      });
      expect(await account.send("POST", PROVISIONERS, worse)).toMatchObject({
        body: { message: expect.stringContaining("spec.ttlSecondsAfterEmpty") },
      });
      for (const ttl of ["no", "absent"]) {
        await account.deploy(ttl, 1, { spec: { nodeSelector: { ttl } } });
        await account.running(ttl, 1);
        await world.scale(ttl, 0);
      }
      await world.advance(3_600_000);
      expect(await account.instances()).toHaveLength(2);
      for (const { metadata } of (await account.items(NODES)).filter((one) => !isBase(one)))
        expect(metadata.annotations["karpenter.sh/emptiness-timestamp"]).toBeUndefined();
      expect(account.said("Added TTL to empty node")).toEqual([]);
    }));
});

describe("the controller's log level (S1-27)", () => {
  it("follows config-logging while it runs (S1-27)", () =>
    inAccount(
      async (account) => {
        const { world } = account;
        const path = `${CONFIG_MAPS}/config-logging`;
        const patch = async (level: string | null) => {
          const body = { data: { "loglevel.controller": level } };
          expect((await account.send("PATCH", path, body, MERGE)).status).toBe(200);
          await world.advance(1_000);
        };
        const debugLines = async () => {
          const before = account.said("\tDEBUG\t").length;
          await world.applySeed("s1-03-inflate-RECONSTRUCTED.yaml");
          await world.scale("inflate", 3);
          await world.advance(20_000);
          await world.scale("inflate", 0);
          await world.advance(5_000);
          return account.said("\tDEBUG\t").length - before;
        };
        await world.applySeed("s1-02-provisioner-RECONSTRUCTED.yaml");
        expect(await debugLines()).toBe(0);
        await patch("debug");
        expect(account.said("Updating logging level")[0]).toMatch(
          /\tINFO\tcontroller\tUpdating logging level for controller from info to debug\.\t/,
        );
        expect(await debugLines()).toBeGreaterThan(0);
        await patch("info");
        expect(await debugLines()).toBe(0);
        await patch("error");
        await patch(null);
        expect(account.said("from error to info.")).toHaveLength(1);
        expect(
          await account.send("PATCH", path, { data: { "loglevel.controller": "loud" } }, MERGE),
        ).toMatchObject({
          status: 400,
          body: { message: expect.stringContaining("data.loglevel.controller") },
        });
      },
      { logLevel: "info" },
    ));
});

describe("AWS resources of seed S1's installation", () => {
  it("include an instance profile for inline providers that name none; a named one has precedence (S1-18, S1-19)", () =>
    inAccount(async (account) => {
      const { world } = account;
      world.box.sandbox.aws.controls.addInstanceProfile("own", "KarpenterNodeRole-karpenter-demo");
      for (const [name, provider] of [
        ["usual", {}],
        ["own", { instanceProfile: "own" }],
      ] as const) {
        await account.send("POST", PROVISIONERS, {
          apiVersion: "karpenter.sh/v1alpha5",
          kind: "Provisioner",
          metadata: { name },
          spec: { provider, labels: { profile: name } },
        });
        await account.deploy(name, 1, { spec: { nodeSelector: { profile: name } } });
        await account.running(name, 1);
      }
      const profiles = account
        .templates()
        .map(({ LaunchTemplateData }) => LaunchTemplateData.IamInstanceProfile?.Name);
      expect([...new Set(profiles)]).toEqual([PROFILE, "own"]);
    }));

  it("include subnets only once they bear the cluster's tag, which may be empty (S1-17)", () =>
    inAccount(async (account) => {
      const { world } = account;
      const { aws } = world.box.sandbox;
      const key = "kubernetes.io/cluster/karpenter-demo";
      const subnets = [...aws.state.subnets.keys()];
      for (const id of subnets) aws.controls.untag(id, [key]);
      await world.applySeed("s1-02-provisioner-RECONSTRUCTED.yaml");
      await world.applySeed("s1-03-inflate-RECONSTRUCTED.yaml");
      await world.scale("inflate", 3);
      await world.advance(15_000);
      expect(account.fleets()).toEqual([]);
      expect(account.said("\tERROR\t").join("\n")).toMatch(/no subnets/);
      await aws.call("ec2", "CreateTags", { Resources: subnets, Tags: [{ Key: key, Value: "" }] });
      await world.until("a fleet", () => account.fleets().length > 0, 61_000);
      await account.running("inflate", 3);
      const [instance] = await account.instances();
      expect(subnets).toContain(instance?.SubnetId);
    }));
});
