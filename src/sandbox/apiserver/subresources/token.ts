/**
 * serviceaccounts/token: answers a TokenRequest with a token that opens what the account's roles allow, until it
 * expires or the account is gone.
 */
import { toRfc3339 } from "../../../base/clock.ts";
import { isObject } from "../../../base/json.ts";
import type { KubeResponse } from "../../../kube/transport.ts";
import { issueToken } from "../access/identity.ts";
import { review } from "../admission.ts";
import type { Call } from "../engine.ts";
import { getObject } from "../read.ts";
import { invalid } from "../status.ts";

const DEFAULT_LIFETIME_SECONDS = 3_600;
const SHORTEST_SECONDS = 600;
const AUDIENCE = "https://kubernetes.default.svc";

export async function requestToken(call: Call): Promise<KubeResponse> {
  const account = await getObject(call);
  const { engine, path } = call;
  const body = isObject(call.body) ? call.body : {};
  const spec = isObject(body["spec"]) ? body["spec"] : {};
  const expirationSeconds = Number(spec["expirationSeconds"] ?? DEFAULT_LIFETIME_SECONDS);
  if (expirationSeconds < SHORTEST_SECONDS) {
    const message = `Invalid value: ${expirationSeconds}: may not specify a duration less than 10 minutes`;
    throw invalid({ group: "authentication.k8s.io", kind: "TokenRequest" }, "", [
      { field: "spec.expirationSeconds", reason: "FieldValueInvalid", message },
    ]);
  }
  const sent = (spec["audiences"] ?? []) as readonly string[];
  const audiences = sent.length === 0 ? [AUDIENCE] : sent;
  const { name, namespace = "", uid = "" } = account.metadata;
  const creationTimestamp = toRfc3339(engine.clock.now());
  const asked = {
    apiVersion: "authentication.k8s.io/v1",
    kind: "TokenRequest",
    metadata: { name, namespace, uid, creationTimestamp },
    spec: { audiences, expirationSeconds, boundObjectRef: null, ...spec },
    status: { token: "", expirationTimestamp: null },
  };
  await review(call, {
    operation: "CREATE",
    object: asked,
    old: undefined,
    subresource: "token",
    kind: { group: "authentication.k8s.io", version: "v1", kind: "TokenRequest" },
  });
  const { token, expiresMs } = issueToken(
    engine,
    { namespace, name, uid },
    expirationSeconds,
    audiences,
  );
  const answer = {
    kind: "TokenRequest",
    apiVersion: "authentication.k8s.io/v1",
    metadata: {
      name: path.name,
      namespace: path.namespace,
      uid,
      creationTimestamp: toRfc3339(engine.clock.now()),
    },
    spec: { boundObjectRef: null, ...spec, audiences, expirationSeconds },
    status: { token, expirationTimestamp: toRfc3339(expiresMs) },
  };
  return { status: 201, headers: { "content-type": "application/json" }, body: answer };
}
