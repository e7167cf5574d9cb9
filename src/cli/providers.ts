/** Makes the cloud that was asked for from the operator's doors and settings. */
import type { Provider, ProviderDoors } from "../operator/create-operator.ts";
import type { Options } from "../operator/options.ts";
import type { AwsApi } from "../providers/aws/api.ts";
import { createAwsProvider } from "../providers/aws/provider.ts";
import { kwokNodeClass } from "../providers/kwok/node-class.ts";
import { createKwokProvider } from "../providers/kwok/provider.ts";
import { CliError } from "./cli-error.ts";

export function kwokProvider(doors: ProviderDoors): Provider {
  return { cloud: createKwokProvider(doors), controllers: [kwokNodeClass(doors)] };
}

/** Against AWS itself, or `AWS_ENDPOINT_URL`. The SDK is loaded only here: it takes its time. */
export async function awsProvider(options: Options): Promise<(doors: ProviderDoors) => Provider> {
  const region = process.env["AWS_REGION"] ?? process.env["AWS_DEFAULT_REGION"];
  if (region === undefined || region === "")
    throw new CliError("missing the region: set AWS_REGION");
  const { createSdkApi } = await import("../providers/aws/sdk.ts");
  const endpoint = process.env["AWS_ENDPOINT_URL"];
  const api = createSdkApi({ region, ...(endpoint === undefined ? {} : { endpoint }) });
  return (doors) => awsProviderOf(doors, api, options, region);
}

export function awsProviderOf(
  doors: ProviderDoors,
  api: AwsApi,
  options: Options,
  region: string,
): Provider {
  return createAwsProvider({
    ...doors,
    api,
    settings: {
      clusterName: options.clusterName,
      region,
      clusterEndpoint: options.clusterEndpoint,
      clusterCaBundle: options.clusterCaBundle,
      defaultInstanceProfile: options.defaultInstanceProfile,
      isolatedVpc: options.isolatedVpc,
      vmMemoryOverheadPercent: options.vmMemoryOverheadPercent,
      interruptionQueue: options.interruptionQueue,
      reservedEnis: options.reservedEnis,
    },
  });
}
