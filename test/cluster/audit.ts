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
}

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
 * What the user was never allowed to do. kube-apiserver that has only just been started refuses what it will allow
 * as soon as it has read the roles: the same verb on the same path, allowed at another time, is not a lacking right.
 */
export function neverAllowed(requests: readonly AuditedRequest[]): readonly string[] {
  const likeOf = ({ verb, uri }: AuditedRequest) => `${verb} ${uri.split("?")[0]}`;
  const isRefused = ({ allowed, status }: AuditedRequest) => !allowed || status === 403;
  const allowed = new Set(requests.filter((one) => !isRefused(one)).map(likeOf));
  const refused = requests.filter((one) => isRefused(one) && !allowed.has(likeOf(one)));
  return [...new Set(refused.map(likeOf))];
}

/** Throws where the user may not do all it asked, or asked nothing: a record without it is a witness of nothing. */
export function expectNoRefusals(directory: string, user: string): void {
  const asked = auditedRequests(directory).filter((one) => one.user === user);
  if (asked.length === 0) throw new Error(`${logOf(directory)} has no request of ${user}`);
  const refused = neverAllowed(asked);
  if (refused.length > 0) throw new Error(`${user} may not: ${refused.join(", ")}`);
}

interface AuditEvent {
  readonly verb: string;
  readonly requestURI: string;
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

function read({ verb, requestURI, user, objectRef, responseStatus, annotations }: AuditEvent) {
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
  };
}

function logOf(directory: string): string {
  return join(directory, "logs", "audit.log");
}
