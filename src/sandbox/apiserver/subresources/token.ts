/**
 * serviceaccounts/token: answers a TokenRequest with a token that opens what the account's roles allow, until it
 * expires or the account is gone.
 */
import type { KubeObject } from "../../../apis/meta.ts";
import { toRfc3339 } from "../../../base/clock.ts";
import { isObject } from "../../../base/json.ts";
import type { KubeResponse } from "../../../kube/transport.ts";
import { issueToken } from "../access/identity.ts";
import { mutate, review } from "../admission.ts";
import { type Call, managerOf } from "../engine.ts";
import { getObject } from "../read.ts";
import { invalid as invalidField } from "../schema/field-error.ts";
import { type ApiError, badRequest, invalid, notFound } from "../status.ts";

const DEFAULT_LIFETIME_SECONDS = 3_600;
const SHORTEST_SECONDS = 600;
const LONGEST_SECONDS = 2 ** 32;
const AUDIENCE = "https://kubernetes.default.svc";

export async function requestToken(call: Call): Promise<KubeResponse> {
  const account = await getObject(call);
  const { engine, path } = call;
  const body = isObject(call.body) ? call.body : {};
  const sent = isObject(body["spec"]) ? body["spec"] : {};
  const { name, namespace = "", uid = "" } = account.metadata;
  const creationTimestamp = toRfc3339(engine.clock.now());
  const admission = {
    operation: "CREATE",
    object: {
      apiVersion: "authentication.k8s.io/v1",
      kind: "TokenRequest",
      metadata: { name, namespace, uid, creationTimestamp },
      spec: {
        audiences: [AUDIENCE],
        expirationSeconds: DEFAULT_LIFETIME_SECONDS,
        boundObjectRef: null,
        ...sent,
      },
      status: { token: "", expirationTimestamp: null },
    } as KubeObject,
    old: undefined,
    subresource: "token",
    kind: { group: "authentication.k8s.io", version: "v1", kind: "TokenRequest" },
  } as const;
  const asked = await mutate(call, admission);
  const { spec = {} } = asked as { readonly spec?: Readonly<Record<string, unknown>> };
  const expirationSeconds = Number(spec["expirationSeconds"] ?? DEFAULT_LIFETIME_SECONDS);
  if (expirationSeconds < SHORTEST_SECONDS) {
    throw refusedLifetime(expirationSeconds, "may not specify a duration less than 10 minutes");
  }
  if (expirationSeconds > LONGEST_SECONDS) {
    throw refusedLifetime(expirationSeconds, "may not specify a duration larger than 2^32 seconds");
  }
  await review(call, { ...admission, object: asked });
  const wanted = (spec["audiences"] ?? []) as readonly string[];
  const audiences = wanted.length === 0 ? [AUDIENCE] : wanted;
  checkBound(call, spec["boundObjectRef"]);
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
      creationTimestamp,
      managedFields: ownedBy(call, sent, creationTimestamp),
    },
    spec: { boundObjectRef: null, ...spec, audiences, expirationSeconds },
    status: { token, expirationTimestamp: toRfc3339(expiresMs) },
  };
  return { status: 201, headers: { "content-type": "application/json" }, body: answer };
}

function refusedLifetime(seconds: number, text: string): ApiError {
  return invalid({ group: "authentication.k8s.io", kind: "TokenRequest" }, "", [
    invalidField("spec.expirationSeconds", seconds, text),
  ]);
}

/** Even what is never stored says who sent it. */
function ownedBy(call: Call, spec: object, time: string): readonly unknown[] {
  const fields = Object.keys({ expirationSeconds: 0, ...spec }).sort();
  return [
    {
      manager: managerOf(call),
      operation: "Update",
      apiVersion: "authentication.k8s.io/v1",
      time,
      fieldsType: "FieldsV1",
      fieldsV1: { "f:spec": Object.fromEntries(fields.map((field) => [`f:${field}`, {}])) },
      subresource: "token",
    },
  ];
}

/** Kinds whose end may end a token. */
const BINDABLE: Readonly<Record<string, string>> = {
  Pod: "pods",
  Secret: "secrets",
  Node: "nodes",
};

function checkBound({ engine, path }: Call, reference: unknown): void {
  if (!isObject(reference)) return;
  const { apiVersion = "", kind = "", name = "" } = reference as Record<string, string>;
  const plural = apiVersion === "v1" ? BINDABLE[kind] : undefined;
  if (plural === undefined)
    throw badRequest(`cannot bind token to object of type /${apiVersion}, Kind=${kind}`);
  const namespace = kind === "Node" ? undefined : path.namespace;
  if (engine.store.get(plural, namespace, name) === undefined)
    throw notFound({ group: "", plural }, name);
}
