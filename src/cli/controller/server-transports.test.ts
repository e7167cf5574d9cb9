import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, expect, it } from "vitest";
import { SILENT } from "../../base/log.ts";
import { SystemClock } from "../../base/system-clock.ts";
import { type ServerTransports, serverTransports } from "./server-transports.ts";

const LEASE = "/apis/coordination.k8s.io/v1/namespaces/karpenter/leases/karpenter-leader-election";
/** More requests than one pool has connections. */
const MANY = 100;

let open: { readonly server: Server; readonly transports: ServerTransports } | undefined;
afterEach(async () => {
  open?.transports.close();
  open?.server.closeAllConnections();
  await new Promise((resolve) => open?.server.close(resolve));
});

it("renews the Lease while every other request waits for the API server", async () => {
  const server = createServer((request, response) => {
    if (request.url === LEASE) response.setHeader("content-type", "application/json").end("{}");
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const options = { server: `http://127.0.0.1:${port}`, userAgent: "test" };
  const transports = serverTransports(options, { clock: new SystemClock(), log: SILENT });
  open = { server, transports };
  const never = Array.from({ length: MANY }, (_, i) =>
    transports.transport.send({ method: "GET", path: `/api/v1/nodes/${i}` }),
  );
  for (const one of never) one.catch(() => undefined);
  const { status } = await transports.leaseTransport.send({ method: "GET", path: LEASE });
  expect(status).toBe(200);
});
