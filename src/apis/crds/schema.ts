/**
 * Functions that build structural schemas for the CRDs of this project. They support only the parts of
 * apiextensions.k8s.io/v1 that these CRDs need.
 */

/** A rule of x-kubernetes-validations: `message` is shown when the expression `rule` is false. */
export interface CelRule {
  readonly rule: string;
  readonly message: string;
}

/** A structural schema, as in a CRD. */
export interface JsonSchema {
  readonly type?: string;
  readonly description?: string;
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly items?: JsonSchema;
  readonly additionalProperties?: JsonSchema;
  readonly required?: readonly string[];
  readonly default?: unknown;
  readonly enum?: readonly string[];
  readonly pattern?: string;
  readonly format?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly maxProperties?: number;
  readonly anyOf?: readonly JsonSchema[];
  readonly "x-kubernetes-int-or-string"?: boolean;
  readonly "x-kubernetes-preserve-unknown-fields"?: boolean;
  readonly "x-kubernetes-list-type"?: "atomic" | "set";
  readonly "x-kubernetes-map-type"?: "atomic" | "granular";
  readonly "x-kubernetes-validations"?: readonly CelRule[];
}

type More = Omit<JsonSchema, "type" | "properties" | "items" | "description">;

/** Pattern of a qualified name in apimachinery, which label keys must match. */
export const QUALIFIED_NAME =
  "^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*(\\/))?([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$";
export const LABEL_VALUE = "^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$";
/** Pattern of a Kubernetes quantity. */
export const QUANTITY =
  "^(\\+|-)?(([0-9]+(\\.[0-9]*)?)|(\\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\\+|-)?(([0-9]+(\\.[0-9]*)?)|(\\.[0-9]+))))?$";

/** A string field. */
export function text(description: string, more: More = {}): JsonSchema {
  return { description, type: "string", ...more };
}

/** A whole number. `format` in `more` says whether Go's type is int32 or int64. */
export function integer(description: string, more: More = {}): JsonSchema {
  return { description, type: "integer", ...more };
}

/** A field that is true or false. */
export function boolean(description: string, more: More = {}): JsonSchema {
  return { description, type: "boolean", ...more };
}

/** An object with only these fields. The API server drops all others. */
export function object(
  description: string,
  properties: Readonly<Record<string, JsonSchema>>,
  more: More = {},
): JsonSchema {
  return { description, type: "object", properties, ...more };
}

/** A list with one schema for all items. */
export function list(description: string, items: JsonSchema, more: More = {}): JsonSchema {
  return { description, type: "array", items, ...more };
}

/** A map from names to texts. */
export function textMap(description: string, more: More = {}): JsonSchema {
  return { description, type: "object", additionalProperties: { type: "string" }, ...more };
}

/** A resource amount: text such as `500m`, or a whole number. */
export function quantity(description: string): JsonSchema {
  return {
    description,
    anyOf: [{ type: "integer" }, { type: "string" }],
    pattern: QUANTITY,
    "x-kubernetes-int-or-string": true,
  };
}

/** A map from resource names to quantities. */
export function quantityMap(description: string, more: More = {}): JsonSchema {
  const { description: _, ...amount } = quantity("");
  return { description, type: "object", additionalProperties: amount, ...more };
}

/** CEL rules for the field, as pairs of expression and message. */
export function rules(...pairs: readonly (readonly [rule: string, message: string])[]): More {
  return { "x-kubernetes-validations": pairs.map(([rule, message]) => ({ rule, message })) };
}

/** The schema of a status's conditions. `strict`: the form of metav1, which requires reason and message. */
export function conditions(shape: "strict" | "lenient" | "alpha"): JsonSchema {
  const properties = {
    type: text("Name of the condition.", shape === "alpha" ? {} : { maxLength: 316 }),
    status: text(
      "True, False or Unknown.",
      shape === "alpha" ? {} : { enum: ["True", "False", "Unknown"] },
    ),
    reason: text(
      "Reason of the last transition, for machines.",
      shape === "strict"
        ? { minLength: 1, maxLength: 1024, pattern: "^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$" }
        : {},
    ),
    message: text(
      "Details of the last transition, for people.",
      shape === "alpha" ? {} : { maxLength: 32768 },
    ),
    lastTransitionTime: text("When the status last changed.", { format: "date-time" }),
    ...(shape === "strict" ? {} : { severity: text("Weight of a failure (knative's shape).") }),
    observedGeneration: integer("Generation of the object this was said of.", {
      format: "int64",
      minimum: 0,
    }),
  };
  const required = {
    strict: ["lastTransitionTime", "message", "reason", "status", "type"],
    lenient: ["lastTransitionTime", "status", "type"],
    alpha: ["status", "type"],
  }[shape];
  return list("Conditions of the object.", object("One condition.", properties, { required }));
}

/** The whole schema of a kind at one version. */
export function kindSchema(
  description: string,
  spec: JsonSchema,
  status: JsonSchema,
  required: readonly string[],
): JsonSchema {
  return object(
    description,
    {
      apiVersion: text("Version of the schema of this object."),
      kind: text("Kind of this object."),
      metadata: { type: "object" },
      spec,
      status,
    },
    required.length === 0 ? {} : { required },
  );
}
