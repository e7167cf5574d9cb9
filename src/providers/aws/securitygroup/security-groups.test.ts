/** Which security groups new instances get, if the status of the class names others. */
import { expect, it } from "vitest";
import type { EC2NodeClass } from "../../../apis/aws/ec2nodeclass.ts";
import { toAwsClass } from "../../../apis/hub/aws-class.ts";
import { SILENT } from "../../../base/log.ts";
import { VirtualClock } from "../../../base/virtual-clock.ts";
import { ec2NodeClass } from "../../../testing/aws-world.ts";
import type { Ec2Api } from "../api/ec2.ts";
import type { SecurityGroup } from "../api/network.ts";
import { SecurityGroups } from "./security-groups.ts";

const RED = { GroupId: "sg-red", GroupName: "red", Tags: [{ Key: "team", Value: "blue" }] };

/** The groups of a class whose status names sg-red, if EC2 describes these by ID and lists none. */
async function groups(described: readonly SecurityGroup[], seen: number): Promise<string> {
  const clock = new VirtualClock();
  const describeSecurityGroups = async ({ GroupIds }: { GroupIds?: readonly string[] }) => ({
    SecurityGroups: GroupIds === undefined ? [] : described,
  });
  const ec2 = { describeSecurityGroups } as unknown as Ec2Api;
  const lists = new SecurityGroups({ ec2, clock, log: SILENT, refreshMs: 60_000 });
  const native = ec2NodeClass({ securityGroupSelectorTerms: [{ tags: { team: "blue" } }] });
  const nodeClass = {
    ...native,
    metadata: { ...native.metadata, generation: 2 },
    status: {
      securityGroups: [{ id: "sg-red", name: "red" }],
      conditions: [{ type: "SecurityGroupsReady", status: "True", observedGeneration: seen }],
    },
  } as unknown as EC2NodeClass;
  const work = lists.list(toAwsClass(nodeClass));
  await clock.advance(2_000);
  return (await work).map(({ GroupId }) => GroupId).join();
}

it("a group of the status is attached only if the status is of this spec and EC2 describes the group", async () => {
  expect(await groups([RED], 2)).toBe("sg-red");
  // This process never saw that the group is selected.
  expect(await groups([], 2)).toBe("");
  // The status is of an older spec.
  expect(await groups([RED], 1)).toBe("");
});
