/**
 * create and update: the road every write takes. Read the body strictly, fill defaults, let
 * admission change it, validate, let admission refuse it, note who owns which field, store. An
 * update that lost a race runs again from the newest state unless the client named a version.
 */

import type { KubeObject } from "../../../apis/meta.ts";
import { clone, deepEqual, isObject } from "../../../base/json.ts";
import { refused } from "../access/attributes.ts";
import { checkEscalation } from "../access/escalation.ts";
import { authorize } from "../access/rbac.ts";
import { mutate, review } from "../admission/admission.ts";
import type { Admission, GroupVersionKind } from "../admission/admission-request.ts";
import { type Call, isCustom, isDryRun } from "../engine.ts";
import { ownedAfterWrite } from "../patch/managed-fields.ts";
import { refusedPatch } from "../patch/refusal.ts";
import { admitToQuotas } from "../quota/admission.ts";
import {
  type ApiError,
  alreadyExists,
  badRequest,
  conflict,
  invalid,
  notFound,
  STALE_WRITE,
} from "../request/status.ts";
import { notSupported } from "../schema/field-error.ts";
import type { FieldError } from "../schema/schema.ts";
import { storeUpdate, withManagedFields } from "../store/store-update.ts";
import { fromStorage, toStorage } from "../versions/conversion.ts";
import {
  checkNamespaceOpen,
  checkUpdate,
  isNoOp,
  objectOf,
  storageError,
  unnamed,
  withAdmittedMeta,
  withCreationMeta,
  withGeneration,
  withUpdatedMeta,
  withUpdateMeta,
} from "./object-meta.ts";
import { checkNodePorts } from "./service-ports.ts";

/** As kube-apiserver's guaranteed update: races are retried this often before giving up. */
const MAX_ATTEMPTS = 5;

/** How an update makes the next state, and which parts of it count. */
export interface Change {
  /** From the current state at the request's version. Not validated yet; may throw ApiError. */
  readonly next: (current: KubeObject) => KubeObject;
  /** Computes managedFields instead of the default; used by server-side apply. */
  readonly managedFields?: (
    next: KubeObject,
    current: KubeObject | undefined,
  ) => readonly unknown[];
  /** The subresource; an update through it changes only that part. */
  readonly subresource?: string | undefined;
  /** For subresources with their own rules. */
  readonly door?: Door;
  /** Where admission is shown something else than the whole object. */
  readonly shown?: Shown;
  /** Strict and warn do not apply to bodies that are made by the server. */
  readonly internal?: boolean;
}

/** An address beside the object's own, by which one part of it changes. */
export interface Door {
  /** What goes through. */
  readonly keep: (next: KubeObject, current: KubeObject) => KubeObject;
  /** Instead of the rules of the kind. */
  readonly validate: (next: KubeObject, current: KubeObject) => readonly FieldError[];
}

/** The object as another kind, such as a Scale. */
interface Shown {
  readonly kind: GroupVersionKind;
  readonly of: (object: KubeObject) => KubeObject;
  /** The object with what admission made of its face. */
  readonly into: (object: KubeObject, face: KubeObject) => KubeObject;
}

/** Creates an object; returns it at the request's version. */
export async function create(
  call: Call,
  body: unknown,
  managedFields?: Change["managedFields"],
): Promise<KubeObject> {
  const { engine, definition } = call;
  checkDryRun(call, "CreateOptions");
  const sent = readStrictly(call, objectOf(call, clone(body)));
  let object = definition.applyDefaults(withCreationMeta(call, sent));
  checkNamespaceOpen(call, object.metadata.name);
  // Fields that admission or the server add have no owner.
  const owned = managedFields?.(object, undefined) ?? ownedAfterWrite(call, object, undefined, "");
  const admitted = await mutate(call, { operation: "CREATE", object, old: undefined });
  object = withAdmittedMeta(call, admitted, object);
  checkEscalation(call, object);
  object = definition.prepareCreate(object);
  refuseErrors(call, object, undefined);
  checkMayCreate(call);
  await review(call, { operation: "CREATE", object, old: undefined });
  object = withManagedFields(object, owned);
  const stored = await toStorage(engine, definition, object);
  // No turn of the loop between these looks and the write: two racing creates share neither a quota's last place nor a port.
  const admission = { operation: "CREATE", object, old: undefined } as const;
  const charge = admitToQuotas(call, admission);
  checkNodePorts(call, admission);
  const { name, namespace } = object.metadata;
  const found = engine.store.get(definition.storageKey, namespace, name);
  if (found !== undefined) {
    throw alreadyExists(definition, name, found.metadata.deletionTimestamp !== undefined);
  }
  if (isDryRun(call)) return object;
  charge();
  return fromStorage(engine, definition, engine.store.put(definition.storageKey, stored));
}

