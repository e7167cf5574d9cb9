/**
 * The client of Service Quotas for the one call that is used. It is Pricing's client under another name, because both
 * services speak JSON 1.1 with a target in a header. So credentials, signatures, retries and endpoint settings work as
 * for other calls, without one more package.
 */
import { PricingClient, type PricingClientConfig } from "@aws-sdk/client-pricing";
import { Command } from "@smithy/core/client";
import { getEndpointPlugin } from "@smithy/core/endpoints";
import { TypeRegistry } from "@smithy/core/schema";
import {
  CLIENT_ENDPOINT,
  listOf,
  SHAPE,
  type ShapeSchema,
  servedAs,
  structure,
} from "./sdk-one-call.ts";

const NAMESPACE = "com.amazonaws.servicequotas";
const SIGNED_AS = "servicequotas";
const TARGET = "ServiceQuotasV20190624";

const QUOTA = structure(NAMESPACE, "ServiceQuota", {
  QuotaCode: SHAPE.text,
  QuotaName: SHAPE.text,
  Value: SHAPE.whole,
});
const REQUEST = structure(NAMESPACE, "ListServiceQuotasRequest", {
  ServiceCode: SHAPE.text,
  NextToken: SHAPE.text,
  MaxResults: SHAPE.whole,
});
const RESPONSE = structure(NAMESPACE, "ListServiceQuotasResponse", {
  NextToken: SHAPE.text,
  Quotas: () => listOf(NAMESPACE, "ServiceQuotaListDefinition", QUOTA),
});
const CALL: ShapeSchema = [
  SHAPE.operation,
  NAMESPACE,
  "ListServiceQuotas",
  0,
  () => REQUEST,
  () => RESPONSE,
];

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
    ...servedAs(SIGNED_AS),
  });
}

/** The one call of Service Quotas that is used. */
export const ListServiceQuotasCommand = Command.classBuilder()
  .ep(CLIENT_ENDPOINT)
  .m((command, _stack, config) => [
    getEndpointPlugin(config, command.getEndpointParameterInstructions()),
  ])
  .s(TARGET, "ListServiceQuotas", {})
  .n("ServiceQuotasClient", "ListServiceQuotasCommand")
  .sc(CALL as never)
  .build();
