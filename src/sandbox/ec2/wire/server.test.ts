import type { EC2Client } from "@aws-sdk/client-ec2";
import * as ec2 from "@aws-sdk/client-ec2";
import * as eks from "@aws-sdk/client-eks";
import * as iam from "@aws-sdk/client-iam";
import * as pricing from "@aws-sdk/client-pricing";
import * as sqs from "@aws-sdk/client-sqs";
import * as ssm from "@aws-sdk/client-ssm";
import * as sts from "@aws-sdk/client-sts";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { isObject } from "../../../base/json.ts";
import { Random } from "../../../base/random.ts";
import { VirtualClock } from "../../../base/virtual-clock.ts";
import type { SimulatedAws } from "../simulated-aws.ts";
import { createSimulatedAws } from "../simulated-aws.ts";
import type { AwsEndpoint } from "./server.ts";
import { startAwsEndpoint } from "./server.ts";

const CLUSTER = "karpenter-demo";
const PROFILE = `KarpenterNodeInstanceProfile-${CLUSTER}`;
const ROLE = `KarpenterNodeRole-${CLUSTER}`;
const AL2 = "/aws/service/eks/optimized-ami/1.34/amazon-linux-2/recommended/image_id";

function create(): SimulatedAws {
  return createSimulatedAws({
    clock: new VirtualClock(),
    random: new Random("wire"),
    region: "us-west-2",
    clusterName: CLUSTER,
    kubernetesVersion: "1.34",
    onInstance: () => undefined,
  });
}

/**
 * An answer without what only the SDK or only the call in process has: metadata, absent values, empty lists,
 * Date objects.
 */
function plain(value: unknown): unknown {
  if (value instanceof Date) return value.toISOString();
  // The SDK wraps JSON documents into String objects.
  if (value instanceof String) return value.toString();
  if (Array.isArray(value)) return value.map(plain);
  if (!isObject(value)) return value;
  const fields = Object.entries(value)
    .filter(([key, item]) => key !== "$metadata" && item !== undefined)
    .filter(([, item]) => !(Array.isArray(item) && item.length === 0))
    .map(([key, item]) => [key, plain(item)] as const);
  return Object.fromEntries(fields);
}

type Send = (input: unknown) => Promise<unknown>;
type Command = new (input: never) => object;

