import { expect, it } from "vitest";
import { SILENT } from "../../../base/log.ts";
import { VirtualClock } from "../../../base/virtual-clock.ts";
import type { Ec2Api } from "../api/ec2.ts";
import type { Subnet } from "../api/network.ts";
import { Subnets } from "./subnets.ts";

it("counts a subnet's free addresses by the newest answer of EC2, also if that was for another question", async () => {
  const free = { "subnet-a": 10, "subnet-b": 5 };
  const ec2: Pick<Ec2Api, "describeSubnets"> = {
    describeSubnets: async ({ SubnetIds }) => ({
      Subnets: Object.entries(free)
        .filter(([id]) => SubnetIds?.includes(id) ?? true)
        .map(
          ([SubnetId, AvailableIpAddressCount]): Subnet => ({
            ...{ SubnetId, AvailableIpAddressCount, AvailabilityZone: "us-west-2a" },
            ...{ VpcId: "vpc-1", Tags: [] },
          }),
        ),
    }),
  };
  const clock = new VirtualClock();
  const subnets = new Subnets({ ec2: ec2 as Ec2Api, clock, log: SILENT, refreshMs: 60_000 });
  const selectedBefore = { subnets: [], securityGroups: [], amis: [], reservations: [] };
  const nodeClass = { subnetTerms: [{ id: "subnet-*" }], selectedBefore };
  const listed = await subnets.list(nodeClass);
  expect(listed.map(({ SubnetId }) => SubnetId)).toEqual(["subnet-a", "subnet-b"]);
  subnets.reserve("subnet-a", 8);
  // EC2 counts these eight addresses now. The list from before is still kept.
  free["subnet-a"] = 2;
  const proof = subnets.prove({ ...nodeClass, subnetTerms: [{ id: "subnet-b" }] }, ["subnet-a"]);
  await clock.advance(2_000);
  await proof;
  expect(subnets.choose(listed).get("us-west-2a")?.SubnetId).toBe("subnet-b");
});
