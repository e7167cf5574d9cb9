/**
 * get and list. Every page of a list shows the cluster at the version of its first page. The continue token carries
 * this version.
 */
import type { KubeObject } from "../../../apis/meta.ts";
import { isObject } from "../../../base/json.ts";
import type { Call } from "../engine.ts";
import { goJson } from "../request/go-json.ts";
import { type ListMetadata, showList, showObject, type View } from "../request/representation.ts";
import { selectionOf, selectsAll } from "../request/selectors.ts";
import {
  ApiError,
  badRequest,
  expired,
  expiredPage,
  invalid,
  notFound,
} from "../request/status.ts";
import type { ResourceDefinition } from "../resource-definition.ts";
import { forbidden, notSupported } from "../schema/field-error.ts";
import type { FieldError } from "../schema/schema.ts";
import { storeKey } from "../store/store.ts";
import { fromStorage, listFromStorage } from "../versions/conversion.ts";
import { int64Of } from "./query-integer.ts";

/** The object of the URL, in the request's version. Throws 404 if it does not exist. */
export async function getObject(call: Call): Promise<KubeObject> {
  const { engine, definition, path } = call;
  const name = path.name ?? "";
  const { computed } = definition;
  if (computed !== undefined) {
    const found = computed(engine, path.namespace).find(({ metadata }) => metadata.name === name);
    if (found !== undefined) return found;
    // For computed objects, such as PodMetrics, the error names the kind, as metrics-server does:
    // `podmetrics.metrics.k8s.io "a/b" not found`.
    throw notFound(
      { ...definition, plural: definition.kind.toLowerCase() },
      path.namespace === undefined ? name : `${path.namespace}/${name}`,
    );
  }
  const stored = engine.store.get(definition.storageKey, path.namespace, name);
  const watched = isWatched(definition);
  if (stored === undefined)
    throw notFound(watched ? definition : { ...definition, plural: definition.singular }, name);
  const object = await fromStorage(engine, definition, stored);
  return watched ? object : unversioned(object);
}

/**
 * Whether the kind can be watched. ComponentStatus cannot: kube-apiserver builds it from live checks, so it
 * has no resourceVersion.
 */
function isWatched({ verbs }: ResourceDefinition): boolean {
  return verbs.includes("watch");
}

function unversioned(object: KubeObject): KubeObject {
  const { resourceVersion: _, ...metadata } = object.metadata;
  return { ...object, metadata };
}

/** One object in the form that the client asked for. */
export async function get(call: Call, view: View): Promise<unknown> {
  checkNotTooNew(call, "get");
  return showObject(call.engine, call.definition, view, await getObject(call));
}

/** The content of a continue token, as base64url of JSON. */
interface Continuation {
  readonly rv: number;
  /** The last key of the previous page: the next page begins after it. */
  readonly after: string;
}

/**
 * The version in a continue token that replaces an expired one. Such a list continues with current objects.
 */
const AS_IT_IS_NOW = -1;

/** Objects that match the selectors, with pages. upstream: apiserver/pkg/storage. */
export async function list(call: Call, view: View): Promise<unknown> {
  const { engine, definition, query } = call;
  const matches = selectionOf(definition, query);
  const limit = wholeNumber(query, "limit");
  wholeNumber(query, "timeoutSeconds");
  const token = query.get("continue") ?? "";
  const from = token === "" ? undefined : readContinuation(token, query);
  const { objects, revision } = snapshot(call, from);
  const selected: KubeObject[] = [];
  let next: string | undefined;
  let remaining = 0;
  for (const object of objects) {
    const key = storeKey(object.metadata.namespace, object.metadata.name);
    if (from !== undefined && key <= from.after) continue;
    if (limit > 0 && selected.length >= limit) {
      remaining++;
      continue;
    }
    if (!matches(object)) continue;
    selected.push(object);
    next = key;
  }
  const metadata: ListMetadata = {
    resourceVersion: String(revision),
    ...(remaining === 0 || next === undefined
      ? {}
      : { continue: writeContinuation({ rv: revision, after: next }) }),
    ...(remaining === 0 || !selectsAll(query) ? {} : { remainingItemCount: remaining }),
  };
  const read = await listFromStorage(engine, definition, selected);
  const shown = isWatched(definition) ? read : read.map(unversioned);
  return showList(engine, definition, view, shown, metadata);
}

