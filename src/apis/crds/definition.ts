/** Builds CustomResourceDefinition objects: names, versions, columns and conversion, around a schema. */
import type { Kind, KubeObject } from "../meta.ts";
import type { JsonSchema } from "./schema.ts";

/** A column of `kubectl get`. */
export interface PrinterColumn {
  readonly name: string;
  readonly type: "string" | "integer" | "date";
  readonly jsonPath: string;
  /** 1: the column is shown only by `-o wide`. Absent: always. */
  readonly priority?: number;
}

/** One served version of a kind. Exactly one version of a kind has `storage: true`. */
export interface CrdVersion {
  readonly name: string;
  readonly storage: boolean;
  readonly schema: JsonSchema;
  readonly columns: readonly PrinterColumn[];
  readonly scale?: { readonly specReplicasPath: string; readonly statusReplicasPath: string };
  /** A warning for clients that use this version. Absent: it is not deprecated. */
  readonly deprecated?: string;
}

/** A CustomResourceDefinition, with the fields that this project uses. */
export interface CustomResourceDefinition extends KubeObject {
  readonly spec: {
    readonly group: string;
    readonly names: Readonly<Record<string, unknown>>;
    readonly scope: "Cluster" | "Namespaced";
    readonly conversion?: unknown;
    readonly versions: readonly {
      readonly name: string;
      readonly served: boolean;
      readonly storage: boolean;
      readonly schema: { readonly openAPIV3Schema: JsonSchema };
      readonly [field: string]: unknown;
    }[];
  };
}

/** The operator's Service, which serves all webhooks. */
export const WEBHOOK_SERVICE = { name: "karpenter", namespace: "karpenter", port: 8443 } as const;

/** Optional settings of a definition. */
export interface DefinitionOptions {
  readonly shortNames?: readonly string[];
  /** The category for `kubectl get`. Absent: `karpenter`. */
  readonly category?: string;
  /** Whether all versions have the same fields, so that the API server converts them without a webhook. */
  readonly isAlike?: boolean;
}

/** Builds the definition of a kind with a status. */
export function definition(
  kind: Kind,
  versions: readonly CrdVersion[],
  names: DefinitionOptions = {},
): CustomResourceDefinition {
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `${kind.plural}.${kind.group}` },
    spec: {
      group: kind.group,
      names: {
        categories: [names.category ?? "karpenter"],
        kind: kind.kind,
        listKind: `${kind.kind}List`,
        plural: kind.plural,
        ...(names.shortNames === undefined ? {} : { shortNames: names.shortNames }),
        singular: kind.kind.toLowerCase(),
      },
      scope: kind.namespaced ? "Namespaced" : "Cluster",
      ...(versions.length > 1 ? conversionOf(kind, names) : {}),
      versions: versions.map(version),
    },
  };
}

function conversionOf({ group }: Kind, { isAlike = false }: DefinitionOptions) {
  return { conversion: isAlike ? { strategy: "None" } : conversion(group) };
}

function version(one: CrdVersion) {
  return {
    name: one.name,
    served: true,
    storage: one.storage,
    ...(one.deprecated === undefined
      ? {}
      : { deprecated: true, deprecationWarning: one.deprecated }),
    additionalPrinterColumns: one.columns,
    schema: { openAPIV3Schema: one.schema },
    subresources: { ...(one.scale === undefined ? {} : { scale: one.scale }), status: {} },
  };
}

function conversion(group: string) {
  const service = { ...WEBHOOK_SERVICE, path: `/conversion/${group}` };
  return {
    strategy: "Webhook",
    webhook: { clientConfig: { service }, conversionReviewVersions: ["v1"] },
  };
}

/** A column with the age. For custom kinds kubectl shows it only if there is such a column. */
export const AGE_COLUMN: PrinterColumn = {
  name: "Age",
  type: "date",
  jsonPath: ".metadata.creationTimestamp",
};

/** A column with the status of the condition Ready. */
export const READY_COLUMN: PrinterColumn = {
  name: "Ready",
  type: "string",
  jsonPath: '.status.conditions[?(@.type=="Ready")].status',
};

/** A column of text. Priority 1 shows it only with `-o wide`. */
export function column(name: string, jsonPath: string, priority?: number): PrinterColumn {
  return { name, type: "string", jsonPath, ...(priority === undefined ? {} : { priority }) };
}
