/**
 * ResourceDefinitions of the built-in kinds. data/kubernetes gives names, schemas and columns; the rules
 * files give what needs code. Built once per process; definitions hold no state.
 */

import type { KubeObject } from "../../../apis/meta.ts";
import { clone, sharing } from "../../../base/json.ts";
import type { Column, Pruned, ResourceDefinition, ScalePaths } from "../resource-definition.ts";
import { decode } from "../schema/decode.ts";
import { validateMetadata } from "../schema/metadata.ts";
import type { FieldError, Schema } from "../schema/schema.ts";
import { builtinCells } from "../table/builtin-cells.ts";
import { type BuiltinResource, builtinGroups, builtinKindSchema } from "./builtin-data.ts";
import { BUILTIN_RULES } from "./builtin-rules.ts";
import { validateEnums } from "./enums.ts";
import type { KindRules, Raw } from "./kind-rules.ts";

/** All built-in kinds with a scale subresource have it at these paths. */
const SCALE: ScalePaths = {
  specReplicasPath: ".spec.replicas",
  statusReplicasPath: ".status.replicas",
  labelSelectorPath: ".spec.selector",
};

let definitions: readonly ResourceDefinition[] | undefined;

/** Every built-in resource that can be stored, in discovery order. */
export function builtinDefinitions(): readonly ResourceDefinition[] {
  definitions ??= builtinGroups().flatMap(({ group, versions }) =>
    versions.flatMap(({ version, resources }) =>
      resources
        .filter((resource) => resource.verbs.includes("list"))
        .map((resource) => define(group, version, resource)),
    ),
  );
  return definitions;
}

/** The stored version of kinds that have several versions. */
const STORED_VERSIONS: Readonly<Record<string, string>> = {
  "autoscaling/HorizontalPodAutoscaler": "v2",
};

/** Requests for these kinds are answered with this warning. */
const DEPRECATED: Readonly<Record<string, string>> = {
  "/ComponentStatus": "v1 ComponentStatus is deprecated in v1.19+",
  "/Endpoints": "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice",
};

function define(group: string, version: string, resource: BuiltinResource): ResourceDefinition {
  const { kind, plural } = resource;
  const schema = builtinKindSchema(group, version, kind) ?? {};
  const rules =
    BUILTIN_RULES[`${group}/${version}/${kind}`] ?? BUILTIN_RULES[`${group}/${kind}`] ?? {};
  const subresources = resource.subresources ?? [];
  const hasStatus = subresources.some(({ name }) => name === "status");
  return {
    group,
    version,
    kind,
    listKind: `${kind}List`,
    plural,
    singular: resource.singular,
    shortNames: resource.shortNames ?? [],
    categories: resource.categories ?? [],
    namespaced: resource.namespaced,
    verbs: resource.verbs,
    storageKey: group === "" || group === "events.k8s.io" ? plural : `${group}/${plural}`,
    storageVersion: STORED_VERSIONS[`${group}/${kind}`] ?? version,
    schema,
    hasStatus,
    scale: subresources.some(({ name }) => name === "scale") ? SCALE : undefined,
    warning: DEPRECATED[`${group}/${kind}`],
    ...(rules.innerAnnotation === undefined ? {} : { innerAnnotation: rules.innerAnnotation }),
    columns: columnsOf(resource),
    subresources,
    prune: (object) => decodeBuiltin(schema, object),
    applyDefaults: (object) => changedBy(rules.defaults, object),
    prepareCreate: (object) => prepareCreate(rules, hasStatus, schema, object),
    prepareUpdate: (next, current) => prepareUpdate(rules, hasStatus, next, current),
    prepareStatus: (next, current) => changedBy(rules.prepareStatus, next, current),
    validate: (next, current) => validate(rules, schema, resource.namespaced, next, current),
    ...(rules.validateAmong === undefined ? {} : { validateAmong: rules.validateAmong }),
    tableCells: builtinCells(kind, resource.columns?.length ?? 2),
    conversion: undefined,
  };
}

function columnsOf(resource: BuiltinResource): readonly Column[] {
  const rows = resource.columns ?? [
    ["Name", "string", "name", 0],
    ["Age", "string", "", 0],
  ];
  return rows.map(([name, type, format, priority]) => ({
    name: name as string,
    type: type as string,
    format: format as string,
    description: "",
    priority: priority as number,
  }));
}

function decodeBuiltin(schema: Schema, object: KubeObject): Pruned {
  const { value, unknown, problem, wrong } = decode(schema, object);
  if (problem === undefined) return { value: withMetadata(value as KubeObject), unknown };
  return { value: object, unknown, malformed: problem, ...(wrong === undefined ? {} : { wrong }) };
}

function withMetadata(object: KubeObject): KubeObject {
  return object.metadata === undefined ? { ...object, metadata: { name: "" } } : object;
}

function prepareCreate(
  rules: KindRules,
  hasStatus: boolean,
  schema: Schema,
  object: KubeObject,
): KubeObject {
  const draft: Raw = clone(object);
  if (hasStatus && rules.keepsStatusOnCreate !== true && schema.properties?.["status"]) {
    draft.status = {};
  }
  rules.prepareCreate?.(draft);
  return draft;
}

function prepareUpdate(
  rules: KindRules,
  hasStatus: boolean,
  next: KubeObject,
  current: KubeObject,
): KubeObject {
  const draft: Raw = { ...next };
  if (hasStatus) {
    const { status } = current as Raw;
    if (status === undefined) delete draft.status;
    else draft.status = status;
  }
  return changedBy(rules.prepareUpdate, draft, current);
}

/** The object after a rule changed a copy of it. The parts that the rule leaves alone are shared with `object`. */
function changedBy(
  rule: ((draft: Raw, current: Raw) => void) | undefined,
  object: KubeObject,
  current?: KubeObject,
): KubeObject {
  if (rule === undefined) return object;
  const draft: Raw = clone(object);
  rule(draft, current);
  return sharing(draft, object);
}

function validate(
  rules: KindRules,
  schema: Schema,
  namespaced: boolean,
  next: KubeObject,
  current: KubeObject | undefined,
): readonly FieldError[] {
  const errors = validateMetadata(next, namespaced, rules.names ?? "subdomain", current);
  if (rules.validate !== undefined) errors.push(...rules.validate(next, current));
  const words: FieldError[] = [];
  validateEnums(schema, next, "", words);
  // A field gets no enum error if a rule of its kind already reports the field, because the rule's
  // error is more exact. For the taints of a Node and the tolerations of a RuntimeClass, rules
  // report another path, as kube-apiserver does.
  const said = new Set(
    errors.map(({ field }) =>
      field
        .replace(/^metadata\.taints/, "spec.taints")
        .replace(/^(scheduling\.tolerations)\.tolerations/, "$1"),
    ),
  );
  const isSaid = (field: string) => said.has(field) || said.has(field.replace(/\[\d+\]$/, ""));
  return [...errors, ...words.filter(({ field }) => !isSaid(field))];
}
