/**
 * The client of Service Quotas for the one call that is used. It is Pricing's client under another name, because both
 * services speak JSON 1.1 with a target in a header. So credentials, signatures, retries and endpoint settings work as
 * for other calls, without one more package.
 */
import { PricingClient, type PricingClientConfig } from "@aws-sdk/client-pricing";
import { Command } from "@smithy/core/client";
import { getEndpointPlugin } from "@smithy/core/endpoints";
import { TypeRegistry } from "@smithy/core/schema";

const NAMESPACE = "com.amazonaws.servicequotas";
const SIGNED_AS = "servicequotas";
const TARGET = "ServiceQuotasV20190624";

/** The numbers by which the SDK's schemas name shapes. */
const TEXT = 0;
const WHOLE = 1;
const LIST = 1;
const STRUCTURE = 3;
const OPERATION = 9;

type Schema = readonly unknown[];

function structure(name: string, members: Readonly<Record<string, unknown>>): Schema {
  return [STRUCTURE, NAMESPACE, name, 0, Object.keys(members), Object.values(members)];
}

const QUOTA = structure("ServiceQuota", { QuotaCode: TEXT, QuotaName: TEXT, Value: WHOLE });
const REQUEST = structure("ListServiceQuotasRequest", {
  ServiceCode: TEXT,
  NextToken: TEXT,
  MaxResults: WHOLE,
});
const RESPONSE = structure("ListServiceQuotasResponse", {
  NextToken: TEXT,
  Quotas: () => [LIST, NAMESPACE, "ServiceQuotaListDefinition", 0, () => QUOTA],
});
const CALL: Schema = [OPERATION, NAMESPACE, "ListServiceQuotas", 0, () => REQUEST, () => RESPONSE];

/** Pricing's client, which speaks the same protocol, with the names of Service Quotas. */
export function createServiceQuotasClient(config: PricingClientConfig): PricingClient {
  return new PricingClient({
    ...config,
    serviceId: "Service Quotas",
    protocolSettings: {
      defaultNamespace: NAMESPACE,
      errorTypeRegistries: [TypeRegistry.for(NAMESPACE)],
      version: "2019-06-24",
      serviceTarget: TARGET,
    },
    endpointProvider: ({ Region = "", Endpoint }) => ({
      url: new URL(Endpoint ?? `https://${SIGNED_AS}.${Region}.${suffixOf(Region)}`),
    }),
    httpAuthSchemeProvider: ({ region = "" }) => [
      {
        schemeId: "aws.auth#sigv4",
        signingProperties: { name: SIGNED_AS, region },
        propertiesExtractor: (client, context) => ({
          signingProperties: { config: client, context },
        }),
      },
    ],
  });
}

function suffixOf(region: string): string {
  return region.startsWith("cn-") ? "amazonaws.com.cn" : "amazonaws.com";
}

/** The one call of Service Quotas that is used. */
export const ListServiceQuotasCommand = Command.classBuilder()
  .ep({
    Endpoint: { type: "builtInParams", name: "endpoint" },
    Region: { type: "builtInParams", name: "region" },
  })
  .m((command, _stack, config) => [
    getEndpointPlugin(config, command.getEndpointParameterInstructions()),
  ])
  .s(TARGET, "ListServiceQuotas", {})
  .n("ServiceQuotasClient", "ListServiceQuotasCommand")
  .sc(CALL as never)
  .build();
