/**
 * The calls that both emulators get, in order and on one account each, and how two answers are made comparable.
 * Ids, times and addresses become their kind; other values stay. A refusal becomes its code. Later calls use what
 * the same emulator answered earlier.
 */
import type { AwsApi } from "../../src/providers/aws/api/aws-api.ts";
import { AwsError } from "../../src/providers/aws/api/call.ts";
import type { Instance } from "../../src/providers/aws/api/instances.ts";
import { EC2_RESPONSES } from "../../src/sandbox/ec2/wire/ec2-shapes.ts";
import { IAM_RESPONSES } from "../../src/sandbox/ec2/wire/iam-shapes.ts";

/** One emulator, its account, and values from its earlier answers that later calls use. */
export interface Side {
  readonly api: AwsApi;
  readonly subnetId: string;
  readonly securityGroupId: string;
  readonly imageId: string;
  readonly queueUrl: string;
  instance?: Instance;
  receipt?: string;
}

export const CLUSTER = "judged";
const ROLE = `KarpenterNodeRole-${CLUSTER}`;
const TAG = [{ Key: "team", Value: "a" }];
const discovery = [{ Name: "tag:karpenter.sh/discovery", Values: [CLUSTER] }];
const PROFILE = { InstanceProfileName: "judged_1" };
const TEMPLATE = { LaunchTemplateName: "karpenter.k8s.aws/1" };
const NO_INSTANCE = "i-0123456789abcdef0";

