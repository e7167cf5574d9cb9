/**
 * What a request asks for, in the terms of RBAC: a verb on a resource, or a verb on a path such as /healthz.
 * Also the text of a refusal.
 * upstream: apiserver pkg/endpoints/request/requestinfo.go, pkg/endpoints/handlers/responsewriters/errors.go
 */
import { requestVerb } from "../../../kube/client/request-verb.ts";
import type { KubeRequest } from "../../../kube/transport/transport.ts";
import type { RoutedRequest } from "../request/routing.ts";
import { asBoolean } from "../request/selectors.ts";
import { ApiError } from "../request/status.ts";

/** A request about objects, as RBAC sees it. */
export interface ResourceAttributes {
  readonly verb: string;
  readonly group: string;
  readonly resource: string;
  readonly subresource: string;
  /** The namespace of the request. Empty for cluster-scoped objects, and for requests about all namespaces. */
  readonly namespace: string;
  readonly name: string;
}

/** A request about a path, such as /healthz. */
export interface PathAttributes {
  readonly verb: string;
  readonly path: string;
}

/** What the authorizer is asked to allow. */
export type Attributes = ResourceAttributes | PathAttributes;

/** The attributes of a request. upstream: apiserver/pkg/endpoints/request/requestinfo.go. */
export function attributesOf(
  { path, query, resource }: RoutedRequest,
  method: KubeRequest["method"],
): Attributes {
  if (resource === undefined) return { verb: method.toLowerCase(), path };
  const isNamespaceItself =
    resource.group === "" && resource.plural === "namespaces" && resource.name !== undefined;
  return {
    verb: requestVerb(method, resource.name !== undefined, asBoolean(query.get("watch")) === true),
    group: resource.group,
    resource: resource.plural,
    subresource: resource.subresource ?? "",
    namespace: (isNamespaceItself ? resource.name : resource.namespace) ?? "",
    name: resource.name ?? (method === "GET" ? nameSelectedBy(query) : ""),
  };
}

/**
 * The name in `fieldSelector=metadata.name=…` of a list or watch, or "" without one. RBAC treats such a
 * request as one for that object. A comma after a backslash belongs to the value.
 */
function nameSelectedBy(query: URLSearchParams): string {
  const terms = (query.get("fieldSelector") ?? "").match(/(?:\\.|[^,\\])+/gs) ?? [];
  for (const term of terms) {
    const [, name = ""] = /^metadata\.name==?([^=].*)$/s.exec(term) ?? [];
    if (name !== "") return NOT_A_NAME.test(name) ? "" : name;
  }
  return "";
}

/** Text that cannot be one segment of a path. */
const NOT_A_NAME = /[/%]|^\.\.?$/;

/**
 * The 403 with kube-apiserver's text. `reason`: the authorizer's reason, if it has one besides the missing
 * rule.
 */
export function refused(user: string, attributes: Attributes, reason = ""): ApiError {
  const why = reason === "" ? "" : `: ${reason}`;
  if ("path" in attributes) {
    const text = `forbidden: User "${user}" cannot ${attributes.verb} path "${attributes.path}"${why}`;
    return new ApiError(403, "Forbidden", text, {});
  }
  const { verb, group, resource, subresource, namespace, name } = attributes;
  const full = subresource === "" ? resource : `${resource}/${subresource}`;
  const where = namespace === "" ? "at the cluster scope" : `in the namespace "${namespace}"`;
  const what = `User "${user}" cannot ${verb} resource "${full}" in API group "${group}" ${where}`;
  const qualified = group === "" ? resource : `${resource}.${group}`;
  const subject = name === "" ? qualified : `${qualified} "${name}"`;
  return new ApiError(403, "Forbidden", `${subject} is forbidden: ${what}${why}`, {
    ...(name === "" ? {} : { name }),
    ...(group === "" ? {} : { group }),
    kind: resource,
  });
}
