/**
 * Label and field selectors of list, watch and deletecollection, as predicates. kube-apiserver's table says by which
 * fields a kind can be selected; any other field is refused.
 */
import { matchesNodeSelectorTerm } from "../../../apis/core/selectors.ts";
import type { KubeObject } from "../../../apis/meta.ts";
import { isCustom } from "../engine.ts";
import type { ResourceDefinition } from "../resource-definition.ts";
import { parseLabelSelector, SelectorError } from "./label-selector.ts";
import { badRequest } from "./status.ts";

/** Whether an object matches a selector. */
export type Predicate = (object: KubeObject) => boolean;

const ALL: Predicate = () => true;

/** The predicate of both selectors. Throws 400 for a selector that kube-apiserver cannot parse. */
export function selectionOf(definition: ResourceDefinition, query: URLSearchParams): Predicate {
  const labelText = query.get("labelSelector") ?? "";
  const fieldText = query.get("fieldSelector") ?? "";
  const labels = labelText === "" ? undefined : readLabelSelector(labelText);
  const fields = fieldText === "" ? undefined : parseFieldSelector(definition, fieldText);
  if (labels === undefined) return fields ?? ALL;
  if (fields === undefined) return labels;
  return (object) => labels(object) && fields(object);
}

/** Parses a boolean query parameter as Go does: every text that does not mean false is true. */
export function asBoolean(text: string | null): boolean | undefined {
  return text === null ? undefined : !["false", "0"].includes(text.toLowerCase());
}

/** True when no selector restricts the request. */
export function selectsAll(query: URLSearchParams): boolean {
  return !query.get("labelSelector") && !query.get("fieldSelector");
}

function readLabelSelector(text: string): Predicate {
  try {
    const matchExpressions = parseLabelSelector(text);
    if (matchExpressions.length === 0) return ALL;
    return ({ metadata }) => matchesNodeSelectorTerm({ matchExpressions }, metadata.labels);
  } catch (error) {
    if (error instanceof SelectorError) throw badRequest(error.message);
    throw error;
  }
}

/** Fields beyond metadata.name and metadata.namespace, by storage group and resource. */
const FIELDS: Readonly<Record<string, readonly string[]>> = {
  pods: [
    "spec.nodeName",
    "spec.restartPolicy",
    "spec.schedulerName",
    "spec.serviceAccountName",
    "spec.hostNetwork",
    "status.phase",
    "status.podIP",
    "status.podIPs",
    "status.nominatedNodeName",
  ],
  nodes: ["spec.unschedulable"],
  events: [
    "involvedObject.kind",
    "involvedObject.namespace",
    "involvedObject.name",
    "involvedObject.uid",
    "involvedObject.apiVersion",
    "involvedObject.resourceVersion",
    "involvedObject.fieldPath",
    "reason",
    "reportingComponent",
    "source",
    "type",
  ],
  // events.k8s.io has other names for the same fields.
  "events.k8s.io/events": [
    "regarding.kind",
    "regarding.namespace",
    "regarding.name",
    "regarding.uid",
    "regarding.apiVersion",
    "regarding.resourceVersion",
    "regarding.fieldPath",
    "reason",
    "reportingController",
    "type",
  ],
  namespaces: ["status.phase"],
  secrets: ["type"],
  services: ["spec.clusterIP", "spec.type"],
  replicationcontrollers: ["status.replicas"],
  jobs: ["status.successful"],
  resourceslices: ["spec.driver", "spec.nodeName"],
};

/**
 * Groups whose kinds have the fields above. A custom kind may have the plural of a built-in kind, but has none
 * of its fields.
 */
const WITH_FIELDS: ReadonlySet<string> = new Set([
  "",
  "apps",
  "batch",
  "events.k8s.io",
  "resource.k8s.io",
]);

/** Parses a field selector such as `metadata.name=x,spec.nodeName!=y`. Throws 400 if it is invalid. */
function parseFieldSelector(definition: ResourceDefinition, text: string): Predicate {
  const tests = text
    .split(",")
    .filter((term) => term !== "")
    .map((term) => parseFieldTerm(definition, term, text));
  return (object) => tests.every((test) => test(object));
}

function parseFieldTerm(definition: ResourceDefinition, term: string, whole: string): Predicate {
  const match = /^([^=!]+)(==|!=|=)(.*)$/.exec(term);
  if (match === null) {
    throw badRequest(`invalid selector: '${whole}'; can't understand '${term}'`);
  }
  const [, field = "", operator, value] = match;
  const { group, plural } = definition;
  const fields = FIELDS[group === "events.k8s.io" ? `${group}/${plural}` : plural];
  const known =
    field === "metadata.name" ||
    (field === "metadata.namespace" && definition.namespaced) ||
    (WITH_FIELDS.has(group) && fields?.includes(field) === true);
  if (!known) {
    // For core and custom kinds kube-apiserver has another error text than for the rest.
    throw badRequest(
      ((group === "" || group === "events.k8s.io") && fields !== undefined) || isCustom(definition)
        ? `field label not supported: ${field}`
        : `"${field}" is not a known field selector: only "metadata.name", "metadata.namespace"`,
    );
  }
  const read = fieldReader(field, definition.plural);
  if (operator === "!=") return (object) => read(object) !== value;
  return (object) => read(object) === value;
}

function fieldReader(field: string, plural: string): (object: KubeObject) => string {
  if (field === "metadata.name") return (object) => object.metadata.name;
  if (field === "metadata.namespace") return (object) => object.metadata.namespace ?? "";
  if (field === "source") {
    return (object) =>
      text(at(object, ["source", "component"])) || text(at(object, ["reportingComponent"]));
  }
  if (field === "status.successful")
    return (object) => text(at(object, ["status", "succeeded"]), "0");
  const path = field.split(".");
  const missing = field === "spec.unschedulable" || field === "spec.hostNetwork" ? "false" : "";
  const fallback = plural.startsWith("replica") ? "0" : missing;
  return (object) => text(at(object, path), fallback);
}

function at(object: unknown, path: readonly string[]): unknown {
  let value = object;
  for (const part of path) value = (value as Record<string, unknown> | undefined)?.[part];
  return value;
}

function text(value: unknown, missing = ""): string {
  return value === undefined || value === null ? missing : String(value);
}
