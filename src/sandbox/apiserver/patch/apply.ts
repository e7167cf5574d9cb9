/**
 * Server-side apply. The applier sends the fields that it wants.
 * - A field that another manager owns with another value is a conflict, unless the applier forces it.
 * - A field that the applier wanted last time, but not now, is removed if nobody else owns it.
 * upstream: structured-merge-diff merge/update.go, apiserver pkg/endpoints/handlers/patch.go
 */

import type { KubeObject } from "../../../apis/meta.ts";
import { toRfc3339 } from "../../../base/clock.ts";
import { clone, deepEqual, isObject } from "../../../base/json.ts";
import { type Call, groupVersionOf, isCustom } from "../engine.ts";
import { headOf } from "../objects/object-meta.ts";
import { create, type PartialUpdate, update } from "../objects/write.ts";
import { goKind } from "../request/go-json.ts";
import {
  ApiError,
  badRequest,
  conflict,
  invalid,
  notFound,
  type StatusCause,
} from "../request/status.ts";
import { tooLong } from "../schema/field-error.ts";
import {
  difference,
  EMPTY,
  type FieldSet,
  fromFieldsV1,
  intersection,
  isEmpty,
  members,
  pathText,
  union,
} from "./field-set.ts";
import { lastAppliedFields, withLastApplied } from "./last-applied.ts";
import {
  entriesOf,
  entryFor,
  isEntryOf,
  type ManagedEntry,
  type ManagerIdentity,
  ownable,
  sorted,
  withFields,
} from "./managed-fields.ts";
import { untypedApply } from "./refusal.ts";
import { compare, duplicateKey, fieldsOf, merge, without } from "./typed-value.ts";

const BEFORE_FIRST_APPLY = "before-first-apply";
const MAX_MANAGER_BYTES = 128;

/** Runs a server-side apply. Throws 409 with the conflicts. */
export async function apply(
  call: Call,
  subresource: string | undefined,
  partial?: PartialUpdate,
): Promise<{ readonly object: KubeObject; readonly created: boolean }> {
  const { definition, engine, path } = call;
  const config = configOf(call, subresource ?? "");
  const identity = identityOf(call, subresource ?? "");
  const owned = fieldsOf(ownable(config), definition.schema);
  const time = toRfc3339(engine.clock.now());
  checkManager(identity.manager);
  const stored = engine.store.get(definition.storageKey, path.namespace, path.name as string);
  if (stored === undefined) {
    if (subresource !== undefined) throw notFound(definition, path.name as string);
    const { uid, resourceVersion: _, ...metadata } = config.metadata;
    if (uid) {
      const why = `uid mismatch: the provided object specified uid ${uid}, and no existing object was found`;
      throw conflict(definition, path.name as string, why);
    }
    const named = { ...config, metadata: { ...metadata, name: path.name as string } };
    const object = await create(call, named, () => [entryFor(identity, owned, time)]);
    return { object, created: true };
  }
  let applied: Applied | undefined;
  const object = await update(call, {
    subresource,
    ...(partial === undefined ? {} : { partial }),
    next: (current) => {
      applied = applyTo(call, current, config, identity, owned);
      return applied.object;
    },
    managedFields: (_next, current) => {
      // An apply that changes no value does not change its manager's time.
      const before = entriesOf(current).find((entry) => isEntryOf(entry, identity));
      const mine = entryFor(identity, owned, applied?.isChange === true ? time : before?.time);
      // A manager that applies no field any more owns nothing, so its entry is removed.
      return sorted([...(applied?.others ?? []), ...(isEmpty(owned) ? [] : [mine])]);
    },
  });
  return { object, created: false };
}

interface Applied {
  readonly object: KubeObject;
  readonly others: readonly ManagedEntry[];
  readonly isChange: boolean;
}

