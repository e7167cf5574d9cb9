/** What counts as a right that is lacking, in kube-apiserver's own record. */
import { expect, it } from "vitest";
import { type AuditedRequest, neverAllowed } from "./audit.ts";

const request = (verb: string, uri: string, status: number): AuditedRequest => ({
  user: "somebody",
  verb,
  resource: undefined,
  name: undefined,
  status,
  allowed: status !== 403,
  uri,
});

it("a right that was refused and never given is lacking", () => {
  expect(
    neverAllowed([
      request("watch", "/api/v1/nodes?watch=true", 200),
      request("delete", "/api/v1/nodes/a", 403),
      request("delete", "/api/v1/nodes/a", 403),
      request("delete", "/api/v1/nodes/b", 200),
      request("get", "/api/v1/nodes/a", 404),
    ]),
  ).toEqual(["delete /api/v1/nodes/a"]);
});

it("what a server refused before it had read the roles is not lacking, when it was allowed at another time", () => {
  expect(
    neverAllowed([
      request("watch", "/api/v1/nodes?resourceVersion=1", 200),
      request("watch", "/api/v1/nodes?resourceVersion=2", 403),
      request("watch", "/api/v1/pods?resourceVersion=2", 403),
      request("watch", "/api/v1/pods?resourceVersion=3", 200),
      request("list", "/api/v1/pods", 403),
    ]),
  ).toEqual(["list /api/v1/pods"]);
});