/** Built-in kinds that an update makes where there is no object yet. upstream: pkg/registry, AllowCreateOnUpdate */
const MADE_BY_UPDATE: ReadonlySet<string> = new Set([
  ..."/Endpoints /Event /LimitRange /Service coordination.k8s.io/Lease".split(" "),
  ..."node.k8s.io/RuntimeClass rbac.authorization.k8s.io/ClusterRole".split(" "),
  ..."ClusterRoleBinding Role RoleBinding"
    .split(" ")
    .map((kind) => `rbac.authorization.k8s.io/${kind}`),
]);

/** PUT: updates the object of the URL, or makes it where its kind allows that. */
export async function replace(
  call: Call,
): Promise<{ readonly object: KubeObject; readonly created: boolean }> {
  const { definition, engine, path } = call;
  const name = path.name as string;
  const isThere = engine.store.get(definition.storageKey, path.namespace, name) !== undefined;
  if (isThere || !MADE_BY_UPDATE.has(`${definition.group}/${definition.kind}`)) {
    const object = await update(call, { next: () => clone(call.body) as KubeObject });
    return { object, created: false };
  }
  checkDryRun(call, "UpdateOptions");
  checkNamed(call);
  const sent = objectOf(call, clone(call.body));
  const { resourceVersion: _, uid = "", ...metadata } = sent.metadata;
  if (uid !== "") {
    const detail = `Precondition failed: UID in precondition: ${uid}, UID in object meta: `;
    throw conflict(definition, name, storageError(call, name, detail));
  }
  if ((metadata.name ?? "") === "") throw unnamed(name);
  return { object: await create(call, { ...sent, metadata }), created: true };
}

/** An update or apply that creates the object needs the right to create, too. */
function checkMayCreate({ definition, engine, method, path, user }: Call): void {
  if (method === "POST") return;
  const attributes = {
    verb: "create",
    group: definition.group,
    resource: definition.plural,
    subresource: "",
    namespace: path.namespace ?? "",
    name: path.name ?? "",
  };
  const { allowed, reason } = authorize(engine.store, user, attributes);
  if (!allowed) throw refused(user.name, attributes, reason);
}

/** Updates the object of the URL; returns its new state at the request's version. */
export async function update(call: Call, change: Change): Promise<KubeObject> {
  const { engine, definition, path } = call;
  const name = path.name as string;
  checkDryRun(call, call.method === "PATCH" ? "PatchOptions" : "UpdateOptions");
  if (call.method === "PUT") checkNamed(call);
  for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt++) {
    const before = engine.store.get(definition.storageKey, path.namespace, name);
    if (before === undefined) throw notFound(definition, name);
    const current = await fromStorage(engine, definition, before);
    const next = await nextState(call, change, current);
    if (isNoOp(next, current) && !changesOwnership(next, current)) return current;
    const stored = await toStorage(engine, definition, next);
    if (engine.store.get(definition.storageKey, path.namespace, name) !== before) continue;
    const { subresource = "" } = change;
    const admission = { operation: "UPDATE", object: next, old: current, subresource } as const;
    const charge = admitToQuotas(call, admission);
    checkNodePorts(call, admission);
    if (isDryRun(call)) return next;
    charge();
    return fromStorage(engine, definition, storeUpdate(call, stored));
  }
  throw conflict(definition, name, STALE_WRITE);
}

/** A body with another name, or none, is refused before the object is looked up. */
function checkNamed(call: Call): void {
  const name = call.path.name as string;
  const { metadata } = (call.body ?? {}) as Partial<KubeObject>;
  if (!isObject(metadata) || metadata["name"] === undefined || metadata["name"] === name) return;
  throw badRequest(
    `the name of the object (${metadata["name"]}) does not match the name on the URL (${name})`,
  );
}

function checkDryRun(call: Call, kind: string): void {
  const asked = call.query.getAll("dryRun").filter((value) => value !== "");
  if (asked.every((value) => value === "All")) return;
  throw invalid({ group: "meta.k8s.io", kind }, "", [notSupported("dryRun", asked, ["All"])]);
}

/** An apply that only takes a share in fields, or a client that rewrites who owns what; when is no matter. */
function changesOwnership(next: KubeObject, current: KubeObject): boolean {
  return !deepEqual(timeless(next), timeless(current));
}

function timeless({ metadata }: KubeObject): readonly unknown[] {
  return (metadata.managedFields ?? []).map((entry) => {
    const { time: _, ...rest } = entry as { readonly time?: string };
    return rest;
  });
}

