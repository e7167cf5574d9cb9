/** The RBAC verb of a request. */
import type { KubeRequest } from "../transport/transport.ts";

/** The verbs of RBAC. */
export type RequestVerb =
  | "get"
  | "list"
  | "watch"
  | "create"
  | "update"
  | "patch"
  | "delete"
  | "deletecollection";

/**
 * The RBAC verb of a request. `named`: whether the request is about one object, not a collection.
 * upstream: apiserver pkg/endpoints/request/requestinfo.go
 */
export function requestVerb(
  method: KubeRequest["method"],
  named: boolean,
  watching: boolean,
): RequestVerb {
  switch (method) {
    case "GET":
      return named ? "get" : watching ? "watch" : "list";
    case "POST":
      return "create";
    case "PUT":
      return "update";
    case "PATCH":
      return "patch";
    case "DELETE":
      return named ? "delete" : "deletecollection";
  }
}