/** Calls by name, in the order in which they are made. */
export const QUESTIONS: Readonly<Record<string, (side: Side) => Promise<unknown>>> = {
  "an empty queue": ({ api, queueUrl: QueueUrl }) =>
    api.sqs.receiveMessage({ QueueUrl, MaxNumberOfMessages: 10, WaitTimeSeconds: 0 }),
  "subnets by id": ({ api, subnetId }) => api.ec2.describeSubnets({ SubnetIds: [subnetId] }),
  "subnets by tag": async ({ api }) =>
    (await api.ec2.describeSubnets({ Filters: discovery })).Subnets.length,
  "subnets by tag key": async ({ api }) =>
    (
      await api.ec2.describeSubnets({
        Filters: [{ Name: "tag-key", Values: ["karpenter.sh/discovery"] }],
      })
    ).Subnets.length,
  "subnets that are not there": ({ api }) =>
    api.ec2.describeSubnets({ SubnetIds: ["subnet-0123456789abcdef0"] }),
  "subnets by an id filter without match": ({ api }) =>
    api.ec2.describeSubnets({
      Filters: [{ Name: "subnet-id", Values: ["subnet-0123456789abcdef0"] }],
    }),
  "security groups by tag": ({ api }) => api.ec2.describeSecurityGroups({ Filters: discovery }),
  "security groups by name": async ({ api }) =>
    (
      await api.ec2.describeSecurityGroups({
        Filters: [{ Name: "group-name", Values: ["nodes-of-judged"] }],
      })
    ).SecurityGroups.length,
  "security groups that are not there": ({ api }) =>
    api.ec2.describeSecurityGroups({ GroupIds: ["sg-0123456789abcdef0"] }),
  "one zone": ({ api }) =>
    api.ec2.describeAvailabilityZones({
      Filters: [{ Name: "zone-name", Values: ["us-east-1a"] }],
    }),
  "images by id": ({ api, imageId }) => api.ec2.describeImages({ ImageIds: [imageId] }),
  "images by name with a wildcard": async ({ api }) =>
    (
      await api.ec2.describeImages({
        Owners: ["self"],
        Filters: [{ Name: "name", Values: ["node*-x86_64"] }],
      })
    ).Images.map((one) => one.Name),
  "images that are not there": ({ api }) =>
    api.ec2.describeImages({ ImageIds: ["ami-0123456789abcdef0"] }),
  "an instance type": ({ api }) => api.ec2.describeInstanceTypes({ InstanceTypes: ["m5.large"] }),
  "an arm64 type": ({ api }) => api.ec2.describeInstanceTypes({ InstanceTypes: ["c6g.large"] }),
  "a type with a GPU": ({ api }) =>
    api.ec2.describeInstanceTypes({ InstanceTypes: ["g4dn.8xlarge"] }),
  "a metal type": ({ api }) => api.ec2.describeInstanceTypes({ InstanceTypes: ["m5.metal"] }),
  "a type that is not there": ({ api }) =>
    api.ec2.describeInstanceTypes({ InstanceTypes: ["x0.none"] }),
  "zones of a type": async ({ api }) => {
    const { InstanceTypeOfferings } = await api.ec2.describeInstanceTypeOfferings({
      LocationType: "availability-zone",
      Filters: [
        { Name: "instance-type", Values: ["m5.large"] },
        { Name: "location", Values: ["us-east-1a", "us-east-1b"] },
      ],
    });
    return [...InstanceTypeOfferings].sort((a, b) => (a.Location < b.Location ? -1 : 1));
  },
  "a spot price": async ({ api }) => {
    const { SpotPriceHistory } = await api.ec2.describeSpotPriceHistory({
      InstanceTypes: ["m5.large"],
      ProductDescriptions: ["Linux/UNIX"],
      Filters: [{ Name: "availability-zone", Values: ["us-east-1a"] }],
    });
    // Prices may differ; only their type is compared.
    return SpotPriceHistory.slice(0, 1).map((one) => ({ ...one, SpotPrice: typeof one.SpotPrice }));
  },
  "a launch template that is not there": ({ api }) =>
    api.ec2.describeLaunchTemplates({ LaunchTemplateNames: ["none"] }),
  "making a launch template": ({ api, imageId, securityGroupId }) =>
    api.ec2.createLaunchTemplate({
      ...TEMPLATE,
      LaunchTemplateData: {
        ImageId: imageId,
        NetworkInterfaces: [{ DeviceIndex: 0, Groups: [securityGroupId] }],
        TagSpecifications: [{ ResourceType: "network-interface", Tags: TAG }],
      },
      TagSpecifications: [{ ResourceType: "launch-template", Tags: TAG }],
    }),
  "making it twice": ({ api, imageId }) =>
    api.ec2.createLaunchTemplate({ ...TEMPLATE, LaunchTemplateData: { ImageId: imageId } }),
  "launch templates by name": ({ api }) =>
    api.ec2.describeLaunchTemplates({ LaunchTemplateNames: [TEMPLATE.LaunchTemplateName] }),
  "launch templates by tag": async ({ api }) =>
    (await api.ec2.describeLaunchTemplates({ Filters: [{ Name: "tag:team", Values: ["a"] }] }))
      .LaunchTemplates.length,
  "a fleet as a trial": (side) => createFleet(side, "on-demand", true),
  "a fleet": async (side) => {
    const output = await createFleet(side, "on-demand");
    const InstanceIds = output.Instances[0]?.InstanceIds ?? [];
    const { Reservations } = await side.api.ec2.describeInstances({ InstanceIds });
    const instance = Reservations[0]?.Instances[0];
    if (instance !== undefined) side.instance = instance;
    return output;
  },
  "a fleet of spot": (side) => createFleet(side, "spot"),
  "a fleet from no template": (side) => createFleet(side, "on-demand", false, "none"),
  "the fleet's instance": async ({ instance }) => instance,
  "instances by tag and state": async ({ api }) =>
    (
      await api.ec2.describeInstances({
        Filters: [
          { Name: "tag:team", Values: ["a"] },
          { Name: "instance-state-name", Values: ["pending", "running"] },
        ],
      })
    ).Reservations.flatMap((one) => one.Instances).length,
  "an instance that is not there": ({ api }) =>
    api.ec2.describeInstances({ InstanceIds: [NO_INSTANCE] }),
  "an id that is none": ({ api }) => api.ec2.describeInstances({ InstanceIds: ["x"] }),
  tagging: ({ api, instance }) =>
    api.ec2.createTags({
      Resources: [instance?.InstanceId ?? ""],
      Tags: [{ Key: "Name", Value: "n" }],
    }),
  "the tags after it": async ({ api, instance }) => {
    const InstanceIds = [instance?.InstanceId ?? ""];
    const { Reservations } = await api.ec2.describeInstances({ InstanceIds });
    return Reservations[0]?.Instances[0]?.Tags;
  },
  "tagging what is not there": ({ api }) =>
    api.ec2.createTags({ Resources: [NO_INSTANCE], Tags: TAG }),
  "rebooting what is not there": ({ api }) =>
    api.ec2.rebootInstances({ InstanceIds: [NO_INSTANCE] }),
  "ending what is not there": ({ api }) =>
    api.ec2.terminateInstances({ InstanceIds: [NO_INSTANCE] }),
  "ending an instance": async ({ api, instance }) => {
    const { TerminatingInstances } = await api.ec2.terminateInstances({
      InstanceIds: [instance?.InstanceId ?? ""],
    });
    // How long an instance is pending or shutting-down may differ.
    return TerminatingInstances.map((one) => ({ ...one, PreviousState: {} }));
  },
  "deleting the launch template": ({ api }) => api.ec2.deleteLaunchTemplate(TEMPLATE),
  "deleting it twice": ({ api }) => api.ec2.deleteLaunchTemplate(TEMPLATE),
  "a profile that is not there": ({ api }) => api.iam.getInstanceProfile(PROFILE),
  "making a profile": ({ api }) =>
    api.iam.createInstanceProfile({ ...PROFILE, Path: "/karpenter/", Tags: TAG }),
  "making the profile twice": ({ api }) => api.iam.createInstanceProfile(PROFILE),
  "adding a role that is not there": ({ api }) =>
    api.iam.addRoleToInstanceProfile({ ...PROFILE, RoleName: "none" }),
  "adding the role": ({ api }) => api.iam.addRoleToInstanceProfile({ ...PROFILE, RoleName: ROLE }),
  "adding it twice": ({ api }) => api.iam.addRoleToInstanceProfile({ ...PROFILE, RoleName: ROLE }),
  "tagging the profile": ({ api }) =>
    api.iam.tagInstanceProfile({ ...PROFILE, Tags: [{ Key: "more", Value: "b" }] }),
  "the profile": ({ api }) => api.iam.getInstanceProfile(PROFILE),
  "profiles below a path": (side) => profilesBelow(side, "/karpenter/"),
  "profiles below a path without any": (side) => profilesBelow(side, "/none/"),
  "deleting a profile in use": ({ api }) => api.iam.deleteInstanceProfile(PROFILE),
  "taking the role off": ({ api }) =>
    api.iam.removeRoleFromInstanceProfile({ ...PROFILE, RoleName: ROLE }),
  "deleting the profile": ({ api }) => api.iam.deleteInstanceProfile(PROFILE),
  "deleting the profile twice": ({ api }) => api.iam.deleteInstanceProfile(PROFILE),
  "the cluster": async ({ api }) => {
    const { cluster } = await api.eks.describeCluster({ name: CLUSTER });
    const { name, arn, status, kubernetesNetworkConfig } = cluster;
    // Version, endpoint and CA depend on the account.
    return { name, arn, status, has: Object.keys(kubernetesNetworkConfig ?? {}).sort() };
  },
  "a cluster that is not there": ({ api }) => api.eks.describeCluster({ name: "none" }),
  "a parameter that is not there": ({ api }) => api.ssm.getParameter({ Name: "/none" }),
  "who asks": async ({ api }) => Object.keys(await api.sts.getCallerIdentity({})).sort(),
  "the queue's address": async ({ api }) =>
    (await api.sqs.getQueueUrl({ QueueName: CLUSTER })).QueueUrl.replace(/^https?:\/\/[^/]+/, ""),
  "a queue that is not there": ({ api }) => api.sqs.getQueueUrl({ QueueName: "none" }),
  "too many messages at once": ({ api, queueUrl: QueueUrl }) =>
    api.sqs.receiveMessage({ QueueUrl, MaxNumberOfMessages: 11 }),
  "deleting by no receipt": ({ api, queueUrl: QueueUrl }) =>
    api.sqs.deleteMessageBatch({ QueueUrl, Entries: [{ Id: "1", ReceiptHandle: "none" }] }),
  "deleting nothing": ({ api, queueUrl: QueueUrl }) =>
    api.sqs.deleteMessageBatch({ QueueUrl, Entries: [] }),
};

