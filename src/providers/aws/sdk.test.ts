import { execFile } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Random } from "../../base/random.ts";
import { SystemClock } from "../../base/system-clock.ts";
import { VirtualClock } from "../../base/virtual-clock.ts";
import { createSimulatedAws, type SimulatedAws } from "../../sandbox/ec2/simulated-aws.ts";
import { startAwsEndpoint } from "../../sandbox/ec2/wire/server.ts";
import type { AwsApi } from "./api/aws-api.ts";
import { AwsError, allPages } from "./api/call.ts";
import { createSdkApi, pricingRegion } from "./sdk.ts";

let aws: SimulatedAws;
let api: AwsApi;
let close: () => Promise<void>;

beforeAll(async () => {
  aws = createSimulatedAws({
    clock: new VirtualClock(),
    random: new Random("sdk"),
    region: "us-east-1",
    clusterName: "demo",
    kubernetesVersion: "1.34",
    onInstance: () => undefined,
  });
  const endpoint = await startAwsEndpoint(aws, { port: 0 });
  close = () => endpoint.close();
  const credentials = { accessKeyId: "a", secretAccessKey: "b" };
  api = createSdkApi({ region: "us-east-1", endpoint: endpoint.url, credentials });
});

afterAll(() => close());

describe("answers of AWS through the SDK", () => {
  it("equal those of the in-process AWS, call by call", async () => {
    const LaunchTemplateName = "karpenter.k8s.aws/1";
    const calls: readonly ((one: AwsApi) => Promise<unknown>)[] = [
      (one) => one.ec2.describeSubnets({ Filters: [{ Name: "tag-key", Values: ["Name"] }] }),
      (one) => one.ec2.describeSecurityGroups({}),
      (one) => one.ec2.describeAvailabilityZones({}),
      (one) => one.ec2.describeImages({ Owners: ["amazon"], IncludeDeprecated: true }),
      (one) => one.ec2.describeInstanceTypes({ InstanceTypes: ["m5.large", "p5.48xlarge"] }),
      (one) => one.ec2.describeInstances({ MaxResults: 1_000 }),
      (one) =>
        one.ec2.describeSpotPriceHistory({
          InstanceTypes: ["m5.large"],
          StartTime: "2026-01-05T08:00:00Z",
        }),
      (one) => one.ec2.describeLaunchTemplates({ LaunchTemplateNames: [LaunchTemplateName] }),
      (one) => one.eks.describeCluster({ name: "demo" }),
      (one) =>
        one.iam.getInstanceProfile({ InstanceProfileName: "KarpenterNodeInstanceProfile-demo" }),
      (one) => one.pricing.getProducts({ ServiceCode: "AmazonEC2", Filters: [], MaxResults: 2 }),
      (one) => one.sts.getCallerIdentity({}),
    ];
    const { Images } = await aws.api.ec2.describeImages({ Owners: ["amazon"] });
    const ImageId = Images[0]?.ImageId ?? "";
    await api.ec2.createLaunchTemplate({ LaunchTemplateName, LaunchTemplateData: { ImageId } });
    for (const call of calls) expect(await call(api)).toEqual(await call(aws.api));
  });

  it("about zonal shifts, with our own client, are those of the account", async () => {
    const { arn = "" } = aws.state.cluster;
    const shift = { resourceIdentifier: arn, awayFrom: "use1-az2", expiresIn: "3h", comment: "a" };
    await aws.call("zonalShift", "StartZonalShift", shift);
    const { zonalShifts, autoshifts } = await api.zonalShift.getManagedResource({
      resourceIdentifier: arn,
    });
    const [known] = (await aws.api.zonalShift.getManagedResource({ resourceIdentifier: arn }))
      .zonalShifts;
    expect(autoshifts).toEqual([]);
    expect(zonalShifts).toEqual([
      { appliedStatus: "APPLIED", awayFrom: "use1-az2", expiryTime: known?.expiryTime },
    ]);
    const other = { resourceIdentifier: `${arn}-other` };
    await expect(api.zonalShift.getManagedResource(other)).rejects.toMatchObject({
      code: "ResourceNotFoundException",
      status: 404,
    });
  });

  it("about quotas, with our own client, are those of the account", async () => {
    const input = { ServiceCode: "ec2", MaxResults: 10 };
    const page = await api.servicequotas.listServiceQuotas(input);
    expect(page.Quotas).toHaveLength(10);
    expect(page).toEqual(await aws.api.servicequotas.listServiceQuotas(input));
    aws.faults.deny("ListServiceQuotas", 1);
    await expect(api.servicequotas.listServiceQuotas(input)).rejects.toMatchObject({
      code: "AccessDenied",
      status: 403,
    });
  });

  it("have all pages joined", async () => {
    const pages = await allPages((token) =>
      api.ec2.describeInstanceTypes({ MaxResults: 100, ...token }),
    );
    expect(pages.length).toBeGreaterThan(10);
    expect(pages.flatMap((page) => page.InstanceTypes).length).toBeGreaterThan(1_300);
  });
});

