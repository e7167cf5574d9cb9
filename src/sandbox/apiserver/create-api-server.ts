/**
 * The embedded API server as one function from request to answer. It finds the resource and the verb, calls the file of
 * the verb, and turns every error into a Status. It has no code for single kinds, which come from the registry.
 */

import type { KubeObject } from "../../apis/meta.ts";
import type { Clock } from "../../base/clock.ts";
import { errorText } from "../../base/error-text.ts";
import { clone } from "../../base/json.ts";
import type { Logger } from "../../base/log.ts";
import { SILENT } from "../../base/log.ts";
import type { Random } from "../../base/random.ts";
import type { KubeRequest, KubeResponse, Transport } from "../../kube/transport/transport.ts";
import type { LogSource } from "../log-lines.ts";
import { attributesOf, refused } from "./access/attributes.ts";
import { impersonated, readToken } from "./access/identity.ts";
import { authorize, isMaster } from "./access/rbac.ts";
import { TokenSigner } from "./access/tokens.ts";
import type { ApiAnswer, ApiServer, IncomingRequest, User } from "./api-server.ts";
import { bootstrap } from "./bootstrap.ts";
import { type CrdSink, serveCustomResources } from "./custom-resources.ts";
import { discoveryResponse } from "./discovery/discovery.ts";
import { type Call, type Engine, isCustom } from "./engine.ts";
import { healthResponse, pathsResponse } from "./health.ts";
import { deleteCollection, deleteObject, deleteOptionsOf } from "./objects/delete.ts";
import { collectGarbage } from "./objects/garbage-collection.ts";
import { createNodeLeases } from "./objects/lease-renewals.ts";
import { endContainers } from "./objects/namespace-lifecycle.ts";
import { get, getObject, list } from "./objects/read.ts";
import { watch } from "./objects/watch-stream.ts";
import { create, type PartialUpdate, replace, update } from "./objects/write.ts";
import { openapiResponse } from "./openapi/openapi.ts";
import { patchObject } from "./patch/patch.ts";
import { PROTOBUF } from "./protobuf/fields.ts";
import { countQuotas } from "./quota/counting.ts";
import { JSON_TYPE, refusalType, YAML_TYPE } from "./request/negotiation.ts";
import { showObject, viewOf } from "./request/representation.ts";
import { parseTarget, type ResourcePath, type RoutedRequest } from "./request/routing.ts";
import { asBoolean } from "./request/selectors.ts";
import {
  ApiError,
  failure,
  methodNotAllowed,
  notFound,
  PlainError,
  unsupportedMediaType,
} from "./request/status.ts";
import { RequestTurns } from "./request-turns.ts";
import type { Registry, ResourceDefinition, WebhookCaller } from "./resource-definition.ts";
import { expireEvents } from "./store/event-expiry.ts";
import { Store } from "./store/store.ts";
import { boundPod, isBindings } from "./subresources/binding.ts";
import { POD_PARTIAL_UPDATES } from "./subresources/pod-partial-updates.ts";
import { answerReview } from "./subresources/reviews.ts";
import { answerSubresource } from "./subresources/subresources.ts";
import { versionInfo } from "./version-info.ts";

/** Answers a request that is not about a resource, such as discovery. Undefined: another route must answer it. */
export type ExtraRoute = (
  path: string,
  headers: Readonly<Record<string, string>>,
) => { status: number; headers: Readonly<Record<string, string>>; body: unknown } | undefined;

/** The settings and parts of an API server. */
export interface ApiServerOptions {
  readonly clock: Clock;
  readonly random: Random;
  /**
   * A registry with `setCrds` (made by `registry/create-registry.ts`) also serves the kinds of the CRDs in the
   * store.
   */
  readonly registry: Registry & Partial<CrdSink>;
  readonly webhooks: WebhookCaller;
  /** The version that the server reports, such as `v1.34.4`. */
  readonly kubernetesVersion: string;
  /** Handlers for paths that are not resources, tried in order. */
  readonly extraRoutes?: readonly ExtraRoute[];
  /** A store of the caller, for tests and for tools that read it. */
  readonly store?: Store;
  readonly log?: Logger;
}

const MINUTE_MS = 60_000;
/** The limit of kube-apiserver for all warnings of an answer together. */
const MAX_WARNINGS_LENGTH = 4_096;
/**
 * An API server with the kinds of the registry and the objects of a new cluster. It starts no timer and opens
 * no port.
 */
