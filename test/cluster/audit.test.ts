/** Which refusals in kube-apiserver's audit log count as a missing right. */
import { expect, it } from "vitest";
import { type AuditedRequest, lackingRights } from "./audit.ts";

const request = (
  verb: string,
  uri: string,
  status: number,
  more: Partial<AuditedRequest> = {},
): AuditedRequest => ({
  user: "somebody",
  verb,
  resource: undefined,
  name: undefined,
  status,
  allowed: status !== 403,
  uri,
  atMs: 0,
  ...more,
});

it("the audit reports a right as missing if it was refused and never granted", () => {
  expect(
    lackingRights([
      request("watch", "/api/v1/nodes?watch=true", 200),
      request("delete", "/api/v1/nodes/a", 403),
      request("delete", "/api/v1/nodes/a", 403),
      request("delete", "/api/v1/nodes/b", 200),
      request("get", "/api/v1/nodes/a", 404),
    ]),
  ).toEqual(["delete /api/v1/nodes/a"]);
});

it("the audit ignores refusals before the server had read its roles, if the right was granted afterwards", () => {
  expect(
    lackingRights([
      request("watch", "/api/v1/nodes?resourceVersion=1", 403),
      request("watch", "/api/v1/pods?resourceVersion=2", 403),
      request("watch", "/api/v1/pods?resourceVersion=2", 403),
      request("watch", "/api/v1/nodes?resourceVersion=1", 200),
      request("watch", "/api/v1/pods?resourceVersion=3", 200),
      request("list", "/api/v1/pods", 403),
    ]),
  ).toEqual(["list /api/v1/pods"]);
});

it("the audit reports a right that is refused after it had been granted", () => {
  expect(
    lackingRights([
      request("watch", "/api/v1/nodes?resourceVersion=1", 200),
      request("watch", "/api/v1/nodes?resourceVersion=2", 403),
      request("watch", "/api/v1/nodes?resourceVersion=2", 200),
    ]),
  ).toEqual(["watch /api/v1/nodes"]);
});

it("the audit does not accept a granted watch of one object for another object", () => {
  const path = "/api/v1/namespaces/system/configmaps";
  const watch = (name: string, status: number) =>
    request("watch", `${path}?fieldSelector=metadata.name%3D${name}`, status, { name });
  expect(
    lackingRights([watch("b", 403), watch("a", 403), watch("a", 200), watch("a", 200)]),
  ).toEqual([`watch ${path} of b`]);
});

it("the audit treats a creation with and without a name as one right, and shows the name only if granted", () => {
  const path = "/api/v1/namespaces/default/events";
  expect(
    lackingRights([
      request("create", path, 403),
      request("create", path, 201, { name: "default-a.17" }),
    ]),
  ).toEqual([]);
});

it("the audit expects a restarted server to read its roles again", () => {
  const starts = [100, 500];
  const get = (atMs: number, status: number) => request("get", "/api/v1/nodes/a", status, { atMs });
  expect(lackingRights([get(110, 200), get(510, 403)], starts)).toEqual([]);
  expect(lackingRights([get(110, 200), get(510, 403), get(520, 200)], starts)).toEqual([]);
  const after = [get(110, 200), get(510, 200), get(520, 403)];
  expect(lackingRights(after, starts)).toEqual(["get /api/v1/nodes/a"]);
  expect(lackingRights([get(110, 403), get(510, 403)], starts)).toEqual(["get /api/v1/nodes/a"]);
});
