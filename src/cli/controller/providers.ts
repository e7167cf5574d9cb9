/** Creates the cloud provider of `--provider`. */

import { isObject } from "../../base/json.ts";
import type { Provider, ProviderDoors } from "../../operator/create-operator.ts";
import { readingOnly } from "../../operator/observe-only.ts";
import { deviceGates } from "../../operator/settings/device-gates.ts";
import { isAwsGateOn, isGateOn, type Options } from "../../operator/settings/parse-options.ts";
import type { AwsApi } from "../../providers/aws/api/aws-api.ts";
import { callObserver } from "../../providers/aws/call-metrics.ts";
import { AWS_METRICS } from "../../providers/aws/metrics.ts";
import type { AwsSettings } from "../../providers/aws/parts.ts";
import { createAwsProvider } from "../../providers/aws/provider.ts";
import type { Proxies } from "../../providers/aws/sdk-http.ts";
import { kwokNodeClass } from "../../providers/kwok/node-class.ts";
import { createKwokProvider } from "../../providers/kwok/provider.ts";
import { CliError } from "../program/cli-error.ts";

/** The provider for `--provider kwok`. */
export function kwokProvider(doors: ProviderDoors): Provider {
  const cloud = createKwokProvider(doors);
  return { cloud, controllers: [kwokNodeClass(doors)], stop: () => cloud.stop() };
}

/**
 * The provider for AWS, or for `AWS_ENDPOINT_URL`. The SDK is imported only here, because loading it takes long.
 */
export async function awsProvider(options: Options): Promise<(doors: ProviderDoors) => Provider> {
  const region = process.env["AWS_REGION"] ?? process.env["AWS_DEFAULT_REGION"];
  if (region === undefined || region === "")
    throw new CliError("missing the region: set AWS_REGION");
  const { createSdkApi } = await import("../../providers/aws/sdk.ts");
  const endpoint = process.env["AWS_ENDPOINT_URL"];
  return (doors) => {
    const observed = { clock: doors.clock, observer: callObserver(doors.metrics) };
    const proxies = proxiesOf(process.env);
    const where = { region, proxies, ...(endpoint === undefined ? {} : { endpoint }) };
    return awsProviderOf(doors, createSdkApi({ ...where, observed }), options, region);
  };
}

/**
 * The proxy variables, in upper or lower case, as Go reads them. An empty value counts as unset. Exported for
 * tests.
 */
export function proxiesOf(environment: Readonly<Record<string, string | undefined>>): Proxies {
  const read = (name: string) => environment[name] || environment[name.toLowerCase()] || undefined;
  const [https, http, except] = ["HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY"].map(read);
  return {
    ...(https === undefined ? {} : { https }),
    ...(http === undefined ? {} : { http }),
    ...(except === undefined ? {} : { except }),
  };
}

/** The AWS provider for an API, real or simulated. */
export function awsProviderOf(
  doors: ProviderDoors,
  api: AwsApi,
  options: Options,
  region: string,
): Provider {
  const settings = awsSettingsOf(options, region);
  const asked = options.observeOnly ? readingApi(api) : api;
  const provider = createAwsProvider({ ...doors, api: asked, settings });
  return { ...provider, metrics: AWS_METRICS };
}

/**
 * The API for `--observe-only`. It does not read the queue, because a received message would be hidden from the
 * active Karpenter.
 */
function readingApi(api: AwsApi): AwsApi {
  return {
    ec2: readingOnly(api.ec2),
    ssm: readingOnly(api.ssm),
    iam: readingOnly(api.iam),
    eks: readingOnly(api.eks),
    pricing: readingOnly(api.pricing),
    sts: readingOnly(api.sts),
    sqs: readingOnly(api.sqs),
    zonalShift: readingOnly(api.zonalShift),
    servicequotas: readingOnly(api.servicequotas),
  };
}

/** Converts the controller's options to settings of the AWS provider. Exported for tests. */
export function awsSettingsOf(options: Options, region: string): AwsSettings {
  const devices = deviceGates(options);
  return {
    clusterName: options.clusterName,
    region,
    clusterEndpoint: options.clusterEndpoint,
    clusterCaBundle: options.clusterCaBundle,
    defaultInstanceProfile: options.defaultInstanceProfile,
    isolatedVpc: options.isolatedVpc,
    eksControlPlane: options.eksControlPlane,
    vmMemoryOverheadPercent: options.vmMemoryOverheadPercent,
    interruptionQueue: options.interruptionQueue,
    reservedEnis: options.reservedEnis,
    tags: tagsOf(options.awsTags),
    eniLimitedPodDensity: options.eniLimitedPodDensity,
    podEni: options.podEni,
    actOnRebalance: options.actOnRebalance,
    disableDryRun: options.disableDryRun,
    amiRefreshMs: options.amiRefreshInterval,
    subnetRefreshMs: options.subnetRefreshInterval,
    securityGroupRefreshMs: options.securityGroupRefreshInterval,
    zonalShift: options.enableZonalShift,
    quotaAwareness: options.enableQuotaAwareness,
    reservedCapacity: isGateOn(options, "ReservedCapacity"),
    kubeletExpressions: isAwsGateOn(options, "NodeClassCEL"),
    repair: {
      rebootForRepair: isAwsGateOn(options, "RebootForRepair"),
      legacy: options.legacyNodeRepair,
    },
    ...(devices === undefined ? {} : { devices }),
  };
}

/** Parses `aws.tags`: a JSON object with text values, as in the old ConfigMap. */
function tagsOf(text: string): Readonly<Record<string, string>> {
  if (text === "") return {};
  let tags: unknown;
  try {
    tags = JSON.parse(text);
  } catch {
    tags = undefined;
  }
  if (isObject(tags) && Object.values(tags).every((value) => typeof value === "string")) {
    return tags as Readonly<Record<string, string>>;
  }
  throw new CliError(
    `--aws-tags (aws.tags) is ${JSON.stringify(text)}: give a JSON object of strings, {"team":"a"}`,
  );
}
