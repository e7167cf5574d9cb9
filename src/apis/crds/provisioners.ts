/** The CRD of v1alpha5's Provisioner. The admission webhook checks its content (hub/admission.ts). */
import { PROVISIONER } from "../karpenter/provisioner.ts";
import { type CustomResourceDefinition, column, definition } from "./definition.ts";
import { kubeletSchema } from "./kubelet-schema.ts";
import {
  boolean,
  conditions,
  integer,
  kindSchema,
  object,
  quantityMap,
  text,
  textMap,
} from "./schema.ts";
import { looseClassRef, looseRequirements, taints } from "./shared-schema.ts";

/** The CRD of Provisioner, in v1alpha5. */
export function provisionerDefinition(): CustomResourceDefinition {
  const spec = object("What is wanted.", {
    annotations: textMap("Annotations of machines and nodes."),
    consolidation: object("Deleting and replacing nodes to save cost.", {
      enabled: boolean("Whether it is done."),
    }),
    kubeletConfiguration: kubeletSchema("webhook"),
    labels: textMap("Labels of machines and nodes."),
    limits: object("Caps of the pool.", {
      resources: quantityMap("Most resources the pool's nodes may have together."),
    }),
    provider: object(
      "Cloud settings written inline; use providerRef instead.",
      {},
      { "x-kubernetes-preserve-unknown-fields": true },
    ),
    providerRef: looseClassRef("The template that says how nodes are made."),
    requirements: looseRequirements(),
    startupTaints: taints("Taints that an agent on the node removes.", "webhook"),
    taints: taints("Taints of the nodes.", "webhook"),
    ttlSecondsAfterEmpty: integer("Wait before an empty node is deleted; absent: never.", {
      format: "int64",
    }),
    ttlSecondsUntilExpired: integer("Age at which a node is replaced; absent: never.", {
      format: "int64",
    }),
    weight: integer("Order among pools: greater first.", {
      format: "int32",
      minimum: 1,
      maximum: 100,
    }),
  });
  const status = object("What is.", {
    conditions: conditions("alpha"),
    lastScaleTime: text("When a node was last added.", { format: "date-time" }),
    resources: quantityMap("Resources of the pool's nodes together."),
  });
  return definition(PROVISIONER, [
    {
      name: "v1alpha5",
      storage: true,
      schema: kindSchema("A kind of nodes to make on demand.", spec, status, []),
      columns: [
        column("Template", ".spec.providerRef.name"),
        { name: "Weight", type: "integer", jsonPath: ".spec.weight", priority: 1 },
      ],
    },
  ]);
}
