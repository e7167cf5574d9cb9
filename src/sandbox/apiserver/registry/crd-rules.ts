/**
 * Rules of CustomResourceDefinitions: default names, and validation before a kind is served.
 * upstream: apiextensions-apiserver pkg/apis/apiextensions/{v1/defaults.go,validation}
 */
import { invalid, notSupported, required } from "../schema/field-error.ts";
import { nameProblems } from "../schema/metadata.ts";
import type { FieldError, Schema } from "../schema/schema.ts";
import { schemaErrors } from "./crd-schema-rules.ts";
import { fallback, type KindRules, type Raw } from "./kind-rules.ts";
import { webhookUrlErrors } from "./webhook-url.ts";

const SCOPES = ["Cluster", "Namespaced"];
const COLUMN_TYPES = ["boolean", "date", "integer", "number", "string"];

/** Defaults and validation of a CRD, and its first status. */
export const CRD_RULES: KindRules = {
  defaults(crd) {
    const { names } = crd.spec ?? {};
    if (names?.kind !== undefined) {
      fallback(names, "singular", names.kind.toLowerCase());
      fallback(names, "listKind", `${names.kind}List`);
    }
    if (crd.spec !== undefined) fallback(crd.spec, "conversion", { strategy: "None" });
    const service = crd.spec?.conversion?.webhook?.clientConfig?.service;
    if (service !== undefined) fallback(service, "port", 443);
  },
  prepareCreate(crd) {
    const stored = (crd.spec?.versions ?? []).find((version: Raw) => version.storage === true);
    crd.status = {
      acceptedNames: { kind: "", plural: "" },
      conditions: null,
      storedVersions: stored === undefined ? [] : [stored.name],
    };
  },
  validate: (crd, current) => [
    ...(current === undefined ? nameErrors(crd) : movedErrors(crd, current)),
    ...specErrors(crd.spec ?? {}),
  ],
};

function nameErrors({ metadata, spec = {} }: Raw): FieldError[] {
  if (metadata.name === `${spec.names?.plural}.${spec.group}`) return [];
  const text = 'must be spec.names.plural+"."+spec.group';
  return [invalid("metadata.name", metadata.name, text)];
}

/**
 * Errors for changes of immutable fields. Group and plural decide where objects are stored. Scope and kind must stay
 * once the CRD is established.
 */
function movedErrors(crd: Raw, current: Raw): FieldError[] {
  const errors: FieldError[] = [];
  const keep = (field: string, next: unknown, before: unknown): void => {
    if (next !== before) errors.push(invalid(field, next ?? "", "field is immutable"));
  };
  const { spec = {} } = crd;
  const conditions: readonly Raw[] = current.status?.conditions ?? [];
  keep("spec.group", spec.group, current.spec.group);
  if (conditions.some(({ type, status }) => type === "Established" && status === "True")) {
    keep("spec.scope", spec.scope, current.spec.scope);
    keep("spec.names.kind", spec.names?.kind, current.spec.names.kind);
  }
  keep("spec.names.plural", spec.names?.plural, current.spec.names.plural);
  return errors;
}

function specErrors(spec: Raw): FieldError[] {
  const errors: FieldError[] = [];
  if ((spec.group ?? "") === "") errors.push(required("spec.group"));
  if (spec.scope === undefined) errors.push(required("spec.scope"));
  else if (!SCOPES.includes(spec.scope))
    errors.push(notSupported("spec.scope", spec.scope, SCOPES));
  if (spec.preserveUnknownFields === true) {
    const text =
      "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead";
    errors.push(invalid("spec.preserveUnknownFields", true, text));
  }
  for (const name of ["plural", "kind"]) {
    if ((spec.names?.[name] ?? "") === "") errors.push(required(`spec.names.${name}`));
  }
  const versions: readonly Raw[] = spec.versions ?? [];
  errors.push(...storageErrors(versions));
  versions.forEach((version, index) => {
    errors.push(...versionErrors(version, index, versions.length === 1));
  });
  errors.push(...conversionErrors(spec.conversion));
  return errors;
}