describe("the simulated AWS over HTTP, called by the AWS SDK", () => {
  // Two accounts with the same seed: one is called over HTTP, the other in process. Equal calls must keep them equal.
  const wired = create();
  const twin = create();
  let endpoint: AwsEndpoint;
  const clients: { destroy(): void }[] = [];
  let send: Readonly<Record<string, (command: Command) => Send>>;

  beforeAll(async () => {
    endpoint = await startAwsEndpoint(wired, { port: 0 });
    const config = {
      endpoint: endpoint.url,
      region: "us-west-2",
      credentials: { accessKeyId: "test", secretAccessKey: "test" },
      maxAttempts: 1,
    };
    const all = {
      ec2: new ec2.EC2Client(config),
      eks: new eks.EKSClient(config),
      iam: new iam.IAMClient(config),
      pricing: new pricing.PricingClient(config),
      sqs: new sqs.SQSClient(config),
      ssm: new ssm.SSMClient(config),
      sts: new sts.STSClient(config),
    };
    clients.push(...Object.values(all));
    send = Object.fromEntries(
      Object.entries(all).map(([service, client]) => [
        service,
        (command: Command): Send =>
          (input) =>
            (client as EC2Client).send(new command(input as never) as never),
      ]),
    );
    await playCases();
  });

  afterAll(async () => {
    for (const client of clients) client.destroy();
    await endpoint.close();
  });

  const subnets = (): string[] => [...wired.state.subnets.keys()];
  const image = (): string => wired.state.parameters.get(AL2) as string;
  const queue = () => ({ QueueUrl: "https://sqs.us-west-2.amazonaws.com/123456789012/q" });
  /** Receipt handle of the first received message. It is the same in both accounts. */
  const receipt = (): string => {
    const [entry] = wired.journal.calls({ action: "ReceiveMessage" });
    const output = entry?.outcome.ok === true ? entry.outcome.output : undefined;
    return (output as { Messages: { ReceiptHandle: string }[] }).Messages[0]?.ReceiptHandle ?? "";
  };
  const template = { LaunchTemplateName: "karpenter.k8s.aws/1", Version: "$Latest" };
  const tags = [{ Key: "karpenter.sh/nodepool", Value: 'a <b> & "c"' }];

  const cases: readonly [service: string, command: Command, input: () => unknown][] = [
    ["ec2", ec2.DescribeSubnetsCommand, () => ({ MaxResults: 5 })],
    ["ec2", ec2.DescribeSubnetsCommand, () => ({ SubnetIds: subnets().slice(0, 2) })],
    [
      "ec2",
      ec2.DescribeSecurityGroupsCommand,
      () => ({
        Filters: [
          { Name: "tag:karpenter.sh/discovery", Values: ["other", CLUSTER] },
          { Name: "tag-key", Values: ["Name"] },
        ],
      }),
    ],
    ["ec2", ec2.DescribeAvailabilityZonesCommand, () => ({})],
    ["ec2", ec2.DescribeCapacityReservationsCommand, () => ({})],
    ["ec2", ec2.DescribePlacementGroupsCommand, () => ({})],
    ["ec2", ec2.DescribeInstanceStatusCommand, () => ({})],
    [
      "ec2",
      ec2.RunInstancesCommand,
      () => ({
        MinCount: 1,
        MaxCount: 1,
        ImageId: image(),
        InstanceType: "m5.large",
        SubnetId: subnets()[0],
        IamInstanceProfile: { Name: PROFILE },
        DryRun: true,
      }),
    ],
    ["ec2", ec2.DescribeImagesCommand, () => ({ Owners: ["amazon"], IncludeDeprecated: true })],
    [
      "ec2",
      ec2.DescribeInstanceTypesCommand,
      () => ({ InstanceTypes: ["m5.large", "p5.48xlarge", "inf2.xlarge", "m5.metal"] }),
    ],
    ["ec2", ec2.DescribeInstanceTypesCommand, () => ({ MaxResults: 100 })],
    [
      "ec2",
      ec2.DescribeInstanceTypeOfferingsCommand,
      () => ({ LocationType: "availability-zone", MaxResults: 50 }),
    ],
    [
      "ec2",
      ec2.DescribeSpotPriceHistoryCommand,
      () => ({ StartTime: new Date(0), InstanceTypes: ["m5.large"] }),
    ],
    [
      "ec2",
      ec2.CreateLaunchTemplateCommand,
      () => ({
        LaunchTemplateName: template.LaunchTemplateName,
        LaunchTemplateData: {
          ImageId: image(),
          UserData: Buffer.from("#!/bin/bash\n/etc/eks/bootstrap.sh x").toString("base64"),
          IamInstanceProfile: { Name: PROFILE },
          Monitoring: { Enabled: false },
          BlockDeviceMappings: [
            {
              DeviceName: "/dev/xvda",
              Ebs: { VolumeSize: 30, Encrypted: true, VolumeType: "gp3" },
            },
          ],
          NetworkInterfaces: [{ DeviceIndex: 0, Groups: [...wired.state.securityGroups.keys()] }],
          MetadataOptions: { HttpTokens: "required", HttpPutResponseHopLimit: 1 },
          TagSpecifications: [{ ResourceType: "network-interface", Tags: tags }],
        },
        TagSpecifications: [{ ResourceType: "launch-template", Tags: tags }],
      }),
    ],
    [
      "ec2",
      ec2.DescribeLaunchTemplatesCommand,
      () => ({ LaunchTemplateNames: [template.LaunchTemplateName] }),
    ],
    [
      "ec2",
      ec2.DescribeLaunchTemplateVersionsCommand,
      () => ({ LaunchTemplateName: template.LaunchTemplateName, Versions: ["$Latest"] }),
    ],
    [
      "ec2",
      ec2.CreateFleetCommand,
      () => ({
        Type: "instant",
        LaunchTemplateConfigs: [
          {
            LaunchTemplateSpecification: template,
            Overrides: [
              { InstanceType: "nope.large", SubnetId: subnets()[0], Priority: 1.5 },
              { InstanceType: "m5.large", SubnetId: subnets()[0] },
            ],
          },
        ],
        TargetCapacitySpecification: { TotalTargetCapacity: 2, DefaultTargetCapacityType: "spot" },
        SpotOptions: { AllocationStrategy: "lowest-price" },
        TagSpecifications: [
          { ResourceType: "instance", Tags: tags },
          { ResourceType: "volume", Tags: tags },
        ],
      }),
    ],
    ["ec2", ec2.DescribeInstancesCommand, () => ({})],
    [
      "ec2",
      ec2.CreateTagsCommand,
      () => ({ Resources: [subnets()[0]], Tags: [{ Key: "empty", Value: "" }] }),
    ],
    [
      "ec2",
      ec2.RebootInstancesCommand,
      () => ({ InstanceIds: [[...wired.state.instances.keys()][2]] }),
    ],
    [
      "ec2",
      ec2.TerminateInstancesCommand,
      () => ({ InstanceIds: [[...wired.state.instances.keys()][2]] }),
    ],
    [
      "ec2",
      ec2.DeleteLaunchTemplateCommand,
      () => ({ LaunchTemplateName: template.LaunchTemplateName }),
    ],
    ["ssm", ssm.GetParameterCommand, () => ({ Name: AL2 })],
    ["eks", eks.DescribeClusterCommand, () => ({ name: CLUSTER })],
    ["eks", eks.ListClustersCommand, () => ({})],
    [
      "pricing",
      pricing.GetProductsCommand,
      () => ({
        ServiceCode: "AmazonEC2",
        MaxResults: 2,
        Filters: [{ Type: "TERM_MATCH", Field: "tenancy", Value: "Shared" }],
      }),
    ],
    ["sts", sts.GetCallerIdentityCommand, () => ({})],
    ["iam", iam.GetRoleCommand, () => ({ RoleName: ROLE })],
    [
      "iam",
      iam.CreateInstanceProfileCommand,
      () => ({ InstanceProfileName: "p", Path: "/karpenter/", Tags: tags }),
    ],
    [
      "iam",
      iam.AddRoleToInstanceProfileCommand,
      () => ({ InstanceProfileName: "p", RoleName: ROLE }),
    ],
    ["iam", iam.TagInstanceProfileCommand, () => ({ InstanceProfileName: "p", Tags: tags })],
    ["iam", iam.GetInstanceProfileCommand, () => ({ InstanceProfileName: "p" })],
    ["iam", iam.ListInstanceProfilesCommand, () => ({ PathPrefix: "/karpenter/" })],
    [
      "iam",
      iam.RemoveRoleFromInstanceProfileCommand,
      () => ({ InstanceProfileName: "p", RoleName: ROLE }),
    ],
    ["iam", iam.DeleteInstanceProfileCommand, () => ({ InstanceProfileName: "p" })],
    [
      "sts",
      sts.AssumeRoleWithWebIdentityCommand,
      () => ({
        RoleArn: `arn:aws:iam::123456789012:role/${ROLE}`,
        RoleSessionName: "session",
        WebIdentityToken: "token",
      }),
    ],
    ["sqs", sqs.CreateQueueCommand, () => ({ QueueName: "q", Attributes: { DelaySeconds: "0" } })],
    ["sqs", sqs.ListQueuesCommand, () => ({ QueueNamePrefix: "karpenter" })],
    ["sqs", sqs.GetQueueUrlCommand, () => ({ QueueName: CLUSTER })],
    ["sqs", sqs.SendMessageCommand, () => ({ ...queue(), MessageBody: '{"ü": "<&>"}' })],
    [
      "sqs",
      sqs.SendMessageBatchCommand,
      () => ({ ...queue(), Entries: ["a", "b"].map((Id) => ({ Id, MessageBody: Id })) }),
    ],
    ["sqs", sqs.GetQueueAttributesCommand, () => ({ ...queue(), AttributeNames: ["All"] })],
    [
      "sqs",
      sqs.ReceiveMessageCommand,
      () => ({ ...queue(), MessageSystemAttributeNames: ["SentTimestamp"], VisibilityTimeout: 0 }),
    ],
    [
      "sqs",
      sqs.ChangeMessageVisibilityCommand,
      () => ({ ...queue(), ReceiptHandle: receipt(), VisibilityTimeout: 0 }),
    ],
    ["sqs", sqs.DeleteMessageCommand, () => ({ ...queue(), ReceiptHandle: receipt() })],
    [
      "sqs",
      sqs.DeleteMessageBatchCommand,
      () => ({ ...queue(), Entries: [{ Id: "0", ReceiptHandle: "no receipt" }] }),
    ],
    ["sqs", sqs.PurgeQueueCommand, queue],
    ["sqs", sqs.SetQueueAttributesCommand, () => ({ ...queue(), Attributes: {} })],
    ["sqs", sqs.DeleteQueueCommand, queue],
  ];

  const actionOf = (command: Command): string => command.name.replace(/Command$/, "");
  /** The answers to the calls of `cases`, in order. */
  const played: { action: string; overWire: unknown; inProcess: unknown }[] = [];
  /** The EC2 calls in each journal after all `cases`, as JSON. */
  let written: Readonly<Record<"wired" | "twin", string>>;

  const playCases = async (): Promise<void> => {
    for (const [service, command, input] of cases) {
      const action = actionOf(command);
      const given = input();
      const refused = (error: Error) => ({ refused: error.name, message: error.message });
      const overWire = plain(await send[service]?.(command)(given).catch(refused));
      const inProcess = plain(
        await twin
          .call(service, action, plain(given))
          .catch(({ code, message }) => ({ refused: code, message })),
      );
      played.push({ action, overWire, inProcess: inProcess ?? {} });
    }
    const inputs = (aws: SimulatedAws): string =>
      JSON.stringify(
        aws.journal.calls({ service: "ec2" }).map((entry) => {
          const { ClientToken: _token, ...input } = entry.input as Record<string, unknown>;
          return [entry.action, plain(input)];
        }),
      );
    written = { wired: inputs(wired), twin: inputs(twin) };
  };

  it("gives every answer that the in-process calls give", () => {
    for (const { action, overWire, inProcess } of played)
      expect(overWire, action).toEqual(inProcess);
    const called = new Set(
      cases.map(([service, command]) => {
        const action = actionOf(command);
        return `${service}.${action.slice(0, 1).toLowerCase()}${action.slice(1)}`;
      }),
    );
    const inApi = Object.entries(twin.api).flatMap(([service, client]) =>
      Object.keys(client)
        .filter((name) => !EXTRA.has(name))
        .map((name) => `${service}.${name}`),
    );
    const made = [...called].filter((name) => !EXTRA.has(name.slice("ec2.".length)));
    expect(made.sort()).toEqual(inApi.sort());
  });

  it("records the same inputs as the in-process calls", () => {
    const spoken = JSON.parse(written.wired.replaceAll('"1970-01-01T00:00:00Z"', EPOCH));
    expect(spoken.length).toBeGreaterThan(20);
    expect(spoken).toEqual(JSON.parse(written.twin));
  });

  it("answers calls that people make with the CLI", async () => {
    const volumes = (await send["ec2"]?.(ec2.DescribeVolumesCommand)(
      {},
    )) as ec2.DescribeVolumesResult;
    expect(volumes.Volumes?.[0]?.Attachments?.[0]?.InstanceId).toMatch(/^i-/);
    const launched = volumes.Volumes?.find((volume) => volume.Tags?.[0]?.Key === tags[0]?.Key);
    const filter = { Name: "resource-id", Values: [launched?.VolumeId] };
    const described = (await send["ec2"]?.(ec2.DescribeTagsCommand)({
      Filters: [filter],
    })) as ec2.DescribeTagsResult;
    expect(described.Tags?.[0]).toMatchObject({ ...tags[0], ResourceType: "volume" });
    const regions = (await send["ec2"]?.(ec2.DescribeRegionsCommand)(
      {},
    )) as ec2.DescribeRegionsResult;
    expect(regions.Regions?.[0]?.RegionName).toBe("us-west-2");
    const request = { Resources: [subnets()[0]], Tags: [{ Key: "empty" }] };
    await send["ec2"]?.(ec2.DeleteTagsCommand)(request);
    expect(wired.state.tags.get(subnets()[0] as string)?.has("empty")).toBe(false);
  });

  const refusals: readonly [service: string, command: Command, input: unknown, name: string][] = [
    [
      "ec2",
      ec2.DescribeInstancesCommand,
      { InstanceIds: ["i-0000000000000000f"] },
      "InvalidInstanceID.NotFound",
    ],
    ["ec2", ec2.DescribeInstanceTypesCommand, { DryRun: true }, "DryRunOperation"],
    [
      "ec2",
      ec2.DescribeSubnetsCommand,
      { Filters: [{ Name: "x", Values: ["y"] }] },
      "InvalidParameterValue",
    ],
    ["ec2", ec2.CreateVpcCommand, { CidrBlock: "10.0.0.0/16" }, "InvalidAction"],
    ["ec2", ec2.DescribeSecurityGroupsCommand, { GroupNames: ["x"] }, "UnknownParameter"],
    ["ssm", ssm.GetParameterCommand, { Name: "/none" }, "ParameterNotFound"],
    ["eks", eks.DescribeClusterCommand, { name: "none" }, "ResourceNotFoundException"],
    ["iam", iam.GetRoleCommand, { RoleName: "none" }, "NoSuchEntityException"],
  ];

  it.each(refusals)(
    "refuses with an error in the form of %s: %o %o is %s",
    async (service, command, input, name) => {
      await expect(send[service]?.(command)(input)).rejects.toMatchObject({ name });
    },
  );

  it("throttles with a status that the SDK retries, and closes the connection if it is unreachable", async () => {
    const undo = wired.faults.throttle("DescribeSubnets");
    await expect(send["ec2"]?.(ec2.DescribeSubnetsCommand)({})).rejects.toMatchObject({
      name: "RequestLimitExceeded",
      $metadata: { httpStatusCode: 503 },
    });
    undo();
    const restore = wired.faults.unreachable("sts");
    await expect(send["sts"]?.(sts.GetCallerIdentityCommand)({})).rejects.toThrow(
      /socket hang up|ECONNRESET/,
    );
    restore();
  });
});

