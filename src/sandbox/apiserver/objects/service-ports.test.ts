import { describe, expect, it } from "vitest";
import type { KubeResponse } from "../../../kube/transport/transport.ts";
import { bareApiServer } from "../../testing/bare-api-server.ts";

// biome-ignore lint/suspicious/noExplicitAny: JSON of many shapes
type Answer = KubeResponse & { readonly body?: any };

const SERVICES = "/api/v1/namespaces/default/services";

function start() {
  const server = bareApiServer();
  return (method: "POST" | "PUT", path: string, body: unknown) =>
    server.handle(
      { method, path, body },
      { name: "tester", groups: ["system:masters"] },
    ) as Promise<Answer>;
}

function service(name: string, spec: object): object {
  return {
    apiVersion: "v1",
    kind: "Service",
    metadata: { name },
    spec: { type: "NodePort", ...spec },
  };
}

describe("nodePorts of Services", () => {
  it("are given to one of two Services that request the same port at once", async () => {
    const send = start();
    const ports = [{ port: 80, nodePort: 30_080 }];
    const answers = await Promise.all(
      ["a", "b"].map((name) => send("POST", SERVICES, service(name, { ports }))),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 422]);
  });

  it("are shared by TCP and UDP ports of the same number, and used once for one protocol", async () => {
    const send = start();
    const dns = [
      { name: "tcp", port: 53 },
      { name: "udp", port: 53, protocol: "UDP" },
    ];
    const { body } = await send("POST", SERVICES, service("dns", { ports: dns }));
    expect(body.spec.ports[0].nodePort).toBe(body.spec.ports[1].nodePort);
    const twice = [
      { name: "a", port: 80, nodePort: 30_080 },
      { name: "b", port: 81, nodePort: 30_080 },
    ];
    const refused = await send("POST", SERVICES, service("twice", { ports: twice }));
    expect(refused.body.message).toContain("spec.ports[1].nodePort: Duplicate value: 30080");
  });

  it("of a Service stay the same if it is written without them, also the health check port", async () => {
    const send = start();
    const spec = { type: "LoadBalancer", externalTrafficPolicy: "Local", ports: [{ port: 80 }] };
    const wanted = 30_123;
    const made = await send(
      "POST",
      SERVICES,
      service("a", { ...spec, healthCheckNodePort: wanted }),
    );
    const written = await send("PUT", `${SERVICES}/a`, service("a", spec));
    expect(written.body.spec.healthCheckNodePort).toBe(wanted);
    expect(written.body.spec.ports).toEqual(made.body.spec.ports);
  });
});
