/**
 * The AWS provider with moto behind it: the SDK, real time, a fake API server. moto begins with a default VPC. The
 * rest of an installation (tags, a node role, a cluster, a queue, own images) is made with the AWS CLI, so that a
 * third party checks each call.
 */
import { EC2_NODE_CLASS, type EC2NodeClass } from "../../src/apis/aws/ec2nodeclass.ts";
import { Random } from "../../src/base/random.ts";
import { SystemClock } from "../../src/base/system-clock.ts";
import type { CloudProvider } from "../../src/core/cloudprovider/cloud-provider.ts";
import type { EventToPublish } from "../../src/kube/events/events.ts";
import { createManager } from "../../src/kube/manager/manager.ts";
import { LiveMirrors } from "../../src/kube/mirror/mirrors.ts";
import type { AwsApi } from "../../src/providers/aws/api/aws-api.ts";
import type { AwsSettings } from "../../src/providers/aws/parts.ts";
import { createAwsProvider } from "../../src/providers/aws/provider.ts";
import { type FakeKube, fakeKube } from "../../src/testing/fake-kube.ts";
import { awsJson, type Moto, REGION } from "./moto.ts";

export const CLUSTER = "judged";
export const ROLE = `KarpenterNodeRole-${CLUSTER}`;

export interface Account {
  readonly subnetIds: readonly string[];
  readonly securityGroupId: string;
  readonly queueUrl: string;
  /** Own images, x86_64 and arm64, tagged `karpenter.sh/discovery`. */
  readonly imageIds: readonly string[];
}

interface Provided {
  readonly cloud: CloudProvider;
  readonly kube: FakeKube;
  readonly events: readonly EventToPublish[];
  readonly lines: readonly string[];
  nodeClass(): EC2NodeClass | undefined;
  until<T>(what: string, read: () => T | undefined | false): Promise<T>;
  stop(): Promise<void>;
}

/** Makes what an account has before Karpenter is installed. */
export async function prepareAccount({ url }: Moto): Promise<Account> {
  const aws = <T = unknown>(line: string, ...more: readonly string[]): Promise<T> =>
    awsJson<T>(url, [...line.split(" "), ...more]);
  const { Subnets } = await aws<{ Subnets: { SubnetId: string; VpcId: string }[] }>(
    "ec2 describe-subnets",
  );
  const subnetIds = Subnets.slice(0, 3).map((subnet) => subnet.SubnetId);
  const { GroupId } = await aws<{ GroupId: string }>(
    `ec2 create-security-group --group-name nodes --description nodes --vpc-id ${Subnets[0]?.VpcId}`,
  );
  const discovery = ["--tags", `Key=karpenter.sh/discovery,Value=${CLUSTER}`];
  await aws(`ec2 create-tags --resources ${[...subnetIds, GroupId].join(" ")}`, ...discovery);
  const imageIds: string[] = [];
  for (const architecture of ["x86_64", "arm64"]) {
    // moto gives registered images no architecture; a copied image keeps that of its source.
    const { Images } = await aws<{ Images: { ImageId: string }[] }>(
      `ec2 describe-images --filters Name=architecture,Values=${architecture} Name=name,Values=al2023-ami-2023*`,
    );
    const { ImageId } = await aws<{ ImageId: string }>(
      `ec2 copy-image --name nodes-${architecture} --source-region ${REGION} --source-image-id ${Images[0]?.ImageId}`,
    );
    imageIds.push(ImageId);
  }
  await aws(`ec2 create-tags --resources ${imageIds.join(" ")}`, ...discovery);
  const trust = JSON.stringify({
    Version: "2012-10-17",
    Statement: [
      { Effect: "Allow", Principal: { Service: "ec2.amazonaws.com" }, Action: "sts:AssumeRole" },
    ],
  });
  await aws(`iam create-role --role-name ${ROLE}`, "--assume-role-policy-document", trust);
  const role = `arn:aws:iam::123456789012:role/${ROLE}`;
  await aws(
    `eks create-cluster --name ${CLUSTER} --role-arn ${role} --resources-vpc-config subnetIds=${subnetIds.slice(0, 2).join(",")}`,
  );
  const { QueueUrl } = await aws<{ QueueUrl: string }>(`sqs create-queue --queue-name ${CLUSTER}`);
  return { subnetIds, securityGroupId: GroupId, queueUrl: QueueUrl, imageIds };
}

/** Starts the provider and its controllers against `api`. */
export async function startProvider(
  api: AwsApi,
  settings: Partial<AwsSettings> = {},
): Promise<Provided> {
  const clock = new SystemClock();
  const kube = fakeKube(clock);
  const version = { status: 200, headers: {}, body: { major: "1", minor: "34" } };
  const client = { ...kube, raw: async () => version };
  const random = new Random("moto");
  const lines: string[] = [];
  const events: EventToPublish[] = [];
  const say = (message: string, fields: object = {}): void => {
    lines.push(`${message} ${JSON.stringify(fields)}`);
  };
  const log = { debug: say, info: say, warn: say, error: say, with: () => log, named: () => log };
  const none = (): void => undefined;
  const mirrors = new LiveMirrors({ client, clock, random, log });
  const { cloud, controllers } = createAwsProvider({
    api,
    kube: mirrors.client,
    mirrors,
    clock,
    log,
    events: { publish: (...published) => events.push(...published) },
    metrics: { count: none, set: none, forget: none, observe: none, read: () => none },
    settings: { clusterName: CLUSTER, clusterEndpoint: "", region: REGION, ...settings },
    endImpaired: async () => false,
  });
  const manager = createManager({ mirrors, clock, random, log });
  for (const controller of controllers) manager.add(controller);
  await manager.start();
  return {
    cloud,
    kube,
    events,
    lines,
    nodeClass: () => kube.find(EC2_NODE_CLASS, "default"),
    until: async (what, read) => {
      for (let tries = 0; tries < 300; tries++) {
        const found = read();
        if (found !== undefined && found !== false) return found;
        await clock.sleep(100);
      }
      throw new Error(`never happened: ${what}\n${lines.slice(-15).join("\n")}`);
    },
    stop: async () => {
      await manager.stop();
      mirrors.close();
    },
  };
}
