import { expect, it } from "vitest";
import { Random } from "../../../base/random.ts";
import { VirtualClock } from "../../../base/virtual-clock.ts";
import { bareApiServer } from "../../testing/bare-api-server.ts";

const ADMIN = { name: "admin", groups: ["system:masters"] };

it.each([
  ["POST", "/api/v1/namespaces/default/configmaps", "application/json", 201],
  ["POST", "/api/v1/namespaces/default/pods/any/eviction", "application/json", 404],
  ["PATCH", "/api/v1/namespaces/default/configmaps/a", "application/apply-patch+yaml", 400],
  ["PATCH", "/api/v1/namespaces/default/configmaps/b", "application/merge-patch+json", 200],
  ["PUT", "/api/v1/namespaces/default/configmaps/b", "application/json", 200],
] as const)(
  "null for apiVersion and kind counts as missing: %s %s as %s is answered with %i",
  async (method, path, type, status) => {
    const server = bareApiServer({ clock: new VirtualClock(), random: new Random(1) });
    const ask = async (how: typeof method, where: string, name: string, head: object) => {
      const headers = { "content-type": how === method ? type : "application/json" };
      const body = { ...head, metadata: { name } };
      const asked = { method: how, path: `${where}?fieldManager=test`, headers, body };
      return (await server.handle(asked, ADMIN)).status;
    };
    await ask("POST", "/api/v1/namespaces/default/configmaps", "b", {});
    const name = path.endsWith("/b") ? "b" : path.endsWith("eviction") ? "any" : "a";
    expect(await ask(method, path, name, { apiVersion: null, kind: null })).toBe(status);
    server.close();
  },
);
