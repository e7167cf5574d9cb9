/**
 * Makes the API server call Karpenter's webhooks. It sets `clientConfig`, with the CA of their certificate, in the CRDs
 * that have a conversion and in the configurations of admission webhooks. The functions have no side effects: they
 * return the objects to write. A CRD without a webhook is not changed.
 */
import type { ClientConfig, Crd } from "../../apis/core/custom-resource-definition.ts";
import { webhookConfigurations } from "../../apis/hub/admission.ts";
import type { Kind, KubeObject } from "../../apis/meta.ts";
import { base64Encode } from "../../base/base64.ts";
import { deepEqual } from "../../base/json.ts";

/** The address at which the API server calls the webhooks. */
export type WebhookAddress =
  | {
      readonly service: {
        readonly name: string;
        readonly namespace: string;
        readonly port: number;
      };
    }
  /** The URL, without a slash at its end. */
  | { readonly url: string };

/**
 * Whether objects may be stored in an older version. If so, the controller's own watches need the conversion webhook.
 */
export function isStoredOlder({ status }: Crd): boolean {
  return (status?.storedVersions ?? []).length > 1;
}

/** One webhook of a configuration. Only its client config is changed. */
export interface Webhook {
  readonly name: string;
  readonly clientConfig?: ClientConfig;
  readonly rules?: readonly unknown[];
}

/** A MutatingWebhookConfiguration or ValidatingWebhookConfiguration. */
export interface WebhookConfiguration extends KubeObject {
  readonly webhooks?: readonly Webhook[];
}

/** Kinds with two versions, between which Karpenter's webhook converts. */
export const CONVERTED = [
  "nodepools.karpenter.sh",
  "nodeclaims.karpenter.sh",
  "ec2nodeclasses.karpenter.k8s.aws",
] as const;

/**
 * Kinds with an admission webhook of Karpenter. If the cluster has none of them, no admission webhook is registered.
 */
export const ADMITTED = [
  "provisioners.karpenter.sh",
  "awsnodetemplates.karpenter.k8s.aws",
] as const;

/** How a CRD converts between versions. `missing`: it serves two versions but configures no conversion. */
export type ConversionWish = "webhook" | "none" | "missing";

/** How the CRD converts between versions. */
export function conversionWish({ spec }: Crd): ConversionWish {
  if (spec.conversion?.strategy === "Webhook") return "webhook";
  return spec.versions.filter(({ served }) => served).length > 1 ? "missing" : "none";
}

/** The changed CRD. Undefined: nothing must change, or it uses no webhook. */
export function withConversion(crd: Crd, address: WebhookAddress, caPem: string): Crd | undefined {
  const { conversion, group } = crd.spec;
  if (conversion?.strategy !== "Webhook") return undefined;
  const { webhook } = conversion;
  const clientConfig = clientConfigOf(
    address,
    `/conversion/${group}`,
    caPem,
    webhook?.clientConfig,
  );
  if (deepEqual(clientConfig, webhook?.clientConfig)) return undefined;
  return {
    ...crd,
    spec: {
      ...crd.spec,
      conversion: {
        ...conversion,
        webhook: { conversionReviewVersions: ["v1"], ...webhook, clientConfig },
      },
    },
  };
}

/** One of Karpenter's webhook configurations, with its kind. */
export interface WantedConfiguration {
  readonly kind: Kind<WebhookConfiguration>;
  readonly wanted: WebhookConfiguration;
}

/** Karpenter's webhook configurations, with this address and authority. */
export function wantedConfigurations(
  address: WebhookAddress,
  caPem: string,
): readonly WantedConfiguration[] {
  return webhookConfigurations().map((configuration) => {
    const one = configuration as WebhookConfiguration;
    const webhooks = (one.webhooks ?? []).map((webhook) => {
      const path = String(webhook.clientConfig?.service?.["path"]);
      return { ...webhook, clientConfig: clientConfigOf(address, path, caPem) };
    });
    const plural = `${one.kind?.toLowerCase()}s`;
    const kind = {
      group: "admissionregistration.k8s.io",
      version: "v1",
      kind: one.kind ?? "",
      plural,
      namespaced: false,
    };
    return { kind, wanted: { ...one, webhooks } };
  });
}

/**
 * The configuration of the cluster with the address of this webhook. Its selectors and policies are not changed.
 * Undefined: nothing has to change.
 */
export function withAddress(
  held: WebhookConfiguration,
  wanted: WebhookConfiguration,
): WebhookConfiguration | undefined {
  const byName = new Map(held.webhooks?.map((webhook) => [webhook.name, webhook]));
  const webhooks = (wanted.webhooks ?? []).map((webhook) => {
    const there = byName.get(webhook.name);
    if (there === undefined) return webhook;
    const clientConfig = keepPort(webhook.clientConfig ?? {}, there.clientConfig);
    const rules = (there.rules ?? []).length > 0 ? there.rules : webhook.rules;
    return { ...there, clientConfig, ...(rules === undefined ? {} : { rules }) };
  });
  return deepEqual(webhooks, held.webhooks) ? undefined : { ...held, webhooks };
}

function clientConfigOf(
  address: WebhookAddress,
  path: string,
  caPem: string,
  held?: ClientConfig,
): ClientConfig {
  const caBundle = base64Encode(caPem);
  if ("url" in address) return { url: `${address.url}${path}`, caBundle };
  return keepPort({ service: { ...address.service, path }, caBundle }, held);
}

/** Keeps the port that the installation set for the Service, because it can differ from the container's. */
function keepPort(config: ClientConfig, held: ClientConfig | undefined): ClientConfig {
  const port = held?.service?.["port"];
  if (config.service === undefined || port === undefined) return config;
  return { ...config, service: { ...config.service, port } };
}
