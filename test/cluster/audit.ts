/**
 * kube-apiserver's audit log: who requested what, and what was decided. Tests read from it whether an account has
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
  /** When the server received the request, in Unix milliseconds. */
  readonly atMs: number;
}

/** Requests in the order of their answers. A watch is listed twice: when it begins and when it ends. */
export function auditedRequests(directory: string): readonly AuditedRequest[] {
  if (!existsSync(logOf(directory))) return [];
  const lines = readFileSync(logOf(directory), "utf8").split("\n");
  return lines.filter((line) => line.endsWith("}")).map((line) => read(JSON.parse(line)));
}

/** Requests of the user that were refused, each once: `delete /api/v1/nodes/a`. */
export function refusedRequests(directory: string, user: string): readonly string[] {
  const refused = auditedRequests(directory)
    .filter((one) => one.user === user)
    .filter(({ allowed, status }) => !allowed || status === 403)
    .map(({ verb, uri }) => `${verb} ${uri}`);
  return [...new Set(refused)];
}

/**
 * Rights that the user lacks.
 * A kube-apiserver that has just started refuses requests until it has read the roles. So a refusal only counts if
 * the request is never allowed in the whole run, or was already allowed since that start.
 * `startsMs`: when kube-apiserver was started, in Unix milliseconds.
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
 * The right that a request needs: verb and path, and for a list or watch of one object its name. kube-apiserver reads
 * that name from the field selector (upstream: k8s.io/apiserver, pkg/endpoints/request/requestinfo.go). For a create
 * the name is left out: the log has it only if the request was allowed.
 */
function rightOf({ verb, uri, name }: AuditedRequest): string {
  const path = uri.split("?")[0] ?? "";
  const isOfOne = name !== undefined && ["list", "watch", "deletecollection"].includes(verb);
  return isOfOne ? `${verb} ${path} of ${name}` : `${verb} ${path}`;
}

/** Throws if the user lacks a right. Throws too if the log has no request of the user: then it proves nothing. */
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
