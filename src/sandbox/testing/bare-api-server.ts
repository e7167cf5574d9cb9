/** For tests: an API server with every built-in kind, and no controllers. */
import { Random } from "../../base/random.ts";
import { VirtualClock } from "../../base/virtual-clock.ts";
import type { ApiServer } from "../apiserver/api-server.ts";
import { type ApiServerOptions, createApiServer } from "../apiserver/create-api-server.ts";
import { createRegistry } from "../apiserver/registry/create-registry.ts";

const VERSION = "v1.34.4";

/** An API server for tests. Defaults: a virtual clock, the seed `test`, and no webhooks. */
export function bareApiServer(given: Partial<ApiServerOptions> = {}): ApiServer {
  return createApiServer({
    clock: new VirtualClock(),
    random: new Random("test"),
    registry: createRegistry({ kubernetesVersion: VERSION }),
    webhooks: () => Promise.reject(new Error("no webhooks here")),
    kubernetesVersion: VERSION,
    ...given,
  });
}
