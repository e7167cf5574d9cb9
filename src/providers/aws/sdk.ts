/**
 * The real AWS: `AwsApi` on the AWS SDK v3. Credentials come from the SDK's default chain, the endpoint from the option
 * or `AWS_ENDPOINT_URL`, and the SDK retries. Answers become plain data: times as RFC 3339 text, absent lists empty.
 * AWS's errors become `AwsError` with AWS's own code.
 */
import * as ec2 from "@aws-sdk/client-ec2";
import * as eks from "@aws-sdk/client-eks";
import * as iam from "@aws-sdk/client-iam";
import * as pricing from "@aws-sdk/client-pricing";
import * as sqs from "@aws-sdk/client-sqs";
import * as ssm from "@aws-sdk/client-ssm";
import * as sts from "@aws-sdk/client-sts";
import { isObject } from "../../base/json.ts";
import type { AwsApi } from "./api/aws-api.ts";
import { AwsError } from "./api/call.ts";
import { createSdkHttpHandler, type Proxies } from "./sdk-http.ts";
import { type MiddlewareStack, type Observed, observeStack } from "./sdk-observer.ts";
import { createServiceQuotasClient, ListServiceQuotasCommand } from "./sdk-service-quotas.ts";
import { Sha256 } from "./sdk-sha256.ts";
import { createZonalShiftClient, GetManagedResourceCommand } from "./sdk-zonal-shift.ts";

/** Milliseconds. upstream: SDK HTTP client timeout */
const REQUEST_TIMEOUT_MS = 240_000;
const CONNECTION_TIMEOUT_MS = 10_000;

/** Region, endpoint and timeouts of all AWS clients. */
export interface SdkOptions {
  readonly region: string;
  /** One endpoint for all services: an emulator or the sandbox. */
  readonly endpoint?: string;
  /** The credentials to use. Absent: the SDK looks for credentials in its usual places. The sandbox has none there. */
  readonly credentials?: { readonly accessKeyId: string; readonly secretAccessKey: string };
  readonly proxies?: Proxies;
  /** Product version, for the user agent. */
  readonly version?: string;
  /** Receives each AWS call. */
  readonly observed?: Observed;
}

/** Settings that make each call cheap, for interruptions of thousands of instances together. */
const QUEUE_CONFIG = {
  // Queue URLs contain AWS's own hosts, but an endpoint from the options must win.
  useQueueUrlAsEndpoint: false,
  // The SDK then builds its chain of middleware once for each command instead of for each call.
  cacheMiddleware: true,
  // Message bodies get no checksum, because TLS protects them. Only emulators are called without TLS.
  md5: false as const,
  logger: quietLogger(),
};

/**
 * A logger without `info`, because the SDK would copy all input and output for it, even if it drops them. It has
 * `debug`, because the SDK's credential providers call that without a check.
 */
function quietLogger(): NonNullable<sqs.SQSClientConfig["logger"]> {
  const heard = { debug: ignore, warn: ignore, error: ignore };
  return heard as unknown as NonNullable<sqs.SQSClientConfig["logger"]>;
}

function ignore(): void {}

/** The part that all clients of the SDK share. */
interface Sender {
  readonly config: object;
  readonly middlewareStack: MiddlewareStack;
  // biome-ignore lint/suspicious/noExplicitAny: the SDK's command types differ per client
  send(command: any, options?: { readonly abortSignal?: AbortSignal }): Promise<unknown>;
}

/** The calls to AWS over the SDK. All clients share one region, endpoint and HTTP handler. */
export function createSdkApi(options: SdkOptions): AwsApi {
  const config = {
    region: options.region,
    retryMode: "standard",
    sha256: Sha256,
    customUserAgent: `karpenter.sh-${options.version ?? "dev"}`,
    requestHandler: createSdkHttpHandler(
      { requestTimeoutMs: REQUEST_TIMEOUT_MS, connectionTimeoutMs: CONNECTION_TIMEOUT_MS },
      options.proxies,
    ),
    ...(options.endpoint === undefined ? {} : { endpoint: options.endpoint }),
    ...(options.credentials === undefined ? {} : { credentials: options.credentials }),
  };
  const pricingConfig = { ...config, region: pricingRegion(options.region) };
  const { observed } = options;
  const told = <T extends Sender>(service: string, client: T): T => {
    makeQuickToCopy(client.config);
    if (observed !== undefined) observeStack(client.middlewareStack, service, observed);
    return client;
  };
  return {
    ec2: ec2Calls(told("EC2", new ec2.EC2Client(config))),
    ssm: ssmCalls(told("SSM", new ssm.SSMClient(config))),
    iam: iamCalls(told("IAM", new iam.IAMClient(config))),
    eks: eksCalls(told("EKS", new eks.EKSClient(config))),
    pricing: pricingCalls(told("Pricing", new pricing.PricingClient(pricingConfig))),
    sts: stsCalls(told("STS", new sts.STSClient(config))),
    sqs: sqsCalls(told("SQS", new sqs.SQSClient({ ...config, ...QUEUE_CONFIG }))),
    zonalShift: zonalShiftCalls(told("ARC Zonal Shift", createZonalShiftClient(config))),
    servicequotas: quotaCalls(told("Service Quotas", createServiceQuotasClient(config))),
  };
}