function applyTo(
  call: Call,
  current: KubeObject,
  config: KubeObject,
  identity: ManagerIdentity,
  owned: FieldSet,
): Applied {
  const { schema } = call.definition;
  const live = ownable(current);
  const merged = merge(live, ownable(config), schema);
  const { changed } = compare(live, merged, schema, isCustom(call.definition));
  const entries = knownEntries(call, current).filter((entry) => !isEntryOf(entry, identity));
  const mine = lastAppliedFields(call, identity.manager, current);
  const clashes = entries
    .map((entry) => ({ entry, fields: intersection(fromFieldsV1(entry.fieldsV1), changed) }))
    .map(({ entry, fields }) => ({ entry, fields: difference(fields, mine) }))
    .filter(({ fields }) => !isEmpty(fields));
  if (clashes.length > 0 && call.query.get("force") !== "true") throw conflictOf(clashes);
  const others = entries.flatMap((entry) =>
    withFields(entry, difference(fromFieldsV1(entry.fieldsV1), changed)),
  );
  const last = entriesOf(current).find((entry) => isEntryOf(entry, identity));
  const wantedBefore = last === undefined ? EMPTY : fromFieldsV1(last.fieldsV1);
  const wantedElsewhere = others.reduce(
    (set, entry) => union(set, fromFieldsV1(entry.fieldsV1)),
    owned,
  );
  const gone = unwanted(wantedBefore, wantedElsewhere);
  const pruned = (without(merged, gone, schema) ?? {}) as Record<string, unknown>;
  const isChange = !deepEqual(pruned, live);
  const object = reassembled(current, config, pruned);
  return { object: withLastApplied(object, identity.manager, call.body), others, isChange };
}

/** All fields of an object without managedFields belong to the manager `before-first-apply`. */
function knownEntries(call: Call, current: KubeObject): readonly ManagedEntry[] {
  const entries = entriesOf(current);
  if (entries.length > 0) return entries;
  const { definition, engine } = call;
  const identity: ManagerIdentity = {
    manager: BEFORE_FIRST_APPLY,
    operation: "Update",
    apiVersion: groupVersionOf(definition),
    subresource: "",
  };
  const fields = compare({}, ownable(current), definition.schema, isCustom(definition)).changed;
  return [entryFor(identity, fields, toRfc3339(engine.clock.now()))];
}

function checkManager(manager: string): void {
  if (Buffer.byteLength(manager) <= MAX_MANAGER_BYTES) return;
  throw invalid({ group: "meta.k8s.io", kind: "PatchOptions" }, "", [
    tooLong("fieldManager", MAX_MANAGER_BYTES),
  ]);
}

/** Paths that were applied before and are not now. A path stays while something below it is applied. */
function unwanted(before: FieldSet, wanted: FieldSet): FieldSet {
  const children = new Map<string, FieldSet>();
  for (const [edge, child] of before.children) {
    const other = wanted.children.get(edge);
    const left = other === undefined ? child : unwanted(child, other);
    if (!isEmpty(left)) children.set(edge, left);
  }
  const isMember = before.isMember && isEmpty(wanted);
  return { isMember, children };
}

function reassembled(
  current: KubeObject,
  config: KubeObject,
  fields: Record<string, unknown>,
): KubeObject {
  const { metadata, ...rest } = fields;
  const {
    labels: _l,
    annotations: _a,
    finalizers: _f,
    ownerReferences: _o,
    ...fixed
  } = current.metadata;
  const { resourceVersion, uid } = config.metadata;
  return {
    apiVersion: current.apiVersion,
    kind: current.kind,
    metadata: {
      ...fixed,
      ...(isObject(metadata) ? metadata : {}),
      ...(resourceVersion === undefined ? {} : { resourceVersion }),
      ...(uid === undefined ? {} : { uid }),
    },
    ...rest,
  } as KubeObject;
}

/** Group, version and kind of an object as Go prints them: `/v1, Kind=Pod`. */
function kindText(apiVersion: string, kind: string): string {
  const groupVersion =
    apiVersion === "" || apiVersion.includes("/") ? apiVersion : `/${apiVersion}`;
  return `${groupVersion === "" ? "/" : groupVersion}, Kind=${kind}`;
}

