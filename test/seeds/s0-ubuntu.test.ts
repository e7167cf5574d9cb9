/** Seed S0's first story: five pods, an Ubuntu node for three of them, what the log says, and the clean-up. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Instance } from "../../src/providers/aws/api/instances.ts";
import {
  type Account,
  conditionOf,
  DEPLOYMENTS,
  inAccount,
  type Json,
  MACHINES,
  NODES,
  openAccount,
  overrides,
  PODS,
  PROVISIONERS,
  TEMPLATES,
  userDataOf,
  WHOLE_REGION,
} from "./account.ts";

const KARPENTER_PODS = "/api/v1/namespaces/karpenter/pods";

describe("an Ubuntu node for seed S0's inflate", () => {
  let account: Account;
  let node: Json;
  let machine: Json;
  let instance: Instance;

  beforeAll(async () => {
    account = await openAccount(WHOLE_REGION);
    const { world } = account;
    const ubuntu = [...world.box.sandbox.aws.state.images.values()].filter(
      ({ family }) => family === "Ubuntu",
    );
    expect(ubuntu.length).toBeGreaterThan(0);
    await world.applySeed("s0-03-custom_ami_node_template.yaml");
    await world.applySeed("s0-04-custom_karpenter_provisioner.yaml");
    await world.applySeed("s0-05-basic-deploy.yaml");
  });
  afterAll(() => account.world.close());

  it("is launched for three of five pods; the other two fit the base nodes (S0-28)", async () => {
    await account.world.advance(500);
    const pods = await account.items(PODS);
    expect(pods).toHaveLength(5);
    const waiting = pods.filter(({ spec }) => spec.nodeName === undefined);
    expect(waiting).toHaveLength(3);
    for (const pod of waiting) {
      expect(conditionOf(pod, "PodScheduled")).toMatchObject({
        status: "False",
        reason: "Unschedulable",
      });
    }
  });

  it("is logged in v0.31's console form and order (S0-30, S0-31, S0-32, S0-33, S0-34)", async () => {
    await account.world.advance(1_000);
    const { state } = account.world.box.sandbox.aws;
    const lines = account.world.log();
    const time = String.raw`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z`;
    const commit = String.raw`\{"commit": "[0-9a-f]{7}(?:-dirty)?", `;
    const find = (level: string, logger: string, message: string, tail: string) => {
      const pattern = new RegExp(`${time}\t${level}\t${logger}\t${message}\t${commit}${tail}\\}$`);
      const at = lines.findIndex((line) => pattern.test(line));
      expect(at, `${pattern} in\n${lines.join("\n")}`).toBeGreaterThanOrEqual(0);
      return { at, groups: pattern.exec(lines[at] as string)?.slice(1) ?? [] };
    };
    const provisioner = String.raw`controller\.provisioner`;
    const limits = find(
      "DEBUG",
      provisioner,
      String.raw`(\d+) out of (\d+) instance types were excluded because they would breach limits`,
      '"provisioner": "custom"',
    );
    const types = [...state.catalogue.facts.values()];
    const above = types.filter(({ vcpus }) => vcpus > 50);
    expect(limits.groups).toEqual([`${above.length}`, `${types.length}`]);
    const found = find(
      "INFO",
      provisioner,
      String.raw`found provisionable pod\(s\)`,
      String.raw`"pods": "([^"]*)", "duration": "\d+(?:\.\d+)?(?:ns|µs|ms|s)"`,
    );
    const waiting = (await account.items(PODS)).filter(({ spec }) => spec.nodeName === undefined);
    expect(found.groups[0]?.split(", ").sort()).toEqual(
      waiting.map(({ metadata }) => `default/${metadata.name}`).sort(),
    );
    const computed = find(
      "INFO",
      provisioner,
      String.raw`computed new machine\(s\) to fit pod\(s\)`,
      '"machines": 1, "pods": 3',
    );
    const created = find(
      "INFO",
      provisioner,
      "created machine",
      String.raw`"provisioner": "custom", "machine": "(custom-[a-z0-9]{5})", "requests": \{"cpu":"3155m","memory":"120Mi","pods":"7"\}, "instance-types": "m5\.xlarge"`,
    );
    [machine] = await account.items(MACHINES);
    expect(machine.metadata.name).toBe(created.groups[0]);
    expect(machine.spec.resources.requests).toEqual({ cpu: "3155m", memory: "120Mi", pods: "7" });
    const launched = find(
      "INFO",
      String.raw`controller\.machine\.lifecycle`,
      "launched machine",
      '"machine": "custom-.*"capacity-type": "on-demand".*',
    );
    const order = [limits.at, found.at, computed.at, created.at, launched.at];
    expect(order).toEqual(order.toSorted((a, b) => a - b));
  });

  it("is requested from EC2 with the two types only, on demand (S0-25)", async () => {
    const { spec } = await account.read(`${PROVISIONERS}/custom`);
    expect(spec.requirements.map(({ key }: Json) => key)).toEqual([
      "node.kubernetes.io/instance-type",
      "kubernetes.io/arch",
      "kubernetes.io/os",
      "karpenter.sh/capacity-type",
    ]);
    const [fleet] = account.fleets();
    // m5.large is too small for three pods and the DaemonSet pods.
    expect(new Set(overrides(fleet).map(({ InstanceType }) => InstanceType))).toEqual(
      new Set(["m5.xlarge"]),
    );
    expect(fleet?.TargetCapacitySpecification.DefaultTargetCapacityType).toBe("on-demand");
  });

  it("boots Canonical's image with its own root device and bootstrap script (S0-19, S0-35)", async () => {
    [instance] = (await account.instances()) as [Instance];
    const path =
      "/aws/service/canonical/ubuntu/eks/20.04/1.34/stable/current/amd64/hvm/ebs-gp2/ami-id";
    const { aws } = account.world.box.sandbox;
    expect(instance.ImageId).toBe(aws.state.parameters.get(path));
    expect(aws.state.images.get(instance.ImageId)?.image.Name).toContain("ubuntu");
    const [template] = account.templates();
    expect(template?.LaunchTemplateData.BlockDeviceMappings).toMatchObject([
      { DeviceName: "/dev/sda1", Ebs: { VolumeSize: 20, VolumeType: "gp3", Encrypted: true } },
    ]);
    expect(userDataOf(template)).toContain("/etc/eks/bootstrap.sh 'karpenter-demo'");
    expect(userDataOf(template)).not.toContain("--container-runtime");
  });

  it("has instance and volumes with the template's tags (S0-20)", async () => {
    const tags = { "managed-by": "karpenter", "ami-type": "ubuntu", intent: "apps" };
    expect(await account.tags(instance.InstanceId)).toMatchObject(tags);
    const disks = await account.volumes(instance.InstanceId);
    expect(disks).toHaveLength(1);
    for (const { VolumeId } of disks) expect(await account.tags(VolumeId)).toMatchObject(tags);
  });

  it("runs the three pods after it joins, and bears the provisioner's label (S0-24, S0-35, S0-36)", async () => {
    const pods = await account.running("inflate", 5);
    [node] = await account.items(`${NODES}?labelSelector=eks-immersion-team%3Ddefault`);
    expect(node.metadata.name).toBe(instance.PrivateDnsName);
    expect(pods.filter(({ spec }) => spec.nodeName === node.metadata.name)).toHaveLength(3);
    expect(node.status.nodeInfo.osImage).toContain("Ubuntu");
    machine = await account.read(`${MACHINES}/${machine.metadata.name}`);
    for (const type of ["MachineLaunched", "MachineRegistered", "MachineInitialized"]) {
      expect(conditionOf(machine, type)?.status, type).toBe("True");
    }
    expect(machine.metadata.labels["eks-immersion-team"]).toBe("default");
  });

  it("counts against the provisioner's limits (S0-26)", async () => {
    await account.world.advance(10_000);
    expect((await account.read(`${PROVISIONERS}/custom`)).status.resources.cpu).toBe("4");
  });

  it("is logged by a controller whose pod in namespace karpenter has that log (S0-29)", async () => {
    const selected = `${KARPENTER_PODS}?labelSelector=app.kubernetes.io%2Fname%3Dkarpenter`;
    const pods = await account.items(selected);
    expect(pods).toHaveLength(1);
    const path = `${KARPENTER_PODS}/${pods[0]?.metadata.name}/log`;
    const text: string = await account.read(`${path}?tailLines=10`);
    const lines = text.trimEnd().split("\n");
    expect(lines).toEqual(account.world.log().slice(-10));
    const all: string = await account.read(path);
    const third = all.split("\n").map((line) => line.split("\t")[2]);
    expect(third).toContain("controller.provisioner");
  });

  it("is removed thirty seconds after the last pod, not before (S0-23)", async () => {
    const { world } = account;
    const scale = { spec: { replicas: 0 } };
    await account.send("PATCH", `${DEPLOYMENTS}/inflate/scale`, scale, {
      "content-type": "application/merge-patch+json",
    });
    await world.until("an empty machine", async () => {
      const stored = await account.read(`${MACHINES}/${machine.metadata.name}`);
      return conditionOf(stored, "MachineEmpty")?.status === "True";
    });
    await world.advance(29_000);
    const held = await account.read(`${NODES}/${node.metadata.name}`);
    expect(held.metadata.deletionTimestamp).toBeUndefined();
    expect(held.spec.unschedulable).toBeUndefined();
    await world.advance(11_000);
    expect((await account.send("GET", `${NODES}/${node.metadata.name}`)).status).toBe(404);
    expect(
      account.said("deprovisioning via emptiness delete, terminating 1 machines")[0],
    ).toContain(
      `\tcontroller.deprovisioning\tdeprovisioning via emptiness delete, terminating 1 machines ${node.metadata.name}/m5.xlarge/on-demand\t`,
    );
    expect(account.said("\tcordoned node\t")).toHaveLength(1);
    expect(await account.instances()).toEqual([]);
  });
});

describe("the limits of seed S0's provisioner", () => {
  it("keep pods pending beyond fifty vCPUs (S0-26)", () =>
    inAccount(async (account) => {
      const { world } = account;
      await world.applySeed("s0-03-custom_ami_node_template.yaml");
      await world.applySeed("s0-04-custom_karpenter_provisioner.yaml");
      await world.applySeed("s0-05-basic-deploy.yaml");
      await world.scale("inflate", 60);
      await world.advance(15_000);
      const machines = await account.items(MACHINES);
      const cpus = machines.map(({ status }) => Number(status.capacity.cpu));
      const total = cpus.reduce((sum, cpu) => sum + cpu, 0);
      expect(total).toBeGreaterThan(40);
      expect(total).toBeLessThanOrEqual(50);
      const pending = (await account.items(PODS)).filter(
        ({ status }) => status.phase === "Pending",
      );
      expect(pending.length).toBeGreaterThan(0);
      const events = await account.events("Pod");
      expect(
        events.some(
          (event) =>
            event.startsWith("FailedScheduling") &&
            event.includes('all available instance types exceed limits for provisioner: "custom"'),
        ),
      ).toBe(true);
    }));
});

describe("cleaning up seed S0", () => {
  const start = async (account: Account) => {
    const { world } = account;
    await world.applySeed("s0-03-custom_ami_node_template.yaml");
    await world.applySeed("s0-04-custom_karpenter_provisioner.yaml");
    await world.applySeed("s0-05-basic-deploy.yaml");
    await account.running("inflate", 5);
    const [machine] = await account.items(MACHINES);
    return machine;
  };

  it("deletes the deployment's pods, and then their node (S0-02)", () =>
    inAccount(async (account) => {
      await start(account);
      await account.world.remove("Deployment", "inflate", "apps/v1");
      await account.world.advance(5_000);
      expect(await account.items("/apis/apps/v1/namespaces/default/replicasets")).toEqual([]);
      expect(await account.items(PODS)).toEqual([]);
      expect(await account.instances()).toHaveLength(1);
      await account.world.advance(60_000);
      expect(await account.instances()).toEqual([]);
      expect(await account.items(NODES)).toHaveLength(2);
    }));

  it("deletes the provisioner with its machines, plans no more, and reports not found the second time (S0-03)", () =>
    inAccount(async (account) => {
      const machine = await start(account);
      const path = `${PROVISIONERS}/custom`;
      expect((await account.send("DELETE", path)).status).toBe(200);
      await account.world.advance(30_000);
      expect(await account.items(MACHINES)).toEqual([]);
      expect(account.said("\tcordoned node\t")[0]).toContain(machine.status.nodeName);
      expect(await account.items(NODES)).toHaveLength(2);
      expect(await account.instances()).toEqual([]);
      // The three pods are pending again, and no node is launched for them.
      const waiting = (await account.items(PODS)).filter(({ spec }) => spec.nodeName === undefined);
      expect(waiting).toHaveLength(3);
      expect(account.fleets()).toHaveLength(1);
      expect(await account.send("DELETE", path)).toMatchObject({
        status: 404,
        body: { reason: "NotFound" },
      });
    }));

  it("deletes the template at once, while its machine stays and can still be terminated (S0-04)", () =>
    inAccount(async (account) => {
      const machine = await start(account);
      await account.send("DELETE", `${TEMPLATES}/custom`);
      expect((await account.send("GET", `${TEMPLATES}/custom`)).status).toBe(404);
      await account.world.advance(30_000);
      const path = `${MACHINES}/${machine.metadata.name}`;
      expect((await account.read(path)).metadata.deletionTimestamp).toBeUndefined();
      expect(await account.instances()).toHaveLength(1);
      await account.send("DELETE", path);
      await account.world.advance(30_000);
      expect((await account.send("GET", path)).status).toBe(404);
      expect(await account.instances()).toEqual([]);
    }));

  it("leaves nothing behind in the seed's order, template before provisioner (S0-37)", () =>
    inAccount(async (account) => {
      await start(account);
      const { world } = account;
      await account.send("DELETE", `${DEPLOYMENTS}/inflate`);
      await account.send("DELETE", `${TEMPLATES}/custom`);
      await account.send("DELETE", `${PROVISIONERS}/custom`);
      await world.advance(60_000);
      expect(await account.items(MACHINES)).toEqual([]);
      expect(await account.items(NODES)).toHaveLength(2);
      expect(await account.instances()).toEqual([]);
      await world.advance(600_000);
      expect([...world.box.sandbox.aws.state.launchTemplates.keys()]).toEqual([]);
    }));
});
