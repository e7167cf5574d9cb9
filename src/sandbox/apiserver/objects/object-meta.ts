/**
 * The server's part of metadata: what it sets on create, what an update may not change, and when the generation grows.
 * The definition of the kind validates the client's part (names, labels).
 */

import type { KubeObject, ObjectMeta } from "../../../apis/meta.ts";
import { toRfc3339 } from "../../../base/clock.ts";
import { deepEqual, fieldOf } from "../../../base/json.ts";
import { type Call, groupVersionOf, isCustom } from "../engine.ts";
import { refusedPatch } from "../patch/refusal.ts";
import { goKind } from "../request/go-json.ts";
import { ApiError, badRequest, conflict, invalid, STALE_WRITE } from "../request/status.ts";
import type { ResourceDefinition } from "../resource-definition.ts";
import { invalid as invalidField, required } from "../schema/field-error.ts";
import type { FieldError } from "../schema/schema.ts";

type Mutable<T> = { -readonly [K in keyof T]: T[K] };

/** Longest base of a generated name. With 5 random characters the name has at most 63 characters. */
const MAX_GENERATED_BASE = 58;

/** Built-in kinds that, like custom kinds, cannot be updated without a resourceVersion. */
const NEEDS_VERSION: ReadonlySet<string> = new Set(["Lease", "PodDisruptionBudget"]);

/**
 * Kinds of other groups that have a generation. Custom, apps, batch and policy kinds have one, except
 * ControllerRevision.
 */
const GENERATION_KINDS: ReadonlySet<string> = new Set([
  "Pod",
  "PodTemplate",
  "ReplicationController",
  "PriorityClass",
  "MutatingWebhookConfiguration",
  "ValidatingAdmissionPolicy",
  "ValidatingAdmissionPolicyBinding",
  "ValidatingWebhookConfiguration",
  "CustomResourceDefinition",
  "EndpointSlice",
  "Ingress",
  "IngressClass",
  "NetworkPolicy",
]);

function countsGenerations(definition: ResourceDefinition): boolean {
  const { group, kind } = definition;
  if (kind === "ControllerRevision") return false;
  return (
    isCustom(definition) ||
    ["apps", "batch", "policy"].includes(group) ||
    GENERATION_KINDS.has(kind)
  );
}

/** The body as an object of the request's kind and version, with metadata. */
export function objectOf(call: Call, body: unknown): KubeObject {
  const { definition } = call;
  if (typeof body !== "object" || body === null || Array.isArray(body)) {
    throw badRequest("the request body must be a JSON object with apiVersion, kind and metadata");
  }
  const object = body as Partial<KubeObject>;
  const wanted = groupVersionOf(definition);
  const { apiVersion = wanted, kind = definition.kind } = headOf(object);
  if (apiVersion !== wanted || kind !== definition.kind) {
    const { refusal, problem } = wrongKind(definition, apiVersion, kind, wanted);
    const isPatched = call.method === "PATCH" && !isCustom(definition);
    throw isPatched ? refusedPatch(call, body as KubeObject, problem) : badRequest(refusal);
  }
  const metadata = object.metadata ?? ({} as ObjectMeta);
  if (typeof metadata !== "object" || Array.isArray(metadata)) {
    throw badRequest("metadata must be an object");
  }
  const { apiVersion: _a, kind: _k, metadata: _m, ...rest } = object;
  return { apiVersion, kind, metadata, ...rest };
}

/**
 * apiVersion and kind of a body. Undefined: the field is absent or null. Throws 400 if a field is not a text.
 * upstream: apimachinery pkg/runtime/serializer/json/meta.go
 */
export function headOf(object: { readonly apiVersion?: unknown; readonly kind?: unknown }): {
  readonly apiVersion: string | undefined;
  readonly kind: string | undefined;
} {
  const text = (field: "apiVersion" | "kind"): string | undefined => {
    const value = object[field] ?? undefined;
    if (value === undefined || typeof value === "string") return value;
    throw badRequest(
      `couldn't get version/kind; json parse error: json: cannot unmarshal ${goKind(value)} into Go struct field .${field} of type string`,
    );
  };
  return { apiVersion: text("apiVersion"), kind: text("kind") };
}