export function createApiServer(options: ApiServerOptions): ApiServer {
  const { clock, random, registry, webhooks } = options;
  const log = options.log ?? SILENT;
  const minutes = minuteTicker(clock);
  const engine: Engine = {
    clock,
    random: random.fork("apiserver"),
    store: options.store ?? new Store(),
    registry,
    webhooks,
    logs: { source: undefined },
    pods: { http: undefined, connect: undefined },
    everyMinute: minutes.everyMinute,
    tokens: new TokenSigner(),
    open: new Set(),
  };
  const stops = [
    collectGarbage(engine, log),
    endContainers(engine, log),
    expireEvents(engine),
    countQuotas(engine),
    bootstrap(engine),
  ];
  const { setCrds } = registry;
  if (setCrds !== undefined) stops.push(serveCustomResources(engine, { setCrds }));
  const turns = new RequestTurns(clock);
  const handle = (request: IncomingRequest, user: User): Promise<ApiAnswer> =>
    answer(engine, options, log, request, user);
  return {
    nodeLeases: createNodeLeases(engine),
    handle,
    authenticate: (token) => readToken(engine, token).user,
    transport: (user: User): Transport => ({
      send: (request) => turns.take(() => handle(request, user)),
      close: () => undefined,
    }),
    setLogSource: (source: LogSource) => {
      engine.logs.source = source;
    },
    setPodHttp: (http) => {
      engine.pods.http = http;
    },
    setPodConnect: (connect) => {
      engine.pods.connect = connect;
    },
    close: () => {
      for (const stop of stops) stop();
      for (const stream of [...engine.open]) stream.close();
      minutes.close();
    },
  };
}

const PLAIN_TEXT = { "content-type": "text/plain; charset=utf-8" };

async function answer(
  engine: Engine,
  options: ApiServerOptions,
  log: Logger,
  incoming: IncomingRequest,
  sender: User,
): Promise<KubeResponse> {
  const warnings: string[] = [];
  let request: KubeRequest = incoming;
  try {
    const target = parseTarget(request.path);
    const user = impersonated(engine.store, sender, request.headers ?? {}, request.path);
    checkAccess(engine, user, target, request.method);
    if (incoming.readBody !== undefined) request = { ...incoming, body: await incoming.readBody() };
    const resource = isBindings(target.resource)
      ? boundPod(target.resource, request)
      : target.resource;
    const definition = resource === undefined ? undefined : findDefinition(engine, resource);
    if (resource === undefined || definition === undefined) {
      const review = target.resource && answerReview(engine, target.resource, request, user);
      if (review !== undefined) return review;
      return answerElsewhere(options, target, request);
    }
    warnings.push(...warningsOf(definition, target, request.method));
    const call: Call = {
      engine,
      definition,
      user,
      method: request.method,
      path: resource,
      query: target.query,
      headers: request.headers ?? {},
      body: request.body,
      warnings,
    };
    return withWarnings(await answerResource(call), warnings);
  } catch (error) {
    if (error instanceof PlainError)
      return { status: 500, headers: PLAIN_TEXT, body: `${error.message}\n` };
    const status =
      error instanceof ApiError
        ? error.status
        : failure(500, "InternalError", `Internal error occurred: ${errorText(error)}`, {
            causes: [{ message: errorText(error) }],
          });
    if (!(error instanceof ApiError)) {
      const stack = error instanceof Error ? error.stack : undefined;
      log.error("request failed", { path: request.path, error: errorText(error), stack });
    }
    const retryAfter = status.details?.retryAfterSeconds;
    const headers = {
      "content-type": refusalType(request.headers?.["accept"]),
      ...(retryAfter === undefined ? {} : { "retry-after": String(retryAfter) }),
    };
    return withWarnings({ status: status.code ?? 500, headers, body: status }, warnings);
  }
}

/** The kind's deprecation warning. Empty if it has none, or if the kind does not allow the method. */
function warningsOf(
  { warning, verbs }: ResourceDefinition,
  target: RoutedRequest,
  method: KubeRequest["method"],
): readonly string[] {
  if (warning === undefined) return [];
  return verbs.includes(attributesOf(target, method).verb) ? [warning] : [];
}

