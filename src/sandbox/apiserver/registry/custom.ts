/**
 * ResourceDefinitions of custom kinds: one for each served version of a CustomResourceDefinition. Pruning,
 * defaults, validation, CEL rules and columns all come from the schema. No code here is for one group only.
 */

import type { KubeObject } from "../../../apis/meta.ts";
import { deepEqual, deepFreeze, isObject } from "../../../base/json.ts";
import { compileRules, NO_RULES, type RuleCheck } from "../cel/rules.ts";
import type {
  Pruned,
  ResourceDefinition,
  ScalePaths,
  Subresource,
  WebhookClientConfig,
} from "../resource-definition.ts";
import { decode } from "../schema/decode.ts";
import { applySchemaDefaults } from "../schema/defaults.ts";
import { invalid } from "../schema/field-error.ts";
import { validateMetadata } from "../schema/metadata.ts";
import { prune } from "../schema/prune.ts";
import type { FieldError, Schema } from "../schema/schema.ts";
import { validateSchema } from "../schema/validate.ts";
import {
  customCells,
  customColumns,
  type PrinterColumn,
  printerColumns,
} from "../table/custom-cells.ts";
import { objectMetaSchema } from "./builtin-data.ts";

/** The fields of a CRD that the registry reads. */
export interface CustomResourceDefinition extends KubeObject {
  readonly spec: {
    readonly group: string;
    readonly scope: "Cluster" | "Namespaced";
    readonly names: {
      readonly plural: string;
      readonly singular?: string;
      readonly kind: string;
      readonly listKind?: string;
      readonly shortNames?: readonly string[];
      readonly categories?: readonly string[];
    };
    readonly versions: readonly CustomVersion[];
    readonly conversion?: {
      readonly strategy: "None" | "Webhook";
      readonly webhook?: { readonly clientConfig?: WebhookClientConfig };
    };
    readonly preserveUnknownFields?: boolean;
  };
  readonly status?: {
    readonly conditions?: readonly { readonly type: string; readonly status: string }[];
    readonly acceptedNames?: unknown;
    readonly storedVersions?: readonly string[];
  };
}

/** One version of a CRD, as its spec lists it. */
export interface CustomVersion {
  readonly name: string;
  readonly served: boolean;
  readonly storage: boolean;
  readonly deprecated?: boolean;
  readonly deprecationWarning?: string;
  readonly schema?: { readonly openAPIV3Schema?: Schema };
  readonly subresources?: { readonly status?: unknown; readonly scale?: ScalePaths };
  readonly additionalPrinterColumns?: readonly PrinterColumn[];
}

const VERBS = ["delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"];

/** After an error with one of these reasons, CEL rules do not run. */
const BLOCKING = new Set([
  "FieldValueNotSupported",
  "FieldValueRequired",
  "FieldValueTooLong",
  "FieldValueTooMany",
  "FieldValueTypeInvalid",
]);
const RULES_NOT_CHECKED =
  "some validation rules were not checked because the object was invalid; correct the existing " +
  "errors to complete validation";

/** One definition for each served version. */
export function customDefinitions(crd: CustomResourceDefinition): readonly ResourceDefinition[] {
  return crd.spec.versions
    .filter((version) => version.served)
    .map((version) => define(crd, version));
}

function define(crd: CustomResourceDefinition, version: CustomVersion): ResourceDefinition {
  const { group, names, scope, versions } = crd.spec;
  const schema = rootSchema(version.schema?.openAPIV3Schema ?? {});
  const rules = compileRules(schema);
  const namespaced = scope === "Namespaced";
  const hasStatus = version.subresources?.status !== undefined;
  const columns = printerColumns(version.additionalPrinterColumns);
  const prunes = crd.spec.preserveUnknownFields !== true;
  const hasChanged = (crd.metadata.generation ?? 1) > 1;
  return {
    group,
    version: version.name,
    kind: names.kind,
    listKind: names.listKind ?? `${names.kind}List`,
    plural: names.plural,
    singular: names.singular ?? names.kind.toLowerCase(),
    shortNames: names.shortNames ?? [],
    categories: names.categories ?? [],
    namespaced,
    verbs: VERBS,
    storageKey: `${group}/${names.plural}`,
    storageVersion: versions.find(({ storage }) => storage)?.name ?? version.name,
    schema,
    hasStatus,
    scale: scaleOf(version),
    warning: deprecation(crd, version),
    columns: customColumns(columns),
    subresources: subresourcesOf(crd, version),
    prune: (object) => readCustom(schema, prunes, object),
    applyDefaults: (object) => applySchemaDefaults(schema, object) as KubeObject,
    ...(hasChanged ? { reread: rereader(schema, prunes) } : {}),
    prepareCreate: (object) => {
      if (!hasStatus) return object;
      const { status: _, ...rest } = object as KubeObject & { status?: unknown };
      return rest;
    },
    prepareUpdate: (next, current) => (hasStatus ? withStatusOf(next, current) : next),
    validate: (next, current) => [
      ...validateMetadata(next, namespaced, "subdomain", current),
      ...validateBody(schema, rules, next, current),
    ],
    tableCells: customCells(columns),
    conversion: conversionOf(crd),
  };
}

/**
 * Runs the schema's checks, then the CEL rules. An error that the stored object already had does not block an
 * update that leaves the field as it is.
 */
