/** Seed S2, NodePool and EC2NodeClass: the examples as written, what is launched for them, defaults. */
import { describe, expect, it } from "vitest";
import {
  BETA,
  CLAIMS,
  CLASSES,
  conditionOf,
  inAccount,
  NODES,
  overrides,
  POOLS,
  seed,
  userDataOf,
  WHOLE_REGION,
} from "./account.ts";

describe("S2: the NodePool and the EC2NodeClass of the examples", () => {
  it("launch Bottlerocket on one of several types, with the template's labels and taints on claim and node (S2-06, S2-08, S2-09, S2-10, S2-12, S2-13, S2-20, S2-22)", () =>
    inAccount(async ({ world, ...account }) => {
      await world.applySeed("s2-03-ec2nodeclass.yaml");
      await world.applySeed("s2-01-nodepool.yaml");
      await account.deploy("team", 1, { spec: { nodeSelector: { team: "team-a" } } });
      await account.running("team", 1);

      const pool = await account.read(`${POOLS}/default`);
      expect(pool.spec.template.spec.requirements).toEqual([
        { key: "karpenter.k8s.aws/instance-category", operator: "In", values: ["c", "m", "r"] },
      ]);
      const [fleet] = account.fleets();
      expect(new Set(overrides(fleet).map((one) => one.InstanceType)).size).toBeGreaterThan(1);
      expect(fleet?.TargetCapacitySpecification.DefaultTargetCapacityType).toBe("spot");
      const { facts } = world.box.sandbox.aws.state.catalogue;
      const arches = overrides(fleet).map(({ InstanceType = "" }) => facts.get(InstanceType)?.arch);
      expect(new Set(arches)).toEqual(new Set(["amd64", "arm64"]));

      const [claim] = await account.items(CLAIMS);
      const [node] = await account.items(`${NODES}?labelSelector=team=team-a`);
      for (const { metadata } of [claim, node]) {
        expect(metadata.annotations["custom-annotation"]).toBe("custom-value");
        expect(metadata.labels).toMatchObject({ team: "team-a", "custom-label": "custom-value" });
      }
      expect(claim.status.allocatable.pods).toBe("20");
      expect(node.status.allocatable.pods).toBe("20");

      const data = account.templates()[0]?.LaunchTemplateData;
      const toml = userDataOf(account.templates()[0]);
      expect(toml).toMatch(/^max-pods = 20$/m);
      expect(toml).toMatch(
        /\[settings\.kubernetes\.system-reserved\]\n(?:.+\n)*?cpu = ['"]100m['"]/,
      );
      expect(toml).toMatch(/^memory = ['"]100Mi['"]$/m);
      expect(toml).toMatch(/^ephemeral-storage = ['"]1Gi['"]$/m);
      expect(
        data?.BlockDeviceMappings?.map(({ DeviceName, Ebs }) => [DeviceName, Ebs?.VolumeSize]),
      ).toEqual([
        ["/dev/xvda", 4],
        ["/dev/xvdb", 20],
      ]);
      const parameters = world.box.sandbox.aws.journal
        .inputs<{ Name: string }>("GetParameter")
        .map(({ Name }) => Name);
      expect(parameters).toContain("/aws/service/bottlerocket/aws-k8s-1.34/x86_64/latest/image_id");

      const nodeClass = await account.read(`${CLASSES}/default`);
      const { subnets, securityGroups } = world.box.sandbox.aws.state;
      expect(nodeClass.status.subnets.map(({ id }: { id: string }) => id).sort()).toEqual(
        [...subnets.keys()].sort(),
      );
      expect(nodeClass.status.securityGroups.map(({ id }: { id: string }) => id).sort()).toEqual(
        [...securityGroups.keys()].sort(),
      );

      const table = await account.send("GET", CLAIMS, undefined, {
        accept: "application/json;as=Table;v=v1;g=meta.k8s.io",
      });
      const columns: readonly { name: string; priority: number }[] = table.body.columnDefinitions;
      const shown = columns.filter(({ priority }) => priority === 0).map(({ name }) => name);
      expect(shown).toEqual(["Name", "Type", "Zone", "Node", "Ready", "Age"]);
      const cells = table.body.rows[0].cells.slice(0, 5);
      const labels = claim.metadata.labels;
      expect(cells).toEqual([
        claim.metadata.name,
        labels["node.kubernetes.io/instance-type"],
        labels["topology.kubernetes.io/zone"],
        node.metadata.name,
        "True",
      ]);

      // A node has room for sixteen pods beside the DaemonSet pods, so forty pods need two more nodes. One plan finds
      // both.
      await account.deploy("many", 40, { cpu: "10m", spec: { nodeSelector: { team: "team-a" } } });
      await account.running("many", 40);
      expect(account.said('"nodeclaims": 2')).toHaveLength(1);
      expect(await account.items(CLAIMS)).toHaveLength(3);
    }, WHOLE_REGION));

  it("launch nothing while the class is missing (S2-11, S3-60)", () =>
    inAccount(async ({ world, ...account }) => {
      const without = seed("s2-01-nodepool.yaml", {
        spec: { template: { spec: { nodeClassRef: null } } },
      });
      const refused = await account.send("POST", POOLS, without);
      expect(refused.status).toBe(422);
      expect(refused.body.message).toContain("spec.template.spec.nodeClassRef");

      await world.applySeed("s2-01-nodepool.yaml");
      await account.deploy("early", 1, { spec: { nodeSelector: { team: "team-a" } } });
      await world.advance(30_000);
      expect(account.fleets()).toEqual([]);
      expect(await account.items(CLAIMS)).toEqual([]);
      expect(account.said("ERROR").at(-1)).toContain(
        'skipping, unable to resolve instance types, resolving node class, ec2nodeclasses.karpenter.k8s.aws "default" not found',
      );
      const claim = {
        apiVersion: BETA,
        kind: "NodeClaim",
        metadata: { name: "by-hand", labels: { "karpenter.sh/nodepool": "default" } },
        spec: { nodeClassRef: { name: "default" }, requirements: [], resources: { requests: {} } },
      };
      const made = await account.send("POST", CLAIMS, claim);
      expect(made.status, made.body.message).toBe(201);
      await world.until(
        "the claim is given up",
        async () => (await account.send("GET", `${CLAIMS}/by-hand`)).status === 404,
      );
      expect((await account.events("NodeClaim")).join("\n")).toContain(
        'InsufficientCapacityError: NodeClaim by-hand event: resolving node class, ec2nodeclasses.karpenter.k8s.aws "default" not found',
      );
      expect(account.fleets()).toEqual([]);

      await world.applySeed("s2-03-ec2nodeclass.yaml");
      await account.running("early", 1, 120_000);
      expect(account.fleets()).toHaveLength(1);
    }));
});

describe("S2: defaults and validation rules of the kinds", () => {
  it("fill in the defaults of disruption, whole or in part (S2-16, S2-17)", () =>
    inAccount(async ({ world, ...account }) => {
      await world.applySeed("s2-02-nodepool-no-disruption.yaml");
      const { spec } = await account.read(`${POOLS}/defaults`);
      expect(spec.disruption).toMatchObject({
        consolidationPolicy: "WhenUnderutilized",
        expireAfter: "720h",
      });
      const disruption = { consolidationPolicy: "WhenEmpty", consolidateAfter: "30s" };
      const partly = seed("s2-02-nodepool-no-disruption.yaml", { spec: { disruption } }, "partly");
      expect((await account.send("POST", POOLS, partly)).status).toBe(201);
      expect((await account.read(`${POOLS}/partly`)).spec.disruption).toMatchObject({
        ...disruption,
        expireAfter: "720h",
      });
      const nothing = seed(
        "s2-02-nodepool-no-disruption.yaml",
        { spec: { disruption: {} } },
        "nothing",
      );
      expect((await account.send("POST", POOLS, nothing)).status).toBe(201);
      expect((await account.read(`${POOLS}/nothing`)).spec.disruption).toMatchObject({
        consolidationPolicy: "WhenUnderutilized",
        expireAfter: "720h",
      });
    }));

  it("accept exactly one of role and instanceProfile, and no change of role (S2-18, S2-21)", () =>
    inAccount(async (account) => {
      const wish = (name: string, spec: object) => seed("s2-03-ec2nodeclass.yaml", { spec }, name);
      const tries = [
        [wish("both", { instanceProfile: "p" }), 422],
        [wish("neither", { role: null }), 422],
        [wish("profile", { role: null, instanceProfile: "p" }), 201],
        [wish("default", {}), 201],
      ] as const;
      for (const [object, status] of tries) {
        const answer = await account.send("POST", CLASSES, object);
        expect(answer.status, object.metadata.name).toBe(status);
      }
      const changed = await account.patch(`${CLASSES}/default`, { spec: { role: "x" } });
      expect(changed.status).toBe(422);
      expect(changed.body.message).toContain("immutable field changed");
      expect((await account.read(`${CLASSES}/default`)).spec.role).toBe(
        "KarpenterNodeRole-karpenter-demo",
      );
    }));

  it("combine selector terms with OR: owners and name filters of images, group names that are no Name tags (S2-26, S2-27, S2-29, S2-30)", () =>
    inAccount(async ({ world, ...account }) => {
      const { aws } = world.box.sandbox;
      const group = (name: string, tags: Readonly<Record<string, string>> = {}) =>
        aws.controls.addSecurityGroup({
          name,
          tags: Object.entries(tags).map(([Key, Value]) => ({ Key, Value })),
        });
      const byName = group("default-security-group");
      group("another", { Name: "default-security-group" });
      const byTag = group("third", { key: "value" });
      const subnet = (third: number, tags: readonly { Key: string; Value: string }[]) =>
        aws.controls.addSubnet({ zone: "us-west-2a", cidr: `10.0.${third}.0/24`, tags });
      const one = subnet(1, [{ Key: "one", Value: "1" }]);
      const two = subnet(2, [{ Key: "two", Value: "2" }]);

      const owner = seed("negative/s2-05-owner-integer.yaml");
      const refused = await account.send("POST", CLASSES, owner);
      expect(refused.status).toBe(422);
      expect(refused.body.message).toContain("spec.amiSelectorTerms[0].owner");

      await world.applySeed("s2-04-selector-terms.yaml");
      const terms = [{ tags: { one: "1" } }, { tags: { two: "2" } }];
      const ored = seed(
        "s2-04-selector-terms.yaml",
        { spec: { subnetSelectorTerms: terms, amiSelectorTerms: [{ name: "my-name1" }] } },
        "ored",
      );
      expect((await account.send("POST", CLASSES, ored)).status).toBe(201);
      await world.advance(1_000);
      const { status } = await account.read(`${CLASSES}/selector-terms`);
      const ids = status.securityGroups.map(({ id }: { id: string }) => id);
      expect(ids.sort()).toEqual([byName, byTag].sort());
      const found = (await account.read(`${CLASSES}/ored`)).status.subnets;
      expect(found.map(({ id }: { id: string }) => id).sort()).toEqual([one, two].sort());

      const images = aws.journal.inputs<{
        Owners?: readonly string[];
        Filters?: readonly { Name: string; Values: readonly string[] }[];
      }>("DescribeImages");
      const asked = images.map(({ Owners, Filters }) => {
        const names = Filters?.filter(({ Name }) => Name === "name").flatMap(
          ({ Values }) => Values,
        );
        return `${names} of ${Owners}`;
      });
      expect(asked).toEqual(
        expect.arrayContaining([
          "my-name1 of 123456789",
          "my-name2 of 123456789",
          "my-name1 of amazon",
          "my-name2 of amazon",
          "my-name1 of self,amazon",
        ]),
      );
      const conditions = await account.read(
        "/apis/karpenter.k8s.aws/v1/ec2nodeclasses/selector-terms",
      );
      expect(conditionOf(conditions, "AMIsReady")?.status).toBe("False");
    }));
});