/** Custom kinds are compared by name; built-in kinds by the types that Go can convert into each other. */
function wrongKind(
  definition: ResourceDefinition,
  apiVersion: string,
  kind: string,
  wanted: string,
): { readonly refusal: string; readonly problem: string } {
  const [version = ""] = apiVersion.split("/").slice(-1);
  const refused = `${kind} in version "${version}" cannot be handled as a ${definition.kind}`;
  if (isCustom(definition) || apiVersion.includes("/") !== wanted.includes("/")) {
    const problem = "the kind in the data does not match the URL";
    const refusal =
      apiVersion === wanted
        ? `${refused}: ${problem}`
        : `the API version in the data (${apiVersion}) does not match the expected API version (${wanted})`;
    return { refusal, problem };
  }
  const problem = kindProblem(definition, apiVersion, kind);
  return { refusal: `${refused}: ${problem}`, problem };
}

/** Why an object of this version and kind does not belong to the definition, in kube-apiserver's words. */
export function kindProblem(
  definition: ResourceDefinition,
  apiVersion: string,
  kind: string,
): string {
  const inner = definition.group === "" ? "core" : definition.group.split(".")[0];
  const [version = ""] = apiVersion.split("/").slice(-1);
  if (apiVersion === groupVersionOf(definition))
    return `converting (${version}.${kind}) to (${inner}.${definition.kind}): unknown conversion`;
  return `no kind "${kind}" is registered for version "${apiVersion}" in scheme "pkg/runtime/scheme.go:110"`;
}

/**
 * Throws 400 if the object names another namespace than the URL. For a cluster-scoped object the namespace is ignored.
 */
function checkNamespace(call: Call, object: KubeObject): void {
  const { namespace } = object.metadata;
  if (!call.definition.namespaced || namespace === undefined || namespace === "") return;
  if (namespace === call.path.namespace) return;
  throw badRequest(
    "the namespace of the provided object does not match the namespace sent on the request",
  );
}

/** Metadata of a new object. */
export function withCreationMeta(call: Call, object: KubeObject): KubeObject {
  const { engine, definition, path } = call;
  checkNamespace(call, object);
  const given = object.metadata;
  if (given.resourceVersion !== undefined && given.resourceVersion !== "") {
    throw new ApiError(500, "", "resourceVersion should not be set on objects to be created");
  }
  const metadata: Partial<Mutable<ObjectMeta>> = { ...given };
  const base = given.generateName ?? "";
  if (!metadata.name && base !== "") {
    metadata.name = base.slice(0, MAX_GENERATED_BASE) + engine.random.suffix();
  }
  if (!metadata.name) {
    throw nameless(definition);
  }
  if (definition.namespaced) {
    metadata.namespace = path.namespace as string;
  } else delete metadata.namespace;
  metadata.uid = engine.random.uuid();
  metadata.creationTimestamp = toRfc3339(engine.clock.now());
  delete metadata.resourceVersion;
  delete metadata.deletionTimestamp;
  delete metadata.deletionGracePeriodSeconds;
  if (countsGenerations(definition)) metadata.generation = 1;
  else delete metadata.generation;
  return { ...object, metadata: metadata as ObjectMeta };
}

function nameless(definition: ResourceDefinition): ApiError {
  return invalid(definition, "", [required("metadata.name", "name or generateName is required")]);
}

/** Refuses an update that names another object, a version that is not current, or another identity. */
export function checkUpdate(call: Call, next: KubeObject, current: KubeObject): void {
  const { definition, path } = call;
  const name = path.name as string;
  const { metadata } = next;
  checkNamespace(call, next);
  if ((metadata.name ?? "") === "") {
    throw unnamed(name);
  }
  if (metadata.name !== undefined && metadata.name !== "" && metadata.name !== name) {
    throw badRequest(
      `the name of the object (${metadata.name}) does not match the name on the URL (${name})`,
    );
  }
  const { uid, resourceVersion } = metadata;
  if (uid !== undefined && uid !== "" && uid !== current.metadata.uid) {
    if (call.method === "PATCH") {
      // kube-apiserver checks the UID twice, so its answer has the error twice.
      const problem = invalidField("metadata.uid", uid, "field is immutable");
      throw invalid(definition, name, [problem, problem]);
    }
    throw conflict(
      definition,
      name,
      storageError(
        call,
        name,
        `Precondition failed: UID in precondition: ${uid}, UID in object meta: ${current.metadata.uid}`,
      ),
    );
  }
  if (resourceVersion === undefined || resourceVersion === "") {
    if (call.method === "PUT" && (isCustom(definition) || NEEDS_VERSION.has(definition.kind))) {
      // Unlike other errors, this one names the resource instead of the kind.
      throw invalid({ group: definition.group, kind: definition.plural }, name, [
        {
          field: "metadata.resourceVersion",
          reason: "FieldValueInvalid",
          message: "Invalid value: 0: must be specified for an update",
        },
      ]);
    }
  } else if (!/^\d+$/.test(resourceVersion)) {
    throw new ApiError(500, "", `strconv.ParseUint: parsing "${resourceVersion}": invalid syntax`);
  } else if (resourceVersion !== current.metadata.resourceVersion) {
    throw conflict(definition, name, STALE_WRITE);
  }
}