function validateBody(
  schema: Schema,
  rules: RuleCheck,
  next: KubeObject,
  current: KubeObject | undefined,
): readonly FieldError[] {
  const errors: FieldError[] = [];
  validateSchema(schema, next, "", errors);
  if (errors.length > 0 && current !== undefined) {
    const before: FieldError[] = [];
    validateSchema(schema, current, "", before);
    const known = new Set(before.map(({ field, message }) => `${field}: ${message}`));
    const fresh = errors.filter(
      ({ field, message }) =>
        !known.has(`${field}: ${message}`) ||
        !deepEqual(valueAt(next, field), valueAt(current, field)),
    );
    errors.splice(0, errors.length, ...fresh);
  }
  // CEL rules rely on types and sizes, so they do not run if those are wrong.
  if (errors.some(({ reason }) => BLOCKING.has(reason))) {
    if (rules === NO_RULES) return errors;
    return [...errors, invalid("<nil>", null, RULES_NOT_CHECKED)];
  }
  return [...errors, ...rules(next, current)];
}

/** The value at a path such as `spec.list[0].name`; undefined if there is none. */
function valueAt(object: unknown, field: string): unknown {
  let value = object;
  for (const part of field.split(/[.[\]]+/).filter((one) => one !== ""))
    value = isObject(value) || Array.isArray(value) ? Reflect.get(value, part) : undefined;
  return value;
}

/** Adapts a stored object to the current schema: removes unknown fields and adds defaults. */
function rereader(schema: Schema, prunes: boolean): (object: KubeObject) => KubeObject {
  const read = new WeakMap<KubeObject, KubeObject>();
  return (object) => {
    const known = read.get(object);
    if (known !== undefined) return known;
    const { value } = readCustom(schema, prunes, object);
    const now = applySchemaDefaults(schema, value) as KubeObject;
    const result = deepEqual(now, object) ? object : deepFreeze(now);
    read.set(object, result);
    return result;
  };
}

/**
 * The schema of the whole object: every object has apiVersion, kind and metadata, even if the CRD does not
 * describe them.
 */
function rootSchema(declared: Schema): Schema {
  const metadata = objectMetaSchema();
  return {
    ...declared,
    type: "object",
    properties: {
      ...declared.properties,
      apiVersion: { type: "string", ...withDescription(declared, "apiVersion") },
      kind: { type: "string", ...withDescription(declared, "kind") },
      metadata: declaredMetadata(declared, metadata),
    },
  };
}

function withDescription(declared: Schema, field: string): Schema {
  const description = declared.properties?.[field]?.description;
  return description === undefined ? {} : { description };
}

/** The schema of metadata: ObjectMeta's, but `name`, `generateName` and CEL rules as the CRD gives them. */
function declaredMetadata(declared: Schema, metadata: Schema): Schema {
  const own = declared.properties?.["metadata"];
  if (own === undefined) return metadata;
  const rules = own["x-kubernetes-validations"];
  // A CRD may describe no other field of metadata (crd-schema-rules.ts).
  return {
    ...metadata,
    properties: { ...metadata.properties, ...own.properties },
    ...(rules === undefined ? {} : { "x-kubernetes-validations": rules }),
  };
}

function readCustom(schema: Schema, prunes: boolean, object: KubeObject): Pruned {
  const { metadata, ...body } = object;
  const decoded = decode(objectMetaSchema(), metadata ?? {});
  if (decoded.problem !== undefined) {
    const { problem: malformed, wrong } = decoded;
    const at = wrong === undefined ? {} : { wrong: { ...wrong, path: `metadata.${wrong.path}` } };
    return { value: object, unknown: [], malformed, ...at };
  }
  const unknown = decoded.unknown.map((path) => `metadata.${path}`);
  const rest = prunes ? (prune(schema, body, "", unknown) as typeof body) : body;
  const { apiVersion, kind: kindName, ...fields } = rest;
  return {
    value: {
      ...(apiVersion === undefined ? {} : { apiVersion }),
      ...(kindName === undefined ? {} : { kind: kindName }),
      metadata: decoded.value as KubeObject["metadata"],
      ...fields,
    },
    unknown,
  };
}

function withStatusOf(next: KubeObject, current: KubeObject): KubeObject {
  const { status: _, ...rest } = next as KubeObject & { status?: unknown };
  const { status } = current as KubeObject & { status?: unknown };
  return status === undefined ? rest : ({ ...rest, status } as KubeObject);
}

function scaleOf(version: CustomVersion): ScalePaths | undefined {
  const scale = version.subresources?.scale;
  if (scale === undefined) return undefined;
  return {
    specReplicasPath: scale.specReplicasPath,
    statusReplicasPath: scale.statusReplicasPath,
    labelSelectorPath: scale.labelSelectorPath,
  };
}

function subresourcesOf(crd: CustomResourceDefinition, version: CustomVersion): Subresource[] {
  const verbs = ["get", "patch", "update"];
  const list: Subresource[] = [];
  if (version.subresources?.status !== undefined) {
    const { group, names } = crd.spec;
    list.push({ name: "status", group, version: version.name, kind: names.kind, verbs });
  }
  if (version.subresources?.scale !== undefined) {
    list.push({ name: "scale", group: "autoscaling", version: "v1", kind: "Scale", verbs });
  }
  return list;
}

function deprecation(crd: CustomResourceDefinition, version: CustomVersion): string | undefined {
  if (version.deprecated !== true) return undefined;
  const { group, names } = crd.spec;
  return version.deprecationWarning ?? `${group}/${version.name} ${names.kind} is deprecated`;
}

function conversionOf(crd: CustomResourceDefinition): ResourceDefinition["conversion"] {
  if (crd.spec.versions.length < 2) return undefined;
  const { strategy, webhook } = crd.spec.conversion ?? { strategy: "None" };
  if (strategy !== "Webhook") return { strategy: "None" };
  const config = webhook?.clientConfig;
  return config === undefined ? { strategy } : { strategy, webhook: config };
}