async function nextState(call: Call, change: Change, current: KubeObject): Promise<KubeObject> {
  const { definition } = call;
  const subresource = change.subresource ?? "";
  const sent = objectOf(call, change.next(current));
  checkUpdate(call, sent, current);
  const read = change.internal === true ? sent : readStrictly(call, sent);
  let next = definition.applyDefaults(
    withUpdateMeta(call, partOf(call, read, current, subresource), current),
  );
  // Fields that the server itself changes have no owner.
  const managed =
    change.managedFields?.(next, current) ?? ownedAfterWrite(call, next, current, subresource);
  if (subresource === "") next = definition.prepareUpdate(next, current);
  if (subresource === "status") next = definition.prepareStatus?.(next, current) ?? next;
  if (change.door !== undefined) next = change.door.keep(next, current);
  const admission = (object: KubeObject) => admissionOf(object, current, change);
  const admitted = await mutate(call, admission(next));
  next =
    change.shown === undefined
      ? withUpdatedMeta(call, admitted, current)
      : change.shown.into(next, admitted);
  checkEscalation(call, next, current);
  refuseErrors(call, next, current, change.door?.validate);
  await review(call, admission(next));
  next = subresource === "status" ? next : withGeneration(definition, next, current);
  return withManagedFields(next, managed);
}

function admissionOf(
  next: KubeObject,
  current: KubeObject,
  { shown, subresource = "" }: Change,
): Admission<KubeObject> {
  if (shown === undefined) return { operation: "UPDATE", object: next, old: current, subresource };
  const { kind, of } = shown;
  return { operation: "UPDATE", object: of(next), old: of(current), subresource, kind };
}

/** Each URL writes its own part: the object without status, or the status alone. */
function partOf(
  call: Call,
  next: KubeObject,
  current: KubeObject,
  subresource: string,
): KubeObject {
  if (!call.definition.hasStatus) return next;
  const { status } = (subresource === "status" ? next : current) as { status?: unknown };
  const { status: _replaced, ...base } = (
    subresource === "status" ? current : next
  ) as KubeObject & {
    status?: unknown;
  };
  const { resourceVersion } = next.metadata;
  const metadata = {
    ...base.metadata,
    ...(subresource === "status" ? shownWithStatus(call, next) : {}),
    ...(resourceVersion === undefined ? {} : { resourceVersion }),
  };
  return { ...base, metadata, ...(status === undefined ? {} : { status }) } as KubeObject;
}

/** Built-in kinds take labels and annotations with a status; a Deployment's revision comes that way. */
function shownWithStatus({ definition }: Call, next: KubeObject): Partial<KubeObject["metadata"]> {
  if (isCustom(definition)) return {};
  const { annotations, labels } = next.metadata;
  const isDeployment = definition.kind === "Deployment" && definition.group === "apps";
  return { annotations, ...(isDeployment ? {} : { labels }) } as Partial<KubeObject["metadata"]>;
}

/** Drops unknown fields, and says so as fieldValidation asks: error, warning or nothing. */
function readStrictly(call: Call, object: KubeObject): KubeObject {
  const { definition, query } = call;
  const mode = query.get("fieldValidation") || "Warn";
  if (!["Strict", "Warn", "Ignore"].includes(mode)) {
    throw invalid(
      { group: "meta.k8s.io", kind: `${call.method === "POST" ? "Create" : "Update"}Options` },
      "",
      [
        {
          field: "fieldValidation",
          reason: "FieldValueNotSupported",
          message: `Unsupported value: "${mode}": supported values: "", "Ignore", "Strict", "Warn"`,
        },
      ],
    );
  }
  const { value, unknown, malformed } = definition.prune(object);
  if (malformed !== undefined) throw refusedBody(call, object, malformed);
  if (unknown.length === 0 || mode === "Ignore") return value;
  const complaints = unknown.map((path) => `unknown field "${path}"`);
  if (mode === "Warn") {
    call.warnings.push(...complaints);
    return value;
  }
  throw refusedBody(call, object, `strict decoding error: ${complaints.join(", ")}`);
}

/** A body that cannot be read is a bad request; a patch that makes such a body is invalid. */
function refusedBody(call: Call, object: KubeObject, problem: string): ApiError {
  const { kind, version } = call.definition;
  if (call.method === "PATCH") return refusedPatch(call, object, problem);
  return badRequest(`${kind} in version "${version}" cannot be handled as a ${kind}: ${problem}`);
}

function refuseErrors(
  call: Call,
  next: KubeObject,
  current: KubeObject | undefined,
  validate: Door["validate"] | undefined = undefined,
): void {
  const errors =
    validate === undefined || current === undefined
      ? call.definition.validate(next, current)
      : validate(next, current);
  if (errors.length > 0) throw invalid(call.definition, next.metadata.name, errors);
}