/** The error for a body without a name. `name`: the one in the URL. */
export function unnamed(name: string): ApiError {
  return badRequest(
    `the name of the object (${name} based on URL) was undeterminable: name must be provided`,
  );
}

/**
 * Folders in etcd of built-in kinds that are not named after their resource.
 * upstream: pkg/registry
 */
const FOLDERS: Readonly<Record<string, string>> = {
  customresourcedefinitions: "apiextensions.k8s.io/customresourcedefinitions",
  endpoints: "services/endpoints",
  ingresses: "ingress",
  nodes: "minions",
  replicationcontrollers: "controllers",
  services: "services/specs",
};

/** The error of the storage layer behind kube-apiserver. */
export function storageError(call: Call, name: string, detail: string): string {
  const { definition, path } = call;
  const { group, plural } = definition;
  const folder = isCustom(definition) ? `${group}/${plural}` : (FOLDERS[plural] ?? plural);
  const namespace = path.namespace === undefined ? "" : `${path.namespace}/`;
  const key = `/registry/${folder}/${namespace}${name}`;
  return `StorageError: invalid object, Code: 4, Key: ${key}, ResourceVersion: 0, AdditionalErrorMsg: ${detail}`;
}

/** Refuses another namespace and an object without a name. The server's fields keep their values from `before`. */
export function withAdmittedMeta(call: Call, admitted: KubeObject, before: KubeObject): KubeObject {
  checkNamespace(call, admitted);
  const { name = "" } = admitted.metadata;
  if (name === "") throw nameless(call.definition);
  return withServerMeta(admitted, before.metadata);
}

/** Like {@link withAdmittedMeta}, for an update: also refuses another name and another UID. */
export function withUpdatedMeta(call: Call, admitted: KubeObject, current: KubeObject): KubeObject {
  checkNamespace(call, admitted);
  for (const field of ["name", "uid"] as const) {
    const value = admitted.metadata[field] ?? "";
    if (value === current.metadata[field]) continue;
    const problem = invalidField(`metadata.${field}`, value, "field is immutable");
    // kube-apiserver checks name and UID twice, so its answer has the error twice.
    throw invalid(call.definition, admitted.metadata.name, [problem, problem]);
  }
  return withServerMeta(admitted, current.metadata);
}

const SERVER_FIELDS = [
  "namespace",
  "uid",
  "resourceVersion",
  "generation",
  "creationTimestamp",
  "deletionTimestamp",
  "deletionGracePeriodSeconds",
] as const;

function withServerMeta(object: KubeObject, now: ObjectMeta): KubeObject {
  if (SERVER_FIELDS.every((field) => object.metadata[field] === now[field])) return object;
  const metadata: Partial<Mutable<ObjectMeta>> = { ...object.metadata };
  keepServerFields(metadata, now);
  return { ...object, metadata: metadata as ObjectMeta };
}

function keepServerFields(metadata: Partial<Mutable<ObjectMeta>>, now: ObjectMeta): void {
  const fields: Record<string, unknown> = metadata;
  for (const field of SERVER_FIELDS) {
    const value = now[field];
    if (value !== undefined) fields[field] = value;
    else if (field in fields) delete fields[field];
  }
}