describe("the simulated AWS over HTTP, called by unknown clients", () => {
  let endpoint: AwsEndpoint;
  beforeAll(async () => {
    endpoint = await startAwsEndpoint(create(), { port: 0 });
  });
  afterAll(() => endpoint.close());

  const EC2 = "&Version=2016-11-15";
  const ask = async (
    path: string,
    body: string,
    headers: Record<string, string> = {},
  ): Promise<string> => {
    const type = { "content-type": "application/x-www-form-urlencoded", ...headers };
    const answer = await fetch(endpoint.url + path, { method: "POST", body, headers: type });
    return `${answer.status} ${await answer.text()}`;
  };

  it("serves its own actions only, whatever JavaScript objects inherit", async () => {
    for (const name of ["constructor", "toString", "__proto__", "hasOwnProperty", "ToString"]) {
      expect(await ask("/", `Action=${name}${EC2}`)).toContain("<Code>InvalidAction</Code>");
      expect(await ask("/", `Action=DescribeInstances&Version=${name}`)).toContain(
        "InvalidRequest",
      );
      for (const target of [`AmazonSQS.${name}`, `AmazonSSM.${name}`, `${name}.${name}`])
        expect(await ask("/", "{}", { "x-amz-target": target })).toMatch(
          /^400 .*UnknownOperationException/,
        );
    }
  });

  it("answers invalid paths, nested JSON and large bodies as errors of the client", async () => {
    expect(await ask("/clusters/%ff", "")).toMatch(/^4/);
    expect(await ask("//", "")).toMatch(/^4/);
    const nested = "[".repeat(100_000);
    expect(await ask("/", nested, { "x-amz-target": "AmazonSQS.ReceiveMessage" })).toMatch(
      /^400 .*SerializationException/,
    );
    for (const body of ["null", "[]", "1"])
      expect(await ask("/", body, { "x-amz-target": "AmazonSQS.SendMessage" })).toMatch(
        /^400 .*SerializationException/,
      );
    expect(await ask("/", "a".repeat(7_000_000))).toMatch(/^413 /);
    expect(await ask("/", `Action=DescribeRegions${EC2}`)).toMatch(/^200 /);
  });

  it("answers no web page of another site", async () => {
    const action = `Action=DescribeInstances${EC2}`;
    expect(await ask("/", action, { origin: "http://evil.example" })).toMatch(/^403 /);
    expect(await ask("/", action)).toMatch(/^200 /);
  });
});

const EPOCH = '"1970-01-01T00:00:00.000Z"';
const EXTRA: ReadonlySet<string> = new Set([
  "describeTags",
  "describeVolumes",
  "describeLaunchTemplateVersions",
  "deleteTags",
  "describeRegions",
  // Calls that people make with the CLI (test/aws), and a service without a package in the SDK
  // (sdk.test.ts).
  "describeVpcs",
  "describeSpotInstanceRequests",
  "createPlacementGroup",
  "createCapacityReservation",
  "stopInstances",
  "deregisterImage",
  "deleteRole",
  "getParameters",
  "getParametersByPath",
  "listRoles",
  "listInstanceProfilesForRole",
  "getManagedResource",
  "startZonalShift",
  "cancelZonalShift",
  "listZonalShifts",
  "listManagedResources",
  "listServiceQuotas",
]);
