/**
 * The schema of the fields of a VerticalPodAutoscaler that are read from a file. Other fields are kept unchecked. The
 * CRD belongs to the autoscaler's own project, so nothing here installs or publishes it.
 */
import { VERTICAL_POD_AUTOSCALER } from "../autoscaling/vertical-pod-autoscaler.ts";
import { type CrdVersion, type CustomResourceDefinition, definition } from "./definition.ts";
import { type JsonSchema, kindSchema, list, object, quantityMap, text } from "./schema.ts";

const OPEN = { "x-kubernetes-preserve-unknown-fields": true } as const;

/** The definition, used to read files. v1beta2 has the same fields as v1. */
export function verticalPodAutoscalerDefinition(): CustomResourceDefinition {
  return definition(VERTICAL_POD_AUTOSCALER, [version("v1", true), version("v1beta2", false)], {
    shortNames: ["vpa"],
    category: "autoscaling",
    isAlike: true,
  });
}

function version(name: string, storage: boolean): CrdVersion {
  const schema = kindSchema("What new pods of a workload should request.", spec(), status(), [
    "spec",
  ]);
  return { name, storage, schema, columns: [] };
}

function spec(): JsonSchema {
  const targetRef = object(
    "The workload.",
    { apiVersion: text("Its version."), kind: text("Its kind."), name: text("Its name.") },
    { required: ["kind", "name"] },
  );
  const policy = object(
    "What is allowed for a container.",
    {
      containerName: text("Name of the container, or * for all others."),
      mode: text("Off: nothing is recommended for it."),
      minAllowed: quantityMap("Least that may be recommended."),
      maxAllowed: quantityMap("Most that may be recommended."),
      controlledResources: list("Resources that are recommended.", text("Name of a resource.")),
      controlledValues: text("RequestsOnly, or RequestsAndLimits."),
    },
    OPEN,
  );
  return object(
    "Which workload, and within which bounds.",
    {
      targetRef,
      updatePolicy: object("Which pods change.", { updateMode: text("Off: none.") }, OPEN),
      resourcePolicy: object(
        "Bounds for containers.",
        { containerPolicies: list("Bounds by container.", policy) },
        OPEN,
      ),
    },
    OPEN,
  );
}

function status(): JsonSchema {
  const container = object(
    "What one container should request.",
    { containerName: text("Name of the container."), target: quantityMap("The amounts.") },
    OPEN,
  );
  const recommendation = object(
    "What was found.",
    { containerRecommendations: list("By container.", container) },
    OPEN,
  );
  return object("What is.", { recommendation }, OPEN);
}