describe("errors of AWS through the SDK", () => {
  it("have AWS's own codes", async () => {
    const calls: readonly (() => Promise<unknown>)[] = [
      () => api.iam.getInstanceProfile({ InstanceProfileName: "none" }),
      () => api.ssm.getParameter({ Name: "/none" }),
      () => api.ec2.describeInstances({ InstanceIds: ["i-0123456789abcdef0"] }),
      () => api.ec2.describeLaunchTemplates({ LaunchTemplateNames: ["none"] }),
      () => api.eks.describeCluster({ name: "none" }),
    ];
    const codes: unknown[] = [];
    for (const call of calls) {
      const error = (await call().catch((e) => e)) as AwsError;
      expect(error).toBeInstanceOf(AwsError);
      expect(JSON.stringify([error, error.cause])).not.toContain("Signature");
      codes.push(error.code);
    }
    expect(codes).toEqual([
      "NoSuchEntity",
      "ParameterNotFound",
      "InvalidInstanceID.NotFound",
      "InvalidLaunchTemplateName.NotFoundException",
      "ResourceNotFoundException",
    ]);
  });
});

describe("the Pricing API", () => {
  it("is called in a region that has it", () => {
    expect(["us-west-2", "eu-west-1", "ap-northeast-1", "cn-north-1"].map(pricingRegion)).toEqual([
      "us-east-1",
      "eu-central-1",
      "ap-south-1",
      "cn-northwest-1",
    ]);
  });
});

describe("credentials of the SDK", () => {
  it("are those of the service account's role, by its token (S1-22)", async () => {
    const simulated = createSimulatedAws({
      clock: new SystemClock(),
      random: new Random("irsa"),
      region: "us-west-2",
      clusterName: "demo",
      kubernetesVersion: "1.34",
      onInstance: () => undefined,
    });
    const endpoint = await startAwsEndpoint(simulated, { port: 0 });
    const folder = mkdtempSync(join(tmpdir(), "karpenter-irsa-"));
    const token = join(folder, "token");
    writeFileSync(token, "a.service.account");
    const RoleArn = "arn:aws:iam::123456789012:role/karpenter-controller";
    const script = `
      const { createSdkApi } = await import(${JSON.stringify(new URL("./sdk.ts", import.meta.url).href)});
      const api = createSdkApi({ region: "us-west-2", endpoint: process.env.AWS_ENDPOINT_URL });
      const { Account } = await api.sts.getCallerIdentity({});
      // Each client finds its credentials by itself.
      const { QueueUrl } = await api.sqs.getQueueUrl({ QueueName: "demo" });
      const { AvailabilityZones } = await api.ec2.describeAvailabilityZones({});
      process.stdout.write(JSON.stringify({ Account, QueueUrl, zones: AvailabilityZones.length }));
    `;
    // A separate process, because the SDK reads its identity from the environment.
    const env = {
      PATH: process.env["PATH"],
      HOME: folder,
      AWS_ENDPOINT_URL: endpoint.url,
      AWS_REGION: "us-west-2",
      AWS_ROLE_ARN: RoleArn,
      AWS_WEB_IDENTITY_TOKEN_FILE: token,
    };
    const run = promisify(execFile);
    try {
      const args = ["--import", "tsx", "--input-type=module", "-e", script];
      const { stdout } = await run(process.execPath, args, { env });
      expect(JSON.parse(stdout)).toMatchObject({
        Account: "123456789012",
        QueueUrl: expect.stringMatching(/\/demo$/),
      });
      const asRole = { RoleArn, WebIdentityToken: "a.service.account" };
      expect(simulated.journal.inputs("AssumeRoleWithWebIdentity")).toMatchObject([
        asRole,
        asRole,
        asRole,
      ]);
    } finally {
      await endpoint.close();
      rmSync(folder, { recursive: true });
    }
  });
});