/** Metadata of an update: identity and the server's fields stay the current ones. */
export function withUpdateMeta(call: Call, next: KubeObject, current: KubeObject): KubeObject {
  const metadata: Partial<Mutable<ObjectMeta>> = { ...next.metadata };
  const now = current.metadata;
  metadata.name = now.name;
  keepServerFields(metadata, now);
  for (const field of ["finalizers", "ownerReferences", "labels", "annotations"] as const) {
    const value = metadata[field];
    if (value === null || (Array.isArray(value) && value.length === 0)) delete metadata[field];
    else if (value !== undefined && Object.keys(value).length === 0) delete metadata[field];
  }
  checkFinalizers(call, metadata.finalizers ?? [], current);
  return { ...next, metadata: metadata as ObjectMeta };
}

function checkFinalizers(call: Call, next: readonly string[], current: KubeObject): void {
  const { deletionTimestamp, finalizers = [] } = current.metadata;
  if (deletionTimestamp === undefined) return;
  const added = next.filter((finalizer) => !finalizers.includes(finalizer));
  if (added.length === 0) return;
  const list = added.map((finalizer) => JSON.stringify(finalizer)).join(", ");
  const refused: FieldError = {
    field: "metadata.finalizers",
    reason: "FieldValueForbidden",
    message: `Forbidden: no new finalizers can be added if the object is being deleted, found new finalizers []string{${list}}`,
  };
  // kube-apiserver checks metadata once alone and once with its kind, so its answer has the error twice.
  throw invalid(call.definition, current.metadata.name, [refused, refused]);
}

/**
 * Kinds whose annotations or labels count as part of the spec: a Deployment's annotations are copied to its
 * ReplicaSets, and an EndpointSlice's labels name its Service.
 */
const COUNTED_METADATA: Readonly<Record<string, "annotations" | "labels">> = {
  Deployment: "annotations",
  EndpointSlice: "labels",
};

/**
 * The object, with a raised generation if a part that counts as the spec changed. These are all fields but the status
 * and most metadata.
 */
export function withGeneration(
  definition: ResourceDefinition,
  next: KubeObject,
  current: KubeObject,
): KubeObject {
  if (!countsGenerations(definition)) return next;
  const also = fieldOf(COUNTED_METADATA, definition.kind);
  const isNoted = also !== undefined && !deepEqual(next.metadata[also], current.metadata[also]);
  if (!isNoted && deepEqual(desired(next), desired(current))) return next;
  return withBumpedGeneration(next);
}

/** The object with the next `metadata.generation`, as after a change of its spec. */
export function withBumpedGeneration(object: KubeObject): KubeObject {
  const { generation } = object.metadata;
  if (generation === undefined) return object;
  return { ...object, metadata: { ...object.metadata, generation: generation + 1 } };
}

function desired(object: KubeObject): unknown {
  const { metadata: _m, status: _s, ...rest } = object as KubeObject & { status?: unknown };
  return rest;
}

/** Whether at most managedFields and resourceVersion differ. */
export function isNoOp(next: KubeObject, current: KubeObject): boolean {
  return deepEqual(withoutVersion(next), withoutVersion(current));
}

function withoutVersion(object: KubeObject): unknown {
  const { managedFields: _f, resourceVersion: _r, ...metadata } = object.metadata;
  return { ...object, metadata };
}

/** Refuses a namespace that does not exist, or is being deleted. */
export function checkNamespaceOpen(call: Call, name: string): void {
  const { definition, engine, path } = call;
  if (!definition.namespaced) return;
  const namespace = path.namespace as string;
  const stored = engine.store.get("namespaces", undefined, namespace);
  if (stored === undefined) {
    const message = `namespaces "${namespace}" not found`;
    throw new ApiError(404, "NotFound", message, { name: namespace, kind: "namespaces" });
  }
  if (stored.metadata.deletionTimestamp === undefined) return;
  const why = `unable to create new content in namespace ${namespace} because it is being terminated`;
  const resource =
    definition.group === "" ? definition.plural : `${definition.plural}.${definition.group}`;
  throw new ApiError(403, "Forbidden", `${resource} "${name}" is forbidden: ${why}`, {
    name,
    ...(definition.group === "" ? {} : { group: definition.group }),
    kind: definition.plural,
    causes: [
      {
        reason: "NamespaceTerminating",
        message: `namespace ${namespace} is being terminated`,
        field: "metadata.namespace",
      },
    ],
  });
}