function storageErrors(versions: readonly Raw[]): FieldError[] {
  const stored = versions.filter((version) => version.storage === true);
  if (stored.length === 1) return [];
  // The error prints Go's structs. Upstream leaves out the fields that are the same in all
  // versions.
  const shown = versions.map(({ name, served = false, storage = false }) => ({
    Name: name,
    Served: served,
    Storage: storage,
    Deprecated: false,
    DeprecationWarning: null,
    Schema: null,
    Subresources: null,
    AdditionalPrinterColumns: null,
    SelectableFields: null,
  }));
  const refused = (field: string, value: unknown, text: string): FieldError => ({
    field,
    reason: "FieldValueInvalid",
    message: `Invalid value: ${JSON.stringify(value)}: ${text}`,
  });
  const errors = [
    refused("spec.versions", shown, "must have exactly one version marked as storage version"),
  ];
  if (stored.length === 0)
    errors.push(refused("status.storedVersions", null, "must have at least one stored version"));
  return errors;
}

/**
 * Errors of one version. If it is the only version, upstream treats its fields as fields of the whole spec,
 * so the errors have other paths.
 */
function versionErrors(version: Raw, index: number, isOnly: boolean): FieldError[] {
  const at = `spec.versions[${index}]`;
  const errors: FieldError[] = [];
  const name = version.name ?? "";
  for (const text of nameProblems(name, "oldLabel")) {
    errors.push(invalid(`${at}.name`, name, text));
    if (isOnly) errors.push(invalid("spec.version", name, text));
  }
  const schema = version.schema?.openAPIV3Schema;
  if (schema === undefined)
    errors.push(required(`${at}.schema.openAPIV3Schema`, "schemas are required"));
  else {
    const path = isOnly ? "spec.validation" : `${at}.schema`;
    errors.push(...schemaErrors(schema, `${path}.openAPIV3Schema`));
  }
  const home = isOnly ? "spec" : at;
  errors.push(...scaleErrors(version.subresources?.scale, `${home}.subresources.scale`));
  (version.additionalPrinterColumns ?? []).forEach((column: Raw, place: number) => {
    const field = `${home}.additionalPrinterColumns[${place}].type`;
    if (!COLUMN_TYPES.includes(column.type))
      errors.push(invalid(field, column.type ?? "", `must be one of ${COLUMN_TYPES.join(",")}`));
  });
  (version.selectableFields ?? []).forEach(({ jsonPath = "" }: Raw, place: number) => {
    const field = `${home}.selectableFields[${place}].jsonPath`;
    if (schema !== undefined && !isField(schema, jsonPath))
      errors.push(invalid(field, jsonPath, "is an invalid path: does not refer to a valid field"));
  });
  return errors;
}

function isField(schema: Schema, path: string): boolean {
  let at: Schema | undefined = schema;
  for (const part of path.split(".").slice(1)) at = at?.properties?.[part];
  return at !== undefined && ["string", "integer", "boolean"].includes(at.type ?? "");
}

function scaleErrors(scale: Raw, path: string): FieldError[] {
  if (scale === undefined) return [];
  return (["spec", "status"] as const).flatMap((part) => {
    const field = `${path}.${part}ReplicasPath`;
    const given = scale[`${part}ReplicasPath`] ?? "";
    if (given === "") return [required(field)];
    if (given.startsWith(`.${part}.`)) return [];
    return [invalid(field, given, `should be a json path under .${part}`)];
  });
}

function conversionErrors(conversion: Raw): FieldError[] {
  if (conversion?.strategy !== "Webhook") return [];
  const { clientConfig, conversionReviewVersions = [] } = conversion.webhook ?? {};
  const errors: FieldError[] = [];
  if (clientConfig === undefined) {
    const text = "required when strategy is set to Webhook";
    errors.push(required("spec.conversion.webhookClientConfig", text));
  } else if (clientConfig.url !== undefined)
    errors.push(...webhookUrlErrors("spec.conversion.webhookClientConfig.url", clientConfig.url));
  if (conversionReviewVersions.length === 0)
    errors.push(required("spec.conversion.conversionReviewVersions"));
  return errors;
}