/** Access is checked before anything else, so that a user without rights does not learn what exists. */
function checkAccess(
  engine: Engine,
  user: User,
  target: RoutedRequest,
  method: KubeRequest["method"],
): void {
  if (isMaster(user)) return;
  const attributes = attributesOf(target, method);
  const { allowed, reason } = authorize(engine.store, user, attributes);
  if (!allowed) throw refused(user.name, attributes, reason);
}

async function answerResource(call: Call): Promise<KubeResponse> {
  const { definition, method, path } = call;
  checkScope(definition, call);
  if (method === "POST" || method === "PUT") checkMediaType(call);
  const subresource = path.subresource;
  if (subresource === "status") {
    if (!definition.hasStatus) throw noSubresource(call);
    return answerPart(call, subresource);
  }
  const partial = subresource === undefined ? undefined : partialUpdateOf(definition, subresource);
  if (subresource !== undefined && partial !== undefined)
    return answerPart(call, subresource, partial);
  if (subresource !== undefined) return answerSubresource(call);
  if (path.name === undefined) return answerCollection(call);
  switch (method) {
    case "GET":
      return ok(await get(call, viewOf(call, "one")), viewOf(call, "one").mediaType);
    case "PUT":
      checkVerb(definition, "update");
      return shownAs(call, await replace(call));
    case "PATCH": {
      checkVerb(definition, "patch");
      return shownAs(call, await patchObject(call, undefined));
    }
    case "DELETE": {
      checkVerb(definition, "delete");
      const options = deleteOptionsOf(call);
      const result = await deleteObject(call, path.namespace, path.name, options);
      if (result.kind === "object") return shown(call, result.object);
      return ok(result.status, viewOf(call, "one").mediaType);
    }
    default:
      throw methodNotAllowed();
  }
}

async function answerCollection(call: Call): Promise<KubeResponse> {
  const { definition, method, path } = call;
  if (method === "GET") {
    if (!isWatch(call)) {
      const view = viewOf(call, "many");
      checkVerb(definition, "list");
      return ok(await list(call, view), view.mediaType);
    }
    const view = viewOf(call, "stream");
    checkVerb(definition, "watch");
    return {
      status: 200,
      headers: { "content-type": view.mediaType },
      stream: watch(call, view),
    };
  }
  if (method === "POST") {
    checkVerb(definition, "create");
    if (definition.namespaced && path.namespace === undefined) throw methodNotAllowed();
    return shown(call, await create(call, call.body), 201);
  }
  if (method === "DELETE") {
    checkVerb(definition, "deletecollection");
    if (definition.namespaced && path.namespace === undefined) throw methodNotAllowed();
    const view = viewOf(call, "many");
    return ok(await deleteCollection(call, view), view.mediaType);
  }
  throw methodNotAllowed();
}

function partialUpdateOf(
  { group, plural }: ResourceDefinition,
  subresource: string,
): PartialUpdate | undefined {
  return group === "" && plural === "pods" ? POD_PARTIAL_UPDATES.get(subresource) : undefined;
}

/** Answers a subresource that returns the whole object, such as `status`. */
async function answerPart(
  call: Call,
  subresource: string,
  partial?: PartialUpdate,
): Promise<KubeResponse> {
  if (call.method === "GET") return shown(call, await getObject(call));
  if (call.method === "PUT") {
    const next = (): KubeObject => clone(call.body) as KubeObject;
    const change = { subresource, next, ...(partial === undefined ? {} : { partial }) };
    return shown(call, await update(call, change));
  }
  if (call.method === "PATCH") {
    return shown(call, (await patchObject(call, subresource, partial)).object);
  }
  throw methodNotAllowed();
}

function findDefinition(engine: Engine, path: ResourcePath): ResourceDefinition | undefined {
  const definition = engine.registry.find(path.group, path.version, path.plural);
  if (definition === undefined || definition.group !== "events.k8s.io") return definition;
  // Both APIs for events (core and events.k8s.io) use the store of the older one.
  return { ...definition, storageKey: "events", storageVersion: "v1" };
}

function answerElsewhere(
  options: ApiServerOptions,
  target: RoutedRequest,
  request: KubeRequest,
): KubeResponse {
  for (const route of options.extraRoutes ?? []) {
    const found = route(target.path, request.headers ?? {});
    if (found !== undefined) return found;
  }
  const accept = request.headers?.["accept"];
  const document =
    discoveryResponse(options.registry, target.path, accept) ??
    openapiResponse(options.registry, target.path, accept);
  if (document !== undefined) return document;
  const health = healthResponse(target.path, target.query);
  if (health !== undefined) return health;
  if (target.path === "/") return pathsResponse(options.registry);
  if (target.path === "/version") return ok(versionInfo(options.kubernetesVersion));
  if (target.resource !== undefined && isServedGroup(options.registry, target.resource))
    throw notServed();
  // An unknown path: kube-apiserver answers plain text, not a Status.
  return { status: 404, headers: PLAIN_TEXT, body: "404 page not found\n" };
}