async function profilesBelow({ api }: Side, PathPrefix: string): Promise<unknown> {
  const { InstanceProfiles } = await api.iam.listInstanceProfiles({ PathPrefix });
  return InstanceProfiles.map(({ InstanceProfileName, Path }) => ({ InstanceProfileName, Path }));
}

function createFleet(
  { api, subnetId }: Side,
  kind: "on-demand" | "spot",
  DryRun = false,
  LaunchTemplateName = TEMPLATE.LaunchTemplateName,
): ReturnType<AwsApi["ec2"]["createFleet"]> {
  return api.ec2.createFleet({
    Type: "instant",
    LaunchTemplateConfigs: [
      {
        LaunchTemplateSpecification: { LaunchTemplateName, Version: "$Latest" },
        Overrides: [
          { InstanceType: "m5.large", SubnetId: subnetId, AvailabilityZone: "us-east-1a" },
        ],
      },
    ],
    TargetCapacitySpecification: { TotalTargetCapacity: 1, DefaultTargetCapacityType: kind },
    TagSpecifications: ["instance", "volume", "fleet"].map((ResourceType) => ({
      ResourceType,
      Tags: TAG,
    })),
    ...(DryRun ? { DryRun } : {}),
  });
}

/** The answer in comparable form; a refusal as `refused <code>`. */
export async function ask(
  question: (side: Side) => Promise<unknown>,
  side: Side,
): Promise<unknown> {
  try {
    return comparable(await question(side));
  } catch (error) {
    if (!(error instanceof AwsError)) throw error;
    return `refused ${error.code} (${error.status})`;
  }
}