function snapshot(
  call: Call,
  from: Continuation | undefined,
): { objects: readonly KubeObject[]; revision: number } {
  const { engine, definition, path, query } = call;
  const { store } = engine;
  checkNotTooNew(call);
  const version = query.get("resourceVersion") ?? "";
  const match = query.get("resourceVersionMatch") ?? "";
  checkMatch(match, version, query, from !== undefined);
  if (definition.computed !== undefined)
    return { objects: definition.computed(engine, path.namespace), revision: store.revision };
  if (from === undefined && match !== "Exact")
    return store.list(definition.storageKey, path.namespace);
  if (from?.rv === AS_IT_IS_NOW) return store.list(definition.storageKey, path.namespace);
  const revision = from?.rv ?? Number(version);
  const listing = store.listAt(definition.storageKey, path.namespace, revision);
  if (listing !== undefined) return listing;
  if (from === undefined) throw expired("The resourceVersion for the provided list is too old.");
  throw expiredPage(writeContinuation({ ...from, rv: AS_IT_IS_NOW }));
}

/** A number in the query. 0 if it is absent or negative. Throws 400 if it is no int64. */
export function wholeNumber(query: URLSearchParams, name: string): number {
  const text = query.get(name) ?? "";
  if (text === "") return 0;
  return Math.max(0, int64Of(text));
}

/** Throws if resourceVersion is not a number. */
export function checkVersion(call: Call, verb: "get" | "list" | "watch"): void {
  const version = call.query.get("resourceVersion") ?? "";
  if (version === "" || /^\d+$/.test(version)) return;
  const text = `resourceVersion: Invalid value: "${version}": strconv.ParseUint: parsing "${version}": invalid syntax`;
  if (verb === "list") throw badRequest(`invalid resource version: ${text}`);
  throw new ApiError(500, "", text);
}

/**
 * Refuses a version that the store has not reached. Only this server creates versions, so waiting would not
 * help.
 */
function checkNotTooNew(call: Call, verb: "get" | "list" = "list"): void {
  checkVersion(call, verb);
  const version = call.query.get("resourceVersion") ?? "";
  if (version === "") return;
  const current = call.engine.store.revision;
  if (Number(version) <= current) return;
  throw new ApiError(
    504,
    "Timeout",
    `Timeout: Too large resource version: ${version}, current: ${current}`,
    {
      causes: [{ reason: "ResourceVersionTooLarge", message: "Too large resource version" }],
      retryAfterSeconds: 1,
    },
  );
}

/** Checks resourceVersionMatch. upstream: apimachinery pkg/apis/meta/internalversion/validation */
function checkMatch(
  match: string,
  version: string,
  query: URLSearchParams,
  continues: boolean,
): void {
  const errors: FieldError[] = [];
  const field = "resourceVersionMatch";
  if (match !== "") {
    if (version === "")
      errors.push(forbidden(field, `${field} is forbidden unless resourceVersion is provided`));
    if (continues) errors.push(forbidden(field, `${field} is forbidden when continue is provided`));
    if (match === "Exact" && version === "0") {
      const text = `${field} "exact" is forbidden for resourceVersion "0"`;
      errors.push(forbidden(field, text));
    }
    if (match !== "Exact" && match !== "NotOlderThan")
      errors.push(notSupported(field, match, ["Exact", "NotOlderThan", ""]));
  }
  if (query.has("sendInitialEvents"))
    errors.push(forbidden("sendInitialEvents", "sendInitialEvents is forbidden for list"));
  if (errors.length > 0) throw invalid({ group: "meta.k8s.io", kind: "ListOptions" }, "", errors);
}

function writeContinuation(value: Continuation): string {
  return Buffer.from(JSON.stringify(value)).toString("base64url");
}

function readContinuation(token: string, query: URLSearchParams): Continuation {
  const version = query.get("resourceVersion") ?? "";
  if (version !== "" && version !== "0") {
    throw badRequest("specifying resource version is not allowed when using continue");
  }
  const read = goJson(Buffer.from(token, "base64url"));
  if ("problem" in read)
    throw badRequest(`invalid continue token: continue key is not valid: ${read.problem}`);
  const { value } = read;
  if (isObject(value) && typeof value["rv"] === "number" && typeof value["after"] === "string")
    return { rv: value["rv"], after: value["after"] };
  throw badRequest("continue key is not valid: the token was not made by this server");
}
