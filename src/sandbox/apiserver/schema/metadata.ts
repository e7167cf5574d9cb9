/**
 * Validation of metadata that all kinds share: names, labels, annotations, finalizers, owners. It changes
 * nothing.
 * upstream: apimachinery pkg/api/validation/objectmeta.go, pkg/util/validation
 */
import type { KubeObject } from "../../../apis/meta.ts";
import { forbidden, invalid, required, tooLong } from "./field-error.ts";
import type { FieldError } from "./schema.ts";

const MAX_ANNOTATIONS_BYTES = 256 * 1_024;
const STANDARD_FINALIZERS: ReadonlySet<string> = new Set([
  "kubernetes",
  "orphan",
  "foregroundDeletion",
  // Every CRD has this finalizer. Upstream does not check finalizers of that group.
  "customresourcecleanup.apiextensions.k8s.io",
]);
const DNS_LABEL = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/;
const OLD_LABEL = /^[a-z]([-a-z0-9]*[a-z0-9])?$/;
const DNS_SUBDOMAIN = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;
const NAME_PART = /^([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$/;
const LABEL_VALUE = /^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$/;

const OLD_LABEL_TEXT =
  "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an " +
  "alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', " +
  "regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')";
const DNS_LABEL_TEXT =
  "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must " +
  "start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for " +
  "validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
const DNS_SUBDOMAIN_TEXT =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', " +
  "and must start and end with an alphanumeric character (e.g. 'example.com', regex used for " +
  "validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const NAME_PART_TEXT =
  "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with " +
  "an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for " +
  "validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
const LABEL_VALUE_TEXT =
  "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', " +
  "and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or " +
  "'12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";

/**
 * The grammar of a kind's names. `oldLabel` is a label of RFC 1035: it begins with a letter. `path` allows any
 * text that can be a path segment, as for RBAC kinds.
 */
export type NameGrammar = "subdomain" | "label" | "oldLabel" | "path";

/** Errors of `object.metadata`. `current` is the stored object on update. */
export function validateMetadata(
  object: KubeObject,
  namespaced: boolean,
  grammar: NameGrammar,
  current: KubeObject | undefined,
): FieldError[] {
  const { metadata } = object;
  const errors: FieldError[] = [];
  if ((metadata.name ?? "") === "") {
    errors.push(required("metadata.name", "name or generateName is required"));
  } else {
    const { generateName = "" } = metadata;
    // A prefix may end in `-`, which a name may not.
    for (const text of generateName === ""
      ? []
      : nameProblems(generateName.replace(/-$/, "a"), grammar))
      errors.push(invalid("metadata.generateName", generateName, text));
    for (const text of nameProblems(metadata.name, grammar)) {
      errors.push(invalid("metadata.name", metadata.name, text));
    }
  }
  if (!namespaced && metadata.namespace !== undefined && metadata.namespace !== "") {
    errors.push(forbidden("metadata.namespace", "not allowed on this type"));
  }
  errors.push(...validateLabels(metadata.labels, "metadata.labels"));
  errors.push(...validateAnnotations(metadata.annotations, "metadata.annotations"));
  errors.push(...validateFinalizers(metadata.finalizers, current));
  errors.push(...validateOwners(object));
  return errors;
}

/** Errors of labels. `path` is the field of the map. */
export function validateLabels(
  labels: Readonly<Record<string, string>> | undefined,
  path: string,
): FieldError[] {
  const errors: FieldError[] = [];
  for (const key of Object.keys(labels ?? {}).sort()) {
    for (const text of qualifiedNameProblems(key)) errors.push(invalid(path, key, text));
    const value = labels?.[key] ?? "";
    for (const text of labelValueProblems(value)) errors.push(invalid(path, value, text));
  }
  return errors;
}

function validateAnnotations(
  annotations: Readonly<Record<string, string>> | undefined,
  path: string,
): FieldError[] {
  const errors: FieldError[] = [];
  for (const key of Object.keys(annotations ?? {}).sort()) {
    for (const text of qualifiedNameProblems(key.toLowerCase())) {
      errors.push(invalid(path, key, text));
    }
  }
  if (areTooLong(annotations ?? {})) errors.push(tooLong(path, MAX_ANNOTATIONS_BYTES));
  return errors;
}

/** Whether all annotations together are larger than allowed. */
export function areTooLong(annotations: Readonly<Record<string, string>>): boolean {
  let bytes = 0;
  for (const [key, value] of Object.entries(annotations))
    bytes += Buffer.byteLength(key) + Buffer.byteLength(value);
  return bytes > MAX_ANNOTATIONS_BYTES;
}

/** Why `prefix/name` is not a qualified name, in upstream's words (`IsQualifiedName`). Empty if it is one. */
export function qualifiedNameProblems(key: string): string[] {
  const parts = key.split("/");
  const problems: string[] = [];
  let name = key;
  if (parts.length === 2) {
    const prefix = parts[0] as string;
    name = parts[1] as string;
    if (prefix === "") problems.push("prefix part must be non-empty");
    else problems.push(...nameProblems(prefix, "subdomain").map((text) => `prefix part ${text}`));
  } else if (parts.length > 2) {
    return [
      `a qualified name must consist of alphanumeric characters, '-', '_' or '.', and must start ` +
        "and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', " +
        "regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]') with an optional " +
        "DNS subdomain prefix and '/' (e.g. 'example.com/MyName')",
    ];
  }
  if (name === "") problems.push("name part must be non-empty");
  else if (name.length > 63) problems.push("name part must be no more than 63 characters");
  if (!NAME_PART.test(name)) problems.push(NAME_PART_TEXT);
  return problems;
}

/** Why the text is not a label value. Empty if it is one. */
export function labelValueProblems(value: string): string[] {
  const problems: string[] = [];
  if (value.length > 63) problems.push("must be no more than 63 characters");
  if (!LABEL_VALUE.test(value)) problems.push(LABEL_VALUE_TEXT);
  return problems;
}

const GRAMMARS = {
  label: { pattern: DNS_LABEL, text: DNS_LABEL_TEXT, limit: 63 },
  oldLabel: { pattern: OLD_LABEL, text: OLD_LABEL_TEXT, limit: 63 },
  subdomain: { pattern: DNS_SUBDOMAIN, text: DNS_SUBDOMAIN_TEXT, limit: 253 },
} as const;

/** Why the name is invalid under `grammar`. Empty if it is valid. */
export function nameProblems(name: string, grammar: NameGrammar): string[] {
  if (grammar === "path") {
    if (name === "." || name === "..") return [`may not be '${name}'`];
    return ["/", "%"].filter((c) => name.includes(c)).map((c) => `may not contain '${c}'`);
  }
  const { pattern, text, limit } = GRAMMARS[grammar];
  const problems: string[] = [];
  if (name.length > limit) problems.push(`must be no more than ${limit} characters`);
  if (pattern.test(name)) return problems;
  // The name is a valid subdomain, so the only fault is its dots.
  if (grammar === "label" && DNS_SUBDOMAIN.test(name)) problems.push("must not contain dots");
  else problems.push(text);
  return problems;
}

function validateFinalizers(
  finalizers: readonly string[] | undefined,
  current: KubeObject | undefined,
): FieldError[] {
  const errors: FieldError[] = [];
  const list = finalizers ?? [];
  list.forEach((finalizer, index) => {
    for (const text of qualifiedNameProblems(finalizer)) {
      errors.push(invalid("metadata.finalizers", finalizer, text));
    }
    if (!finalizer.includes("/") && !STANDARD_FINALIZERS.has(finalizer)) {
      const text = "name is neither a standard finalizer name nor is it fully qualified";
      errors.push(invalid(`metadata.finalizers[${index}]`, finalizer, text));
    }
  });
  if (current?.metadata.deletionTimestamp !== undefined) {
    const before = current.metadata.finalizers ?? [];
    const added = list.filter((finalizer) => !before.includes(finalizer));
    if (added.length > 0) {
      const shown = `[]string{${added.map((item) => JSON.stringify(item)).join(", ")}}`;
      const text = `no new finalizers can be added if the object is being deleted, found new finalizers ${shown}`;
      errors.push(forbidden("metadata.finalizers", text));
    }
  }
  return errors;
}

function validateOwners(object: KubeObject): FieldError[] {
  const errors: FieldError[] = [];
  let controllers = 0;
  (object.metadata.ownerReferences ?? []).forEach((owner) => {
    const path = "metadata.ownerReferences";
    if ((owner.apiVersion ?? "") === "") {
      errors.push(invalid(`${path}.apiVersion`, "", "version must not be empty"));
    }
    if ((owner.kind ?? "") === "") errors.push(invalid(`${path}.kind`, "", "must not be empty"));
    if ((owner.name ?? "") === "") errors.push(invalid(`${path}.name`, "", "must not be empty"));
    if ((owner.uid ?? "") === "") errors.push(invalid(`${path}.uid`, "", "must not be empty"));
    if (owner.kind === "Event" && ["v1", "events.k8s.io/v1"].includes(owner.apiVersion)) {
      const [group = "", version] = owner.apiVersion.includes("/")
        ? owner.apiVersion.split("/")
        : ["", owner.apiVersion];
      const text = `${group}/${version}, Kind=Event is disallowed from being an owner`;
      errors.push(invalid(path, owner as unknown, text));
    }
    if (owner.controller === true) controllers++;
  });
  if (controllers > 1) {
    const all = object.metadata.ownerReferences ?? [];
    const ruling = all.filter((owner) => owner.controller === true);
    const named = ruling.map(({ kind, name }) => `${kind}/${name}`).join(" and ");
    const text = `Only one reference can have Controller set to true. Found "true" in references for ${named}`;
    // The fields are in the order of Go's struct, because upstream's error prints that struct.
    const shown = all.map(({ apiVersion, kind, name, uid, controller, blockOwnerDeletion }) => ({
      apiVersion,
      kind,
      name,
      uid,
      controller,
      blockOwnerDeletion,
    }));
    errors.push({
      field: "metadata.ownerReferences",
      reason: "FieldValueInvalid",
      message: `Invalid value: ${JSON.stringify(shown)}: ${text}`,
    });
  }
  return errors;
}
