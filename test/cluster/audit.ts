/**
 * kube-apiserver's own record of who asked for what and what was decided: the witness that an account has
 * all the rights that it needs, and needs all that it has.
 */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** Arguments of kube-apiserver that keep a record of what service accounts of the namespace do. */
export function auditArguments(directory: string, namespace: string): readonly string[] {
  const policy = join(directory, "audit-policy.json");
  const group = `system:serviceaccounts:${namespace}`;
  const rules = [
    { level: "Metadata", userGroups: [group], omitStages: ["RequestReceived"] },
    { level: "None" },
  ];
  writeFileSync(policy, JSON.stringify({ apiVersion: "audit.k8s.io/v1", kind: "Policy", rules }));
  return [`--audit-policy-file=${policy}`, `--audit-log-path=${logOf(directory)}`];
}

export interface AuditedRequest {
  readonly user: string;
  readonly verb: string;
  /** `nodeclaims/status.karpenter.sh`; undefined for paths that name no resource. */
  readonly resource: string | undefined;
  readonly name: string | undefined;
  readonly status: number;
  readonly allowed: boolean;
  readonly uri: string;
  /** When it came. */
  readonly atMs: number;
}

/** In the order in which they were answered; a watch is there when it begins, and again when it ends. */
export function auditedRequests(directory: string): readonly AuditedRequest[] {
  if (!existsSync(logOf(directory))) return [];
  const lines = readFileSync(logOf(directory), "utf8").split("\n");
  return lines.filter((line) => line.endsWith("}")).map((line) => read(JSON.parse(line)));
}

/** What the user was not allowed to do, each once: `delete /api/v1/nodes/a`. */
export function refusedRequests(directory: string, user: string): readonly string[] {
  const refused = auditedRequests(directory)
    .filter((one) => one.user === user)
    .filter(({ allowed, status }) => !allowed || status === 403)
    .map(({ verb, uri }) => `${verb} ${uri}`);
  return [...new Set(refused)];
}

/**
 * Rights that the user lacks. kube-apiserver that has only just been started refuses what it will allow as soon as it
 * has read the roles: what is allowed in the run is not lacking where it was refused before the server, since its last
 * start, had allowed it. `startsMs`: when it was started.
 */
export function lackingRights(
  requests: readonly AuditedRequest[],
  startsMs: readonly number[] = [],
): readonly string[] {
  const isRefused = ({ allowed, status }: AuditedRequest) => !allowed || status === 403;
  const lifeOf = ({ atMs }: AuditedRequest) => startsMs.filter((start) => start <= atMs).length;
  const everAllowed = new Set(requests.filter((one) => !isRefused(one)).map(rightOf));
  const allowedSince = new Set<string>();
  const lacking = new Set<string>();
  for (const request of requests) {
    const right = rightOf(request);
    const inLife = `${lifeOf(request)} ${right}`;
    if (!isRefused(request)) allowedSince.add(inLife);
    else if (!everAllowed.has(right) || allowedSince.has(inLife)) lacking.add(right);
  }
  return [...lacking];
}

/**
 * What roles are asked about: verb, path, and the one object that a list or a watch is of. The server takes its name
 * out of the field selector (upstream: k8s.io/apiserver, pkg/endpoints/request/requestinfo.go). What is to be created
 * has a name only once it is allowed.
 */
function rightOf({ verb, uri, name }: AuditedRequest): string {
  const path = uri.split("?")[0] ?? "";
  const isOfOne = name !== undefined && ["list", "watch", "deletecollection"].includes(verb);
  return isOfOne ? `${verb} ${path} of ${name}` : `${verb} ${path}`;
}

/** Throws where the user may not do all it asked, or asked nothing: a record without it is a witness of nothing. */
export function expectNoRefusals(
  directory: string,
  user: string,
  startsMs: readonly number[],
): void {
  const asked = auditedRequests(directory).filter((one) => one.user === user);
  if (asked.length === 0) throw new Error(`${logOf(directory)} has no request of ${user}`);
  const lacking = lackingRights(asked, startsMs);
  if (lacking.length > 0) throw new Error(`${user} may not: ${lacking.join(", ")}`);
}

interface AuditEvent {
  readonly verb: string;
  readonly requestURI: string;
  readonly requestReceivedTimestamp: string;
  readonly user: { readonly username: string };
  readonly objectRef?: {
    readonly resource?: string;
    readonly subresource?: string;
    readonly apiGroup?: string;
    readonly name?: string;
  };
  readonly responseStatus?: { readonly code?: number };
  readonly annotations?: Readonly<Record<string, string>>;
}

function read(event: AuditEvent): AuditedRequest {
  const { verb, requestURI, user, objectRef, responseStatus, annotations } = event;
  const { resource, subresource, apiGroup, name } = objectRef ?? {};
  const path = [resource, subresource].filter((part) => part !== undefined).join("/");
  const group = apiGroup === undefined ? "" : `.${apiGroup}`;
  return {
    user: user.username,
    verb,
    resource: resource === undefined ? undefined : `${path}${group}`,
    name,
    status: responseStatus?.code ?? 0,
    allowed: annotations?.["authorization.k8s.io/decision"] !== "forbid",
    uri: requestURI,
    atMs: Date.parse(event.requestReceivedTimestamp),
  };
}

function logOf(directory: string): string {
  return join(directory, "logs", "audit.log");
}
