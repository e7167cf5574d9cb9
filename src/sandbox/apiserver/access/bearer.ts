/**
 * What an Authorization header says of who asks. What is no bearer token says nothing, and its sender is nobody.
 * upstream: apiserver pkg/authentication/request/bearertoken
 */

/** The token of the header; undefined when it has none. */
export function bearerOf(header: string | undefined): string | undefined {
  const [scheme = "", token = ""] = (header ?? "").trim().split(" ");
  return scheme.toLowerCase() === "bearer" && token !== "" ? token : undefined;
}