const KINDS: readonly (readonly [RegExp, string])[] = [
  [/\bfleet-[0-9a-f-]{36}\b/g, "<fleet>"],
  [/\buse1-az\d\b/g, "<zone id>"],
  [/\b(i|subnet|vpc|sg|ami|lt|eni|vol|sir|snap|r)-[0-9a-f]{8,17}\b/g, "<$1>"],
  [/^(AIPA[A-Z0-9]{12,}|[a-z0-9]{20})$/g, "<profile>"],
  [/\d{4}-\d\d-\d\dT[\d:.]+(Z|\+00:00)/g, "<time>"],
  [/\b\d+\.\d+\.\d+\.\d+\/\d+/g, "<cidr>"],
  [/\bip-\d+-\d+-\d+-\d+\.[a-z0-9.-]+/g, "<host>"],
  [/\b\d+\.\d+\.\d+\.\d+\b/g, "<ip>"],
];

/** Sorts tags by key, because AWS returns them in no fixed order. EC2's own tags are a listed difference. */
function byKey(a: unknown, b: unknown): number {
  const [one, other] = [a, b].map((tag) => (isTable(tag) ? String(tag["Key"] ?? "") : ""));
  return (one ?? "") < (other ?? "") ? 1 : (one ?? "") > (other ?? "") ? -1 : 0;
}

function comparable(value: unknown): unknown {
  if (typeof value === "string") {
    return KINDS.reduce((text, [pattern, kind]) => text.replaceAll(pattern, kind), value);
  }
  if (Array.isArray(value)) return value.map(comparable).sort(byKey);
  if (typeof value !== "object" || value === null) return value ?? null;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, child]) => child !== undefined)
      .map(([key, child]) => [key, comparable(child)]),
  );
}

/** Fields that the simulated AWS ever answers. AWS has many more, which the provider never reads. */
const SIMULATED: ReadonlySet<string> = new Set(
  [...EC2_RESPONSES.values(), ...IAM_RESPONSES.values()].flat().map((member) => member.name),
);

/** Each difference as a line: `path: ours …, moto …`. `ours` is the answer of the simulated AWS. */
export function differences(ours: unknown, theirs: unknown, path = ""): readonly string[] {
  if (isTable(ours) && isTable(theirs)) {
    const keys = [...new Set([...Object.keys(ours), ...Object.keys(theirs)])].sort();
    return keys.flatMap((key) => {
      if (!Array.isArray(ours) && ours[key] === undefined && !SIMULATED.has(key)) return [];
      const below = Array.isArray(ours) ? `${path}[${key}]` : path === "" ? key : `${path}.${key}`;
      return differences(ours[key], theirs[key], below);
    });
  }
  if (JSON.stringify(ours) === JSON.stringify(theirs)) return [];
  const show = (value: unknown): string => (value === undefined ? "absent" : JSON.stringify(value));
  return [`${path === "" ? "answer" : path}: ours ${show(ours)}, moto ${show(theirs)}`];
}

function isTable(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}
