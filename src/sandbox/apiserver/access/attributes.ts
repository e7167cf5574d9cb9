/**
 * What a request asks for, in the words that rights are granted in: a verb on a resource, or on a path that is
 * none. Also how a refusal says it.
 * upstream: apiserver pkg/endpoints/request/requestinfo.go, pkg/endpoints/handlers/responsewriters/errors.go
 */
import { requestVerb } from "../../../kube/client/request-verb.ts";
import type { KubeRequest } from "../../../kube/transport/transport.ts";
import type { Target } from "../request/routing.ts";
import { asBoolean } from "../request/selectors.ts";
import { ApiError } from "../request/status.ts";

/** A request about objects, as RBAC sees it. */
export interface ResourceAttributes {
  readonly verb: string;
  readonly group: string;
  readonly resource: string;
  readonly subresource: string;
  /** Empty: the cluster's, or all namespaces. */
  readonly namespace: string;
  readonly name: string;
}

/** A request about a path, such as /healthz. */
export interface PathAttributes {
  readonly verb: string;
  readonly path: string;
}

/** What authorization decides about. */
export type Attributes = ResourceAttributes | PathAttributes;

/** The attributes of a request. upstream: apiserver/pkg/endpoints/request/requestinfo.go. */
export function attributesOf(
  { path, query, resource }: Target,
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
 * Who lists or watches one object by its name asks for that object only. Whoever creates, or deletes a
 * collection, has no name. A comma behind a backslash belongs to a value.
 */
function nameSelectedBy(query: URLSearchParams): string {
  const terms = (query.get("fieldSelector") ?? "").match(/(?:\\.|[^,\\])+/gs) ?? [];
  for (const term of terms) {
    const [, name = ""] = /^metadata\.name==?([^=].*)$/s.exec(term) ?? [];
    if (name !== "") return NOT_A_NAME.test(name) ? "" : name;
  }
  return "";
}

/** What cannot stand between two slashes of a path. */
const NOT_A_NAME = /[/%]|^\.\.?$/;

/** 403 as kube-apiserver words it. `reason`: why, where more is known than that nothing allows it. */
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
