/**
 * The AWS CLI against the sandbox's simulated AWS: the seeds' command lines as written, and what the CLI shows of
 * a launched instance.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Random } from "../../src/base/random.ts";
import { SystemClock } from "../../src/base/system-clock.ts";
import { createSimulatedAws, type SimulatedAws } from "../../src/sandbox/ec2/simulated-aws.ts";
import { type AwsEndpoint, startAwsEndpoint } from "../../src/sandbox/ec2/wire/server.ts";
import { awsCli, awsJson, REGION } from "./moto.ts";

const CLUSTER = "karpenter-demo";

let aws: SimulatedAws;
let endpoint: AwsEndpoint;

beforeAll(async () => {
  aws = createSimulatedAws({
    clock: new SystemClock(),
    random: new Random("cli"),
    region: REGION,
    clusterName: CLUSTER,
    kubernetesVersion: "1.34",
    onInstance: () => undefined,
  });
  endpoint = await startAwsEndpoint(aws, { port: 0 });
});

afterAll(() => endpoint?.close());

/** The words of a command line; single quotes hold a word together. */
function words(line: string): string[] {
  return [...line.matchAll(/'([^']*)'|(\S+)/g)].map((match) => match[1] ?? match[2] ?? "");
}

async function text(line: string): Promise<string> {
  const { code, stdout, stderr } = await awsCli(endpoint.url, words(`${line} --output text`));
  if (code !== 0) throw new Error(stderr);
  return stdout.trim();
}

function json<T>(line: string): Promise<T> {
  return awsJson<T>(endpoint.url, words(line));
}

