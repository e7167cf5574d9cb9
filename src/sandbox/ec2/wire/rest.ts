/**
 * Services with REST and JSON (EKS, FIS, ARC zonal shift): which path is which call. Names in the path, query
 * parameters and body together are the input.
 */
import { isObject } from "../../../base/json.ts";
import { AwsError } from "../../../providers/aws/api/call.ts";

interface Route {
  readonly method: string;
  /** A path in which `:name` matches one segment. The call gets the segment as `name`. */
  readonly path: string;
  readonly service: string;
  readonly action: string;
}

function route(text: string, service: string): Route {
  const [method = "", path = "", action = ""] = text.split(" ");
  return { method, path, service, action };
}

const ROUTES: readonly Route[] = [
  ...["GET /clusters ListClusters", "GET /clusters/:name DescribeCluster"].map((one) =>
    route(one, "eks"),
  ),
  ...[
    "POST /experimentTemplates CreateExperimentTemplate",
    "DELETE /experimentTemplates/:id DeleteExperimentTemplate",
    "POST /experiments StartExperiment",
    "GET /experiments/:id GetExperiment",
    "DELETE /experiments/:id StopExperiment",
  ].map((one) => route(one, "fis")),
  ...[
    "GET /managedresources ListManagedResources",
    "GET /managedresources/:resourceIdentifier GetManagedResource",
    "POST /zonalshifts StartZonalShift",
    "GET /zonalshifts ListZonalShifts",
    "DELETE /zonalshifts/:zonalShiftId CancelZonalShift",
  ].map((one) => route(one, "zonalShift")),
];

/** A call of a REST service, read from a request. */
export interface RestCall {
  readonly service: string;
  readonly action: string;
  readonly input: Readonly<Record<string, unknown>>;
}

/** Finds the call for a request. Throws AWS's 404 if no service has it. */
export function restCall(
  method: string,
  path: string,
  search: URLSearchParams,
  body: unknown,
): RestCall {
  for (const one of ROUTES) {
    const names = one.method === method ? namesIn(one.path, path) : undefined;
    if (names === undefined) continue;
    const input = { ...Object.fromEntries(search), ...(isObject(body) ? body : {}), ...names };
    return { service: one.service, action: one.action, input };
  }
  throw new AwsError("InvalidRequestException", `${method} ${path} is not simulated`, 404);
}

function namesIn(pattern: string, path: string): Record<string, string> | undefined {
  const wanted = pattern.split("/");
  const given = path.split("/");
  if (wanted.length !== given.length) return undefined;
  const names: Record<string, string> = {};
  for (const [at, part] of wanted.entries()) {
    const text = given[at] as string;
    if (part.startsWith(":")) names[part.slice(1)] = decoded(text);
    else if (part !== text) return undefined;
  }
  return names;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch (cause) {
    throw new AwsError("InvalidRequestException", "the path is no valid URL", 400, cause);
  }
}

/** The body of an answer. Times (fields that end in `Time`) become seconds since 1970. */
export function restBody(output: unknown): string {
  return JSON.stringify(output ?? {}, (key, value: unknown) =>
    key.endsWith("Time") && typeof value === "string" ? Date.parse(value) / 1_000 : value,
  );
}