/**
 * Makes the configuration of a client fast to copy, by using it as a prototype. The SDK copies it three times for each
 * call. V8 copies an object that was built in many steps slowly, which takes a quarter of the time of a call.
 */
function makeQuickToCopy(config: object): void {
  Object.create(config);
}

/**
 * The region whose Pricing API is called, because few regions have one. Exported for tests.
 * upstream: pkg/providers/pricing
 */
export function pricingRegion(region: string): string {
  if (region.startsWith("ap-")) return "ap-south-1";
  if (region.startsWith("cn-")) return "cn-northwest-1";
  if (region.startsWith("eu-")) return "eu-central-1";
  return "us-east-1";
}

function ec2Calls(client: Sender): AwsApi["ec2"] {
  return {
    describeSubnets: (input) =>
      call(client, new ec2.DescribeSubnetsCommand(input as never), ["Subnets.Tags"]),
    describeSecurityGroups: (input) =>
      call(client, new ec2.DescribeSecurityGroupsCommand(input as never), ["SecurityGroups.Tags"]),
    describeAvailabilityZones: (input) =>
      call(client, new ec2.DescribeAvailabilityZonesCommand(input as never), ["AvailabilityZones"]),
    describeImages: (input) =>
      call(client, new ec2.DescribeImagesCommand(input as never), ["Images.Tags"]),
    describeInstanceTypes: (input) =>
      call(client, new ec2.DescribeInstanceTypesCommand(input as never), [
        "InstanceTypes.SupportedUsageClasses",
        "InstanceTypes.SupportedVirtualizationTypes",
      ]),
    describeInstanceTypeOfferings: (input) =>
      call(client, new ec2.DescribeInstanceTypeOfferingsCommand(input as never), [
        "InstanceTypeOfferings",
      ]),
    describeSpotPriceHistory: ({ StartTime, EndTime, ...rest }) =>
      call(
        client,
        new ec2.DescribeSpotPriceHistoryCommand({
          ...rest,
          ...(StartTime === undefined ? {} : { StartTime: new Date(StartTime) }),
          ...(EndTime === undefined ? {} : { EndTime: new Date(EndTime) }),
        } as never),
        ["SpotPriceHistory"],
      ),
    createLaunchTemplate: (input) =>
      call(client, new ec2.CreateLaunchTemplateCommand(input as never), ["LaunchTemplate.Tags"]),
    describeLaunchTemplates: (input) =>
      call(client, new ec2.DescribeLaunchTemplatesCommand(input as never), [
        "LaunchTemplates.Tags",
      ]),
    deleteLaunchTemplate: (input) =>
      call(client, new ec2.DeleteLaunchTemplateCommand(input as never)),
    createFleet: (input) =>
      call(client, new ec2.CreateFleetCommand(input as never), ["Instances.InstanceIds", "Errors"]),
    describeInstances: (input) =>
      call(client, new ec2.DescribeInstancesCommand(input as never), [
        "Reservations.Instances.Tags",
        "Reservations.Instances.SecurityGroups",
      ]),
    rebootInstances: (input) => call(client, new ec2.RebootInstancesCommand(input as never)),
    terminateInstances: (input) =>
      call(client, new ec2.TerminateInstancesCommand(input as never), ["TerminatingInstances"]),
    createTags: (input) => call(client, new ec2.CreateTagsCommand(input as never)),
    describeCapacityReservations: (input) =>
      call(client, new ec2.DescribeCapacityReservationsCommand(input as never), [
        "CapacityReservations.Tags",
      ]),
    describePlacementGroups: (input) =>
      call(client, new ec2.DescribePlacementGroupsCommand(input as never), [
        "PlacementGroups.Tags",
      ]),
    describeInstanceStatus: (input) =>
      call(client, new ec2.DescribeInstanceStatusCommand(input as never), ["InstanceStatuses"]),
    runInstances: (input) => call(client, new ec2.RunInstancesCommand(input as never)),
  };
}

function ssmCalls(client: Sender): AwsApi["ssm"] {
  return { getParameter: (input) => call(client, new ssm.GetParameterCommand(input)) };
}

