/**
 * create and update: the steps of every write. The body is read strictly and gets its defaults; admission changes it;
 * it is validated; admission may refuse it; managedFields are updated; it is stored. If another write came first, an
 * update runs again from the newest state, unless the client named a version.
 */

import type { KubeObject } from "../../../apis/meta.ts";
import { clone, deepEqual, isObject, sharing } from "../../../base/json.ts";
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

/** How often an update is retried after lost races, as in kube-apiserver's guaranteed update. */
const MAX_ATTEMPTS = 5;

/** How an update computes the next state, and which parts of the object it may change. */
export interface Change {
  /** Computes the next state from the current one, in the request's version. Not validated yet; may throw ApiError. */
  readonly next: (current: KubeObject) => KubeObject;
  /** Computes managedFields for server-side apply. Absent: the default is used. */
  readonly managedFields?: (
    next: KubeObject,
    current: KubeObject | undefined,
  ) => readonly unknown[];
  /** The subresource; an update through it changes only that part. */
  readonly subresource?: string | undefined;
  /** The rules of the subresource, if it has rules that the kind has not. */
  readonly partial?: PartialUpdate;
  /** The part of the object that admission sees, if it does not see the whole object. */
  readonly shown?: Shown;
  /** Whether the server made the body. Then unknown fields are not reported. */
  readonly internal?: boolean;
}

/** A subresource that changes only one part of the object. */
export interface PartialUpdate {
  /** The next object with only those changes that the subresource allows. */
  readonly keep: (next: KubeObject, current: KubeObject) => KubeObject;
  /** The validation of the write, used instead of that of the kind. */
  readonly validate: (next: KubeObject, current: KubeObject) => readonly FieldError[];
}

/** Shows the object to admission as another kind, such as a Scale. */
interface Shown {
  readonly kind: GroupVersionKind;
  readonly of: (object: KubeObject) => KubeObject;
  /** Returns `object` with the changes that admission made to `face`. */
  readonly into: (object: KubeObject, face: KubeObject) => KubeObject;
}

/** Creates an object. Returns it in the request's version. */
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
  // There is no await between these checks and the write, so two creates at the same time cannot take the same quota or
  // port.
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

/** Built-in kinds whose objects an update creates if they do not exist. upstream: pkg/registry, AllowCreateOnUpdate */
const MADE_BY_UPDATE: ReadonlySet<string> = new Set([
  ..."/Endpoints /Event /LimitRange /Service coordination.k8s.io/Lease".split(" "),
  ..."node.k8s.io/RuntimeClass rbac.authorization.k8s.io/ClusterRole".split(" "),
  ..."ClusterRoleBinding Role RoleBinding"
    .split(" ")
    .map((kind) => `rbac.authorization.k8s.io/${kind}`),
]);

/** PUT: updates the object of the URL, or creates it if its kind allows that. */
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

/** An update or apply that creates the object needs the permission to create, too. */
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

/** Updates the object of the URL. Returns its new state in the request's version. */
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

/** A body with another name, or an empty one, is refused before the object is looked up. */
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

/** Whether the write changes who owns which field. The time of an entry does not count. */
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
  // The steps below compare the object with the current one again and again. What is shared compares by identity.
  const sent = sharing(objectOf(call, change.next(current)), current);
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
  if (change.partial !== undefined) next = change.partial.keep(next, current);
  const admission = (object: KubeObject) => admissionOf(object, current, change);
  const admitted = await mutate(call, admission(next));
  next =
    change.shown === undefined
      ? withUpdatedMeta(call, admitted, current)
      : change.shown.into(next, admitted);
  checkEscalation(call, next, current);
  refuseErrors(call, next, current, change.partial?.validate);
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

/** The object after an update. A status update changes only the status; another update changes all but the status. */
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

/**
 * The metadata that a status update may change, for built-in kinds: annotations, such as the revision of a Deployment,
 * and labels. The labels of a Deployment stay as they are.
 */
function shownWithStatus({ definition }: Call, next: KubeObject): Partial<KubeObject["metadata"]> {
  if (isCustom(definition)) return {};
  const { annotations, labels } = next.metadata;
  const isDeployment = definition.kind === "Deployment" && definition.group === "apps";
  return { annotations, ...(isDeployment ? {} : { labels }) } as Partial<KubeObject["metadata"]>;
}

/** Drops unknown fields and reports them as an error, a warning or not at all, as fieldValidation says. */
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

/** The error for a body that cannot be read as the kind: 400, or 422 if a patch results in such a body. */
function refusedBody(call: Call, object: KubeObject, problem: string): ApiError {
  const { kind, version } = call.definition;
  if (call.method === "PATCH") return refusedPatch(call, object, problem);
  return badRequest(`${kind} in version "${version}" cannot be handled as a ${kind}: ${problem}`);
}

function refuseErrors(
  call: Call,
  next: KubeObject,
  current: KubeObject | undefined,
  validate: PartialUpdate["validate"] | undefined = undefined,
): void {
  const { definition, engine } = call;
  const errors =
    validate === undefined || current === undefined
      ? [
          ...(definition.validateAmong?.(next, current, engine.store) ?? []),
          ...definition.validate(next, current),
        ]
      : validate(next, current);
  if (errors.length > 0) throw invalid(call.definition, next.metadata.name, errors);
}
