/**
 * serviceaccounts/token: answers a TokenRequest with a token of the right lifetime. The sandbox lets
 * everybody in by the admin token only, so this one opens nothing; it is there for clients that
 * cannot start without asking.
 */
import { toRfc3339 } from "../../../base/clock.ts";
import { isObject } from "../../../base/json.ts";
import type { KubeResponse } from "../../../kube/transport.ts";
import type { Call } from "../engine.ts";
import { getObject } from "../read.ts";

const DEFAULT_LIFETIME_SECONDS = 3_600;

export async function requestToken(call: Call): Promise<KubeResponse> {
  await getObject(call);
  const { engine, path } = call;
  const body = isObject(call.body) ? call.body : {};
  const spec = isObject(body["spec"]) ? body["spec"] : {};
  const expirationSeconds = Number(spec["expirationSeconds"] ?? DEFAULT_LIFETIME_SECONDS);
  const answer = {
    kind: "TokenRequest",
    apiVersion: "authentication.k8s.io/v1",
    metadata: { name: path.name, namespace: path.namespace },
    spec: { audiences: ["https://kubernetes.default.svc"], ...spec, expirationSeconds },
    status: {
      token: `sandbox.${engine.random.hex(32)}`,
      expirationTimestamp: toRfc3339(engine.clock.now() + expirationSeconds * 1_000),
    },
  };
  return { status: 201, headers: { "content-type": "application/json" }, body: answer };
}
