/**
 * Names of fields in a CustomResourceDefinition and of values in a chart, by one rule for upstream's files
 * and ours.
 */

interface Schema {
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
  readonly additionalProperties?: Schema | boolean;
  readonly "x-kubernetes-preserve-unknown-fields"?: boolean;
}

export interface Definition {
  readonly spec: {
    readonly group: string;
    readonly names: { readonly kind: string };
    readonly versions: readonly {
      readonly name: string;
      readonly storage: boolean;
      readonly schema?: { readonly openAPIV3Schema?: Schema };
    }[];
  };
}

/**
 * Fields of the CRD's storage version, such as `spec.template.spec.taints[].key`. An object that takes any field has
 * `.*`, such as `spec.kubelet.*`.
 */
export function crdFields({ spec }: Definition): { kind: string; names: readonly string[] } {
  const schema = spec.versions.find(({ storage }) => storage)?.schema?.openAPIV3Schema;
  const names = ["spec", "status"].flatMap((part) => fieldsOf(schema?.properties?.[part], part));
  return { kind: spec.names.kind, names };
}

function fieldsOf(schema: Schema | undefined, path: string): readonly string[] {
  if (schema === undefined) return [];
  const { properties = {}, items, additionalProperties } = schema;
  const isOpen = schema["x-kubernetes-preserve-unknown-fields"] === true;
  return [
    path,
    ...(isOpen && !path.endsWith(".*") ? [`${path}.*`] : []),
    ...Object.entries(properties).flatMap(([name, one]) => fieldsOf(one, `${path}.${name}`)),
    ...fieldsOf(items, `${path}[]`).slice(1),
    ...(typeof additionalProperties === "object"
      ? fieldsOf(additionalProperties, `${path}.*`).slice(1)
      : []),
  ];
}

/** Paths of the leaves of a chart's values. A list, an empty group and null are leaves. */
export function valuePaths(values: unknown, path = ""): readonly string[] {
  const isGroup = typeof values === "object" && values !== null && !Array.isArray(values);
  const entries = isGroup ? Object.entries(values) : [];
  if (entries.length === 0) return [path];
  return entries
    .flatMap(([name, one]) => valuePaths(one, path === "" ? name : `${path}.${name}`))
    .sort();
}