describe("the AWS CLI on the simulated AWS", () => {
  it("shows the caller's identity, with an account of twelve digits (S1-01)", async () => {
    expect(await text("sts get-caller-identity --query Account")).toMatch(/^\d{12}$/);
  });

  it("gives the cluster's endpoint, as the installation reads it", async () => {
    const line = `eks describe-cluster --name ${CLUSTER} --query cluster.endpoint`;
    expect(await json<string>(line)).toMatch(/^https:\/\//);
  });

  it("starts a zonal shift, shows it and cancels it", async () => {
    const arn = aws.state.cluster.arn ?? "";
    const zone = aws.state.zones[0]?.ZoneId ?? "";
    const start = `arc-zonal-shift start-zonal-shift --resource-identifier ${arn} --away-from ${zone} --expires-in 3h --comment 'power fails'`;
    const { zonalShiftId, status } = await json<{ zonalShiftId: string; status: string }>(start);
    expect(status).toBe("ACTIVE");
    const shown = `arc-zonal-shift get-managed-resource --resource-identifier ${arn}`;
    expect(await json(shown)).toMatchObject({
      zonalShifts: [{ awayFrom: zone, appliedStatus: "APPLIED", zonalShiftId }],
    });
    await json(`arc-zonal-shift cancel-zonal-shift --zonal-shift-id ${zonalShiftId}`);
    expect(await json(`${shown} --query zonalShifts`)).toEqual([]);
    expect(await text("arc-zonal-shift list-zonal-shifts --query items[].status")).toBe("CANCELED");
  });

  it("creates a capacity reservation that a node class can select", async () => {
    await json(
      "ec2 create-capacity-reservation --instance-type m5.large --instance-platform Linux/UNIX --availability-zone us-east-1a --instance-count 2 --tag-specifications ResourceType=capacity-reservation,Tags=[{Key=team,Value=a}]",
    );
    const reservation =
      "ec2 describe-capacity-reservations --filters Name=tag:team,Values=a --query CapacityReservations[].AvailableInstanceCount";
    expect(await text(reservation)).toBe("2");
    await json(
      "ec2 create-placement-group --group-name near --strategy partition --partition-count 3",
    );
    const group =
      "ec2 describe-placement-groups --group-names near --query PlacementGroups[].PartitionCount";
    expect(await text(group)).toBe("3");
  });

  it("shows the network, instance profiles, SSM parameters, and where a type is offered", async () => {
    const lines = {
      "ec2 describe-vpcs --query length(Vpcs)": "1",
      "ec2 describe-instance-type-offerings --filters Name=instance-type,Values=m5.large --query InstanceTypeOfferings[].Location":
        "us-east-1",
      "ec2 describe-instance-type-offerings --location-type availability-zone-id --filters Name=instance-type,Values=m5.large --query InstanceTypeOfferings[].Location":
        "use1-az1\tuse1-az2\tuse1-az3",
      [`iam list-instance-profiles-for-role --role-name KarpenterNodeRole-${CLUSTER} --query InstanceProfiles[].InstanceProfileName`]: `KarpenterNodeInstanceProfile-${CLUSTER}`,
      "iam list-instance-profiles --path-prefix /karpenter/ --query length(InstanceProfiles)": "0",
      [`iam list-roles --query Roles[].RoleName`]: `KarpenterNodeRole-${CLUSTER}`,
      "ssm get-parameters-by-path --path /aws/service/bottlerocket/aws-k8s-1.34/x86_64/latest --query Parameters[].Name":
        "/aws/service/bottlerocket/aws-k8s-1.34/x86_64/latest/image_id",
    };
    for (const [line, answer] of Object.entries(lines)) expect(await text(line), line).toBe(answer);
  });

  it("stops an instance, and puts a custom event on the bus", async () => {
    const [record] = aws.state.instances.values();
    const stop = `ec2 stop-instances --instance-ids ${record?.id} --query StoppingInstances[].CurrentState.Name`;
    expect(await text(stop)).toBe("stopping");
    const entry = (Source: string): string =>
      JSON.stringify([{ Source, DetailType: "x", Detail: "{}" }]);
    const failed = async (source: string): Promise<string> =>
      text(`events put-events --entries '${entry(source)}' --query FailedEntryCount`);
    expect(await failed("mine")).toBe("0");
    expect(await failed("aws.ec2")).toBe("1");
  });

  it("finds an instance by the private DNS name of its node (S4-17)", async () => {
    const [record] = aws.state.instances.values();
    const query = `Reservations[].Instances[?PrivateDnsName == '${record?.privateDnsName}'].InstanceId`;
    const line = ["ec2", "describe-instances", "--query", query, "--output", "text"];
    expect((await awsCli(endpoint.url, line)).stdout.trim()).toBe(record?.id);
  });

  it("tags subnets with an empty value, and removes the tag again", async () => {
    const ids = (await text("ec2 describe-subnets --query Subnets[].SubnetId")).split(/\s+/);
    const key = `kubernetes.io/cluster/${CLUSTER}-2`;
    await json(`ec2 create-tags --resources ${ids.join(" ")} --tags Key=${key},Value=`);
    const find = `ec2 describe-subnets --filters Name=tag-key,Values=${key} --query length(Subnets)`;
    expect(await text(find)).toBe(String(ids.length));
    await json(`ec2 delete-tags --resources ${ids.join(" ")} --tags Key=${key}`);
    expect(await text(find)).toBe("0");
  });

  it("reads the node role from an instance profile", async () => {
    const line = `iam get-instance-profile --instance-profile-name KarpenterNodeInstanceProfile-${CLUSTER} --query InstanceProfile.Roles[].RoleName`;
    expect(await text(line)).toBe(`KarpenterNodeRole-${CLUSTER}`);
  });

  it("reads the recommended image from SSM, and its description from EC2", async () => {
    const path =
      "/aws/service/eks/optimized-ami/1.34/amazon-linux-2023/x86_64/standard/recommended/image_id";
    const id = await text(`ssm get-parameter --name ${path} --query Parameter.Value`);
    expect(id).toMatch(/^ami-/);
    expect(await text(`ec2 describe-images --image-ids ${id} --query Images[].State`)).toBe(
      "available",
    );
  });

  it("sends a message, counts, receives and deletes it", async () => {
    const url = await text(`sqs get-queue-url --queue-name ${CLUSTER}`);
    // Empties the queue of messages about earlier instances.
    await text(`sqs purge-queue --queue-url ${url}`);
    await json(`sqs send-message --queue-url ${url} --message-body hello`);
    const count = `sqs get-queue-attributes --queue-url ${url} --attribute-names ApproximateNumberOfMessages --query Attributes.ApproximateNumberOfMessages`;
    expect(await text(count)).toBe("1");
    const { Messages } = await json<{ Messages: { Body: string; ReceiptHandle: string }[] }>(
      `sqs receive-message --queue-url ${url}`,
    );
    expect(Messages[0]?.Body).toBe("hello");
    await json(
      `sqs delete-message --queue-url ${url} --receipt-handle ${Messages[0]?.ReceiptHandle}`,
    );
    expect(await text(count)).toBe("0");
  });

  it("launches an instance with a fleet, shows its volumes, launch template and tags, and terminates it", async () => {
    const subnet = await text("ec2 describe-subnets --query Subnets[0].SubnetId");
    const image = [...aws.state.images.values()].find(
      ({ image: one }) => one.Architecture === "x86_64",
    );
    await json(
      `ec2 create-launch-template --launch-template-name by-hand --launch-template-data ImageId=${image?.image.ImageId}`,
    );
    const configs = JSON.stringify([
      {
        LaunchTemplateSpecification: { LaunchTemplateName: "by-hand", Version: "$Latest" },
        Overrides: [{ InstanceType: "m5.large", SubnetId: subnet }],
      },
    ]);
    const fleet = await json<{ Instances: { InstanceIds: string[] }[] }>(
      `ec2 create-fleet --type instant --launch-template-configs '${configs}' --target-capacity-specification TotalTargetCapacity=1,DefaultTargetCapacityType=spot`,
    );
    const id = fleet.Instances[0]?.InstanceIds[0] ?? "";
    expect(
      await text(
        `ec2 describe-instances --instance-ids ${id} --query Reservations[].Instances[].InstanceLifecycle`,
      ),
    ).toBe("spot");
    expect(
      Number(
        await text(
          `ec2 describe-volumes --filters Name=attachment.instance-id,Values=${id} --query length(Volumes)`,
        ),
      ),
    ).toBeGreaterThan(0);
    expect(
      await text(
        "ec2 describe-launch-template-versions --launch-template-name by-hand --query LaunchTemplateVersions[].LaunchTemplateData.ImageId",
      ),
    ).toBe(image?.image.ImageId);
    expect(
      await text(
        `ec2 terminate-instances --instance-ids ${id} --query TerminatingInstances[].CurrentState.Name`,
      ),
    ).toBe("shutting-down");
    const { LaunchTemplate } = await json<{ LaunchTemplate: { LaunchTemplateName: string } }>(
      "ec2 delete-launch-template --launch-template-name by-hand",
    );
    expect(LaunchTemplate.LaunchTemplateName).toBe("by-hand");
  });

  it("reads prices", async () => {
    const match = (Field: string, Value: string): string =>
      `Type=TERM_MATCH,Field=${Field},Value=${Value}`;
    const { PriceList } = await json<{ PriceList: string[] }>(
      `pricing get-products --service-code AmazonEC2 --filters ${match("instanceType", "m5.large")} ${match("operatingSystem", "Linux")} --max-items 1`,
    );
    expect(PriceList[0]).toContain("m5.large");
    const spot =
      "ec2 describe-spot-price-history --instance-types m5.large --product-descriptions Linux/UNIX --max-items 1 --query SpotPriceHistory[0].SpotPrice";
    expect(Number((await text(spot)).split("\n")[0])).toBeGreaterThan(0);
  });

  it("shows errors in AWS's words", async () => {
    const { code, stderr } = await awsCli(
      endpoint.url,
      words("ec2 describe-instances --instance-ids i-0123456789abcdef0"),
    );
    expect(code).not.toBe(0);
    expect(stderr).toContain("(InvalidInstanceID.NotFound)");
  });

  // The last test, because it deletes what others read.
  it("deregisters an image, and deletes a role once no instance profile has it", async () => {
    const images = "ec2 describe-images --query length(Images)";
    const [id] = (await text("ec2 describe-images --query Images[].ImageId")).split(/\s+/);
    const before = Number(await text(images));
    await json(`ec2 deregister-image --image-id ${id}`);
    expect(await text(images)).toBe(String(before - 1));
    const role = `--role-name KarpenterNodeRole-${CLUSTER}`;
    const profile = `--instance-profile-name KarpenterNodeInstanceProfile-${CLUSTER}`;
    const refused = await awsCli(endpoint.url, `iam delete-role ${role}`.split(" "));
    expect(refused.stderr).toContain("DeleteConflict");
    await text(`iam remove-role-from-instance-profile ${profile} ${role}`);
    await text(`iam delete-role ${role}`);
    expect(await text("iam list-roles --query length(Roles)")).toBe("0");
  });
});
