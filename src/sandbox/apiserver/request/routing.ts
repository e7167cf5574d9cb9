/**
 * Finds the resource and the object of a URL by kube-apiserver's path grammar, without looking anything up.
 * `/api/v1/...` is the core group, `/apis/<group>/<version>/...` all others.
 */

/** The parts of a path that addresses objects: group, version, resource, namespace, name and subresource. */
export interface ResourcePath {
  readonly group: string;
  readonly version: string;
  readonly plural: string;
  /** The namespace in the path. Undefined: all namespaces, or a cluster-scoped resource. */
  readonly namespace: string | undefined;
  /** The object's name in the path. Undefined: the request is about a collection. */
  readonly name: string | undefined;
  readonly subresource: string | undefined;
  /** The parts of the path after the subresource: `metrics` in `proxy/metrics`. */
  readonly rest: readonly string[];
}

/** The resource and the operation that a request addresses. */
export interface RoutedRequest {
  readonly path: string;
  readonly query: URLSearchParams;
  /** The resource of the path. Undefined for all other paths, such as discovery, health and OpenAPI. */
  readonly resource: ResourcePath | undefined;
}

/** Subresources of namespaces. `namespaces/x` followed by any other word is the namespace of a resource. */
const NAMESPACE_SUBRESOURCES: ReadonlySet<string> = new Set(["status", "finalize"]);

/** Splits a request target. Never throws: an unknown path has no `resource`. */
export function parseTarget(target: string): RoutedRequest {
  const mark = target.indexOf("?");
  const path = mark < 0 ? target : target.slice(0, mark);
  const query = new URLSearchParams(mark < 0 ? "" : target.slice(mark + 1));
  return { path, query, resource: parsePath(path) };
}

function parsePath(path: string): ResourcePath | undefined {
  const parts = path.split("/").filter((part) => part !== "");
  let group = "";
  let version: string | undefined;
  let tail: string[];
  if (parts[0] === "api") {
    version = parts[1];
    tail = parts.slice(2);
  } else if (parts[0] === "apis") {
    group = parts[1] ?? "";
    version = parts[2];
    tail = parts.slice(3);
  } else return undefined;
  if (version === undefined || tail.length === 0) return undefined;
  let namespace: string | undefined;
  const isScope = tail[0] === "namespaces" && tail.length > 2;
  if (isScope && !NAMESPACE_SUBRESOURCES.has(tail[2] as string)) {
    namespace = decode(tail[1] as string);
    tail = tail.slice(2);
  }
  const [plural, name, subresource, ...rest] = tail;
  return {
    group,
    version,
    plural: plural as string,
    namespace,
    name: name === undefined ? undefined : decode(name),
    subresource,
    rest,
  };
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
