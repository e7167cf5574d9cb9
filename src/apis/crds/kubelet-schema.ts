/** The schema of the kubelet settings in Provisioners, Machines, v1beta1 pools and v1 classes. */

import { EVICTION_SIGNALS, RESERVABLE } from "../karpenter/kubelet.ts";
import {
  boolean,
  integer,
  type JsonSchema,
  list,
  object,
  QUANTITY,
  quantityMap,
  rules,
  text,
  textMap,
} from "./schema.ts";

/** Pattern of an amount or a percentage. The empty text is valid, as in upstream. */
const THRESHOLD = `^((\\d{1,2}(\\.\\d{1,2})?|100(\\.0{1,2})?)%|${QUANTITY.slice(1, -1)})?$`;

/**
 * The schema of the kubelet settings. `cel`: CEL rules check them (v1beta1 and v1). `webhook`: the webhook does
 * (v1alpha5). `open`: unknown settings are allowed, for images that read them, and maxPods may be a CEL expression.
 */
export function kubeletSchema(
  checks: "cel" | "webhook",
  { open = false }: { readonly open?: boolean } = {},
): JsonSchema {
  const cel = checks === "cel";
  const signals = (name: string) => (cel ? rules(keysRule(name, EVICTION_SIGNALS)) : {});
  // Where expressions are allowed, the schema cannot check amounts. The conditions of the class report problems
  // instead.
  const sized = cel && !open;
  const thresholds = (name: string) => ({
    ...signals(name),
    ...(sized ? { additionalProperties: { type: "string", pattern: THRESHOLD } as const } : {}),
  });
  const reserved = (name: string) =>
    cel
      ? textMap("Resources kept from pods.", {
          ...(sized
            ? { additionalProperties: { type: "string", pattern: QUANTITY } as const }
            : {}),
          ...rules(keysRule(name, RESERVABLE), [
            "self.all(x, !self[x].startsWith('-'))",
            `${name} value cannot be a negative resource quantity`,
          ]),
        })
      : quantityMap("Resources kept from pods.");
  const percent = { format: "int32", minimum: 0, maximum: 100 };
  const count = { format: "int32", minimum: 0 };
  const properties: Record<string, JsonSchema> = {
    clusterDNS: list("Addresses of the cluster's DNS.", { type: "string" }),
    cpuCFSQuota: boolean("Enforce CPU limits by quota."),
    evictionHard: textMap("Signal to threshold of hard eviction.", thresholds("evictionHard")),
    evictionMaxPodGracePeriod: integer("Most grace of soft eviction, in seconds.", {
      format: "int32",
    }),
    evictionSoft: textMap("Signal to threshold of soft eviction.", thresholds("evictionSoft")),
    evictionSoftGracePeriod: textMap(
      "Signal to the time before soft eviction.",
      signals("evictionSoftGracePeriod"),
    ),
    imageGCHighThresholdPercent: integer("Disk use that starts image collection.", percent),
    imageGCLowThresholdPercent: integer("Disk use that ends image collection.", percent),
    kubeReserved: reserved("kubeReserved"),
    maxPods: open ? podsOrExpression() : integer("Most pods of a node.", count),
    podsPerCore: integer("Most pods of a node per core.", count),
    systemReserved: reserved("systemReserved"),
  };
  if (!cel) {
    properties["containerRuntime"] = text("dockerd or containerd.");
    return object("Kubelet settings of the nodes.", properties);
  }
  return object("Kubelet settings of the nodes.", properties, {
    ...(open ? { "x-kubernetes-preserve-unknown-fields": true } : {}),
    ...rules(...PAIRS),
  });
}

function podsOrExpression(): JsonSchema {
  return {
    description:
      "Most pods of a node; or, as text, an expression of its type such as `min(110, vcpus * 16)` (gate NodeClassCEL).",
    anyOf: [{ type: "integer" }, { type: "string" }],
    "x-kubernetes-int-or-string": true,
    ...rules([
      "type(self) == string || (self >= 0 && self <= 2147483647)",
      "maxPods must be a number from 0 to 2147483647, or an expression as text",
    ]),
  };
}

/** Rules about pairs of fields: which of two must be the greater, or which two must have the same keys. */
const PAIRS: readonly (readonly [string, string])[] = [
  [
    "!(has(self.imageGCHighThresholdPercent) && has(self.imageGCLowThresholdPercent)) || self.imageGCHighThresholdPercent > self.imageGCLowThresholdPercent",
    "imageGCHighThresholdPercent must be greater than imageGCLowThresholdPercent",
  ],
  [
    "!has(self.evictionSoft) || self.evictionSoft.all(e, has(self.evictionSoftGracePeriod) && e in self.evictionSoftGracePeriod)",
    "evictionSoft OwnerKey does not have a matching evictionSoftGracePeriod",
  ],
  [
    "!has(self.evictionSoftGracePeriod) || self.evictionSoftGracePeriod.all(e, has(self.evictionSoft) && e in self.evictionSoft)",
    "evictionSoftGracePeriod OwnerKey does not have a matching evictionSoft",
  ],
];

function keysRule(name: string, keys: readonly string[]): readonly [string, string] {
  const quoted = keys.map((key) => `'${key}'`).join(",");
  return [`self.all(x, x in [${quoted}])`, `valid keys for ${name} are [${quoted}]`];
}
