/**
 * The CRD of CapacityBuffer. v1beta1 is stored. v1alpha1 has the same fields; Cluster Autoscaler had it
 * first. The controller acts on buffers if the feature gate CapacityBuffer is on. upstream:
 * pkg/apis/crds/autoscaling.x-k8s.io_capacitybuffers.yaml
 */
import { ACTIVE_CAPACITY, CAPACITY_BUFFER } from "../autoscaling/capacity-buffer.ts";
import {
  AGE_COLUMN,
  type CrdVersion,
  type CustomResourceDefinition,
  column,
  definition,
} from "./definition.ts";
import {
  conditions,
  integer,
  type JsonSchema,
  kindSchema,
  object,
  quantityMap,
  rules,
  text,
} from "./schema.ts";

/** The CRD of CapacityBuffer, with both versions. */
export function capacityBufferDefinition(): CustomResourceDefinition {
  return definition(CAPACITY_BUFFER, [version("v1beta1", true), version("v1alpha1", false)], {
    shortNames: ["cb"],
    category: "autoscaling",
    isAlike: true,
  });
}

const READY = '.status.conditions[?(@.type=="ReadyForProvisioning")]';

function version(name: string, storage: boolean): CrdVersion {
  return {
    name,
    storage,
    schema: kindSchema("Room that is kept free for pods that may come.", spec(), status(), [
      "spec",
    ]),
    columns: [
      column("Strategy", ".spec.provisioningStrategy"),
      column("PodTemplate", ".status.podTemplateRef.name"),
      { name: "Replicas", type: "integer", jsonPath: ".status.replicas" },
      column("Ready", `${READY}.status`),
      column("Reason", `${READY}.reason`),
      AGE_COLUMN,
    ],
  };
}

function spec(): JsonSchema {
  const podTemplateRef = object(
    "A PodTemplate of the same namespace: what the pods look like.",
    { name: text("Name of the PodTemplate.", { minLength: 1 }) },
    { required: ["name"] },
  );
  const scalableRef = object(
    "A workload of the same namespace, whose pods are meant.",
    {
      apiGroup: text("API group of the workload; empty: apps."),
      kind: text("Kind of the workload.", { minLength: 1 }),
      name: text("Name of the workload.", { minLength: 1 }),
    },
    { required: ["kind", "name"] },
  );
  return object(
    "Which room is kept free, and how much of it.",
    {
      provisioningStrategy: text("How room is made.", { default: ACTIVE_CAPACITY }),
      podTemplateRef,
      scalableRef,
      replicas: integer("Pods to keep room for.", { format: "int32", minimum: 0 }),
      percentage: integer("Share of the workload's pods to keep room for, in percent.", {
        format: "int32",
        minimum: 0,
      }),
      limits: quantityMap("Most that the pods may request together."),
    },
    rules(
      [
        "!has(self.podTemplateRef) || has(self.replicas) || has(self.limits)",
        "podTemplateRef needs replicas or limits",
      ],
      [
        "!(has(self.podTemplateRef) && has(self.scalableRef))",
        "podTemplateRef and scalableRef exclude each other",
      ],
    ),
  );
}

function status(): JsonSchema {
  return object("What is.", {
    podTemplateRef: object("The PodTemplate in use.", { name: text("Its name.") }),
    replicas: integer("Pods that room is kept for.", { format: "int32" }),
    podTemplateGeneration: integer("Generation of the PodTemplate in use.", { format: "int64" }),
    provisioningStrategy: text("The strategy in use."),
    conditions: conditions("strict"),
  });
}