function iamCalls(client: Sender): AwsApi["iam"] {
  const roles = ["InstanceProfile.Roles"];
  return {
    getInstanceProfile: (input) => call(client, new iam.GetInstanceProfileCommand(input), roles),
    listInstanceProfiles: (input) =>
      call(client, new iam.ListInstanceProfilesCommand(input), ["InstanceProfiles.Roles"]),
    createInstanceProfile: (input) =>
      call(client, new iam.CreateInstanceProfileCommand(input as never), roles),
    tagInstanceProfile: (input) => call(client, new iam.TagInstanceProfileCommand(input as never)),
    addRoleToInstanceProfile: (input) =>
      call(client, new iam.AddRoleToInstanceProfileCommand(input)),
    removeRoleFromInstanceProfile: (input) =>
      call(client, new iam.RemoveRoleFromInstanceProfileCommand(input)),
    deleteInstanceProfile: (input) => call(client, new iam.DeleteInstanceProfileCommand(input)),
  };
}

function eksCalls(client: Sender): AwsApi["eks"] {
  return { describeCluster: (input) => call(client, new eks.DescribeClusterCommand(input)) };
}

function pricingCalls(client: Sender): AwsApi["pricing"] {
  return {
    getProducts: (input) =>
      call(client, new pricing.GetProductsCommand(input as never), ["PriceList"]),
  };
}

function stsCalls(client: Sender): AwsApi["sts"] {
  return { getCallerIdentity: () => call(client, new sts.GetCallerIdentityCommand({})) };
}

function sqsCalls(client: Sender): AwsApi["sqs"] {
  return {
    getQueueUrl: (input) => call(client, new sqs.GetQueueUrlCommand(input)),
    receiveMessage: (input, { signal } = {}) =>
      call(client, new sqs.ReceiveMessageCommand(input as never), ["Messages"], signal),
    deleteMessageBatch: (input) =>
      call(client, new sqs.DeleteMessageBatchCommand(input as never), ["Successful", "Failed"]),
  };
}

function zonalShiftCalls(client: Sender): AwsApi["zonalShift"] {
  return {
    getManagedResource: (input) =>
      call(client, new GetManagedResourceCommand(input), ["zonalShifts", "autoshifts"]),
  };
}

function quotaCalls(client: Sender): AwsApi["servicequotas"] {
  return {
    listServiceQuotas: (input) => call(client, new ListServiceQuotasCommand(input), ["Quotas"]),
  };
}

async function call<T>(
  client: Sender,
  command: unknown,
  lists: readonly string[] = [],
  signal?: AbortSignal,
): Promise<T> {
  try {
    // Any options, even empty ones, make the SDK skip its cache of middleware.
    const sent =
      signal === undefined ? client.send(command) : client.send(command, { abortSignal: signal });
    const output = plain(await sent) as Record<string, unknown>;
    delete output["$metadata"];
    for (const path of lists) fillLists(output, path.split("."));
    return output as T;
  } catch (error) {
    throw toAwsError(error);
  }
}

/** Converts dates to text and lazy strings to strings, and drops undefined fields. */
function plain(value: unknown): unknown {
  if (value instanceof Date) return value.toISOString();
  if (value instanceof String) return value.toString();
  if (Array.isArray(value)) return value.map(plain);
  if (!isObject(value)) return value;
  const copy: Record<string, unknown> = {};
  for (const [key, child] of Object.entries(value)) {
    if (child !== undefined) copy[key] = plain(child);
  }
  return copy;
}

/** Adds empty lists that the SDK leaves out. The last step of `path` is the list. */
function fillLists(value: unknown, path: readonly string[]): void {
  const [step, ...rest] = path;
  if (step === undefined || !isObject(value)) return;
  const single = rest.length > 0 && isObject(value[step]);
  if (!single) value[step] ??= [];
  const below = single ? [value[step]] : (value[step] as unknown[]);
  for (const child of below) fillLists(child, rest);
}

/** The SDK's names of IAM errors that end in "Exception", unlike AWS's codes. */
const SUFFIXED: ReadonlySet<string> = new Set([
  "NoSuchEntityException",
  "EntityAlreadyExistsException",
  "LimitExceededException",
  "DeleteConflictException",
]);

function toAwsError(error: unknown): AwsError {
  if (error instanceof AwsError) return error;
  if (!(error instanceof Error)) return new AwsError("Unknown", String(error), 0, error);
  const metadata = (error as { $metadata?: { httpStatusCode?: number } }).$metadata;
  const code = SUFFIXED.has(error.name) ? error.name.replace(/Exception$/, "") : error.name;
  // The SDK's error contains request and answer with the signature, which must not be logged.
  const cause = new Error(error.message);
  cause.name = error.name;
  if (error.stack !== undefined) cause.stack = error.stack;
  return new AwsError(code, error.message, metadata?.httpStatusCode ?? 0, cause);
}
