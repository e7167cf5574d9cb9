/**
 * Reads the bearer token of an Authorization header. A request without one is anonymous.
 * upstream: apiserver pkg/authentication/request/bearertoken
 */

/** The token of the header. Undefined if the header is missing or is not a bearer token. */
export function bearerOf(header: string | undefined): string | undefined {
  const [scheme = "", token = ""] = (header ?? "").trim().split(" ");
  return scheme.toLowerCase() === "bearer" && token !== "" ? token : undefined;
}
