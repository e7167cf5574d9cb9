/** The schema type of the API server: structural OpenAPI v3 with Kubernetes' extensions. */

/** A JSON schema with Kubernetes' extensions. */
export interface Schema {
  readonly $ref?: string;
  readonly type?: "object" | "array" | "string" | "integer" | "number" | "boolean";
  readonly format?: string;
  readonly description?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: Schema | boolean;
  readonly items?: Schema;
  readonly required?: readonly string[];
  readonly default?: unknown;
  readonly enum?: readonly unknown[];
  readonly nullable?: boolean;
  readonly pattern?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly exclusiveMinimum?: boolean;
  readonly exclusiveMaximum?: boolean;
  readonly multipleOf?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly minProperties?: number;
  readonly maxProperties?: number;
  readonly uniqueItems?: boolean;
  readonly oneOf?: readonly Schema[];
  readonly anyOf?: readonly Schema[];
  readonly allOf?: readonly Schema[];
  readonly not?: Schema;
  readonly "x-kubernetes-preserve-unknown-fields"?: boolean;
  readonly "x-kubernetes-int-or-string"?: boolean;
  readonly "x-kubernetes-embedded-resource"?: boolean;
  readonly "x-kubernetes-list-type"?: "atomic" | "set" | "map";
  readonly "x-kubernetes-list-map-keys"?: readonly string[];
  readonly "x-kubernetes-map-type"?: "atomic" | "granular";
  readonly "x-kubernetes-patch-merge-key"?: string;
  readonly "x-kubernetes-patch-strategy"?: string;
  readonly "x-kubernetes-group-version-kind"?: readonly {
    group: string;
    version: string;
    kind: string;
  }[];
  readonly "x-kubernetes-validations"?: readonly ValidationRule[];
}

/** The schema of a field, by name; undefined for a free map. */
export function propertySchema(schema: Schema | undefined, name: string): Schema | undefined {
  const properties = schema?.properties;
  // Own fields only: a field named `constructor` must not find the inherited one.
  return properties !== undefined && Object.hasOwn(properties, name) ? properties[name] : undefined;
}

/** A CEL rule of a CRD schema. */
export interface ValidationRule {
  readonly rule: string;
  readonly message?: string;
  readonly messageExpression?: string;
  readonly reason?: string;
  readonly fieldPath?: string;
  readonly optionalOldSelf?: boolean;
}

/** One error, as kube-apiserver's field.Error. `<field>: <message>` is the printed form. */
export interface FieldError {
  /** Path of the field, such as `spec.template.spec.requirements[0].values`. */
  readonly field: string;
  /**
   * Reason of the Status cause: FieldValueInvalid, FieldValueRequired, FieldValueNotSupported, …
   */
  readonly reason: string;
  /** The text without the field: `Invalid value: "x": must be …`. */
  readonly message: string;
}