function configOf(call: Call, subresource: string): KubeObject {
  const { definition } = call;
  const sent = clone(call.body) as KubeObject;
  if (!isObject(sent)) {
    const problem = `json: cannot unmarshal ${goKind(sent)} into Go value of type map[string]interface {}`;
    throw badRequest(
      `error decoding YAML: error unmarshaling JSON: while decoding JSON: ${problem}`,
    );
  }
  if (!isObject(sent["metadata"] ?? {}))
    throw badRequest(
      "the applied configuration must be an object with apiVersion, kind and metadata",
    );
  const { apiVersion = "", kind = "" } = headOf(sent);
  // The name is in the URL, so the body may leave metadata out.
  const object: KubeObject = { ...sent, metadata: sent.metadata ?? {} };
  if (apiVersion !== groupVersionOf(definition) || kind !== definition.kind)
    throw badRequest(`invalid object type: ${kindText(apiVersion, kind)}`);
  const { managedFields, name, namespace = call.path.namespace } = object.metadata;
  if (managedFields !== undefined && managedFields !== null && managedFields.length > 0) {
    throw badRequest("metadata.managedFields must be nil");
  }
  if (name !== undefined && name !== call.path.name) {
    throw badRequest(
      `the name of the object (${name}) does not match the name on the URL (${call.path.name})`,
    );
  }
  if (definition.namespaced && namespace !== call.path.namespace)
    throw badRequest(
      "the namespace of the provided object does not match the namespace sent on the request",
    );
  const { value: read, unknown, malformed } = call.definition.prune(object);
  const twice = duplicateKey(object, definition.schema);
  if (unknown.length > 0 || malformed !== undefined || twice !== undefined) {
    throw untypedApply(
      call,
      kindText(apiVersion, kind),
      object,
      unknown,
      malformed ?? (twice === undefined ? undefined : `${twice}`),
    );
  }
  // The applier owns even empty values. For built-in kinds decoding would drop them, so the sent object is
  // used.
  const said = isCustom(definition) ? read : object;
  if (!definition.hasStatus) return said;
  const { status, ...base } = said as KubeObject & { status?: unknown };
  if (subresource !== "status") return base;
  const { metadata } = base;
  const part = { apiVersion, kind, metadata: { name: metadata.name } };
  return { ...part, ...(status === undefined ? {} : { status }) } as KubeObject;
}

function identityOf(call: Call, subresource: string): ManagerIdentity {
  const manager = call.query.get("fieldManager") ?? "";
  if (manager === "") {
    throw invalid({ group: "meta.k8s.io", kind: "PatchOptions" }, "", [
      {
        field: "fieldManager",
        reason: "FieldValueRequired",
        message: "Required value: is required for apply patch",
      },
    ]);
  }
  return {
    manager,
    operation: "Apply",
    apiVersion: groupVersionOf(call.definition),
    subresource,
  };
}

function conflictOf(
  clashes: readonly { readonly entry: ManagedEntry; readonly fields: FieldSet }[],
): ApiError {
  const causes: StatusCause[] = [];
  const blocks: string[] = [];
  for (const { entry, fields } of clashes) {
    const who = managerText(entry);
    const paths = [...members(fields)].map(pathText);
    for (const field of paths) {
      causes.push({ reason: "FieldManagerConflict", message: `conflict with ${who}`, field });
    }
    blocks.push(`conflicts with ${who}:\n${paths.map((path) => `- ${path}`).join("\n")}`);
  }
  const [first] = causes;
  const text =
    causes.length === 1
      ? `Apply failed with 1 conflict: ${first?.message}: ${first?.field}`
      : `Apply failed with ${causes.length} conflicts: ${blocks.join("\n")}`;
  return new ApiError(409, "Conflict", text, { causes });
}

/** The name of a manager in a conflict. Only for managers of updates it includes the apiVersion. */
function managerText({ manager, operation, apiVersion, subresource }: ManagedEntry): string {
  const part = subresource === undefined ? "" : ` with subresource "${subresource}"`;
  return `"${manager}"${part}${operation === "Update" ? ` using ${apiVersion}` : ""}`;
}
