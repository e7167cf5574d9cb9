/**
 * False answers about things that nodes are compared with: subnets, security groups, images, types. A list is empty or
 * short, or an instance is described with other properties. work-stage.ts plays them.
 */
import type { CloudFault } from "../replicas.ts";
import { eachInstance } from "./odd-faults.ts";
import type { MakeFault, WorkFault } from "./work-stage.ts";

const MINUTE = 60_000;

/** Lists of EC2 that nodes are compared with: the call, and the field of its answer. */
const LISTS = {
  "ec2.describeSubnets": "Subnets",
  "ec2.describeSecurityGroups": "SecurityGroups",
  "ec2.describeImages": "Images",
  "ec2.describeInstanceTypes": "InstanceTypes",
  "ec2.describeInstanceTypeOfferings": "InstanceTypeOfferings",
} as const;

/** Faults by title. Each is created again for each cluster. */
export const DISCOVERY_FAULTS: Readonly<Record<string, MakeFault>> = {
  ...Object.fromEntries(
    Object.entries(LISTS).map(([call, field]): [string, MakeFault] => [
      `EC2 lists none of the ${field}`,
      () => lists(call, field, () => []),
    ]),
  ),
  ...Object.fromEntries(
    Object.entries(LISTS).map(([call, field]): [string, MakeFault] => [
      `EC2 lists half of the ${field}`,
      () => lists(call, field, (all) => all.filter((_, at) => at % 2 === 1)),
    ]),
  ),
  ...Object.fromEntries(
    (
      [
        ["other images", { ImageId: "ami-0other" }],
        ["other subnets", { SubnetId: "subnet-0other" }],
        ["no security groups", { SecurityGroups: [], NetworkInterfaces: [] }],
        ["other types", { InstanceType: "c7g.medium" }],
        ["another zone", { Placement: { AvailabilityZone: "eu-central-1a" } }],
        ["no launch time", { LaunchTime: undefined }],
      ] as const
    ).map(([what, more]): [string, MakeFault] => [
      `EC2 describes instances with ${what}`,
      () =>
        calls("ec2.describeInstances", async (_, go) =>
          eachInstance(await go(), (one) => ({ ...one, ...more })),
        ),
    ]),
  ),
};

/** A fault that answers calls of this name by `answer`. `go` makes the real call. */
function calls(
  name: string,
  answer: (input: unknown, go: () => Promise<unknown>) => Promise<unknown>,
): WorkFault {
  const cloudFault: CloudFault = (call, input, go) => (call === name ? answer(input, go) : go());
  return { met: { cloudFault }, lastsMs: 30 * MINUTE };
}

function lists(
  call: string,
  field: string,
  change: (all: readonly unknown[]) => readonly unknown[],
): WorkFault {
  return calls(call, async (_, go) => {
    const answer = (await go()) as Readonly<Record<string, readonly unknown[]>>;
    return { ...answer, [field]: change(answer[field] ?? []) };
  });
}