/**
 * Whether an unknown resource of this group and version gets an error that names the resource, instead of an
 * unknown path. True for any version of a built-in group, but only for served versions of a custom group.
 */
function isServedGroup(registry: Registry, { group, version }: ResourcePath): boolean {
  const ours = registry.list().filter((definition) => definition.group === group);
  if (!isCustom({ group })) return ours.length > 0;
  return ours.some((definition) => definition.version === version);
}

/**
 * The error for a subresource that does not exist. For custom kinds it names the object; for built-in kinds it says
 * that the server has no such resource.
 */
function noSubresource({ definition, path }: Call): ApiError {
  return isCustom(definition) ? notFound(definition, path.name ?? "") : notServed();
}

function notServed(): ApiError {
  return new ApiError(404, "NotFound", "the server could not find the requested resource", {});
}

function checkVerb(definition: ResourceDefinition, verb: string): void {
  if (!definition.verbs.includes(verb)) throw methodNotAllowed();
}

const READABLE = [JSON_TYPE, YAML_TYPE, PROTOBUF];

/** Requests without a content type come from this process and need no check. */
function checkMediaType({ definition, headers }: Call): void {
  const [type = ""] = (headers["content-type"] ?? "").split(";");
  if (type === "" || type === "*/*") return;
  const readable = isCustom(definition) ? READABLE.slice(0, 2) : READABLE;
  if (!readable.includes(type.trim())) throw unsupportedMediaType(readable);
}

/** Refuses a path with a namespace for a cluster-scoped kind, and a path without one for a namespaced object. */
function checkScope(definition: ResourceDefinition, call: Call): void {
  const { name, namespace } = call.path;
  if (!definition.namespaced && namespace !== undefined) throw notServed();
  if (definition.namespaced && namespace === undefined && name !== undefined) throw notServed();
}

function isWatch(call: Call): boolean {
  return asBoolean(call.query.get("watch")) === true;
}

function shown(call: Call, object: KubeObject, status = 200): KubeResponse {
  const view = viewOf(call, "one");
  const body = showObject(call.engine, call.definition, view, object);
  return { status, headers: { "content-type": view.mediaType }, body };
}

/** The created or changed object in the form that the client asked for. */
function shownAs(
  call: Call,
  { object, created }: { readonly object: KubeObject; readonly created: boolean },
): KubeResponse {
  return shown(call, object, created ? 201 : 200);
}

function ok(body: unknown, mediaType = JSON_TYPE): KubeResponse {
  return { status: 200, headers: { "content-type": mediaType }, body };
}

function withWarnings(response: KubeResponse, warnings: readonly string[]): KubeResponse {
  const texts: string[] = [];
  let length = 0;
  for (const warning of new Set(warnings)) {
    length += warning.length;
    if (length > MAX_WARNINGS_LENGTH) break;
    // Text that a header cannot hold is left out, as in kube-apiserver.
    if (/\p{Cc}/u.test(warning)) continue;
    texts.push(`299 - "${warning.replaceAll("\\", "\\\\").replaceAll('"', '\\"')}"`);
  }
  if (texts.length === 0) return response;
  return { ...response, headers: { ...response.headers, warning: texts.join(", ") } };
}

/** One timer for all functions that run each minute; no timer without such functions. */
function minuteTicker(clock: Clock): {
  everyMinute: (onMinute: () => void) => () => void;
  close: () => void;
} {
  const listeners = new Set<() => void>();
  let timer: { cancel(): void } | undefined;
  const tick = (): void => {
    timer = listeners.size === 0 ? undefined : clock.after(MINUTE_MS, tick);
    for (const listener of listeners) listener();
  };
  return {
    everyMinute: (onMinute) => {
      listeners.add(onMinute);
      timer ??= clock.after(MINUTE_MS, tick);
      return () => listeners.delete(onMinute);
    },
    close: () => {
      listeners.clear();
      timer?.cancel();
    },
  };
}
