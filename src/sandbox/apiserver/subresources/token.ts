/**
 * serviceaccounts/token: answers a TokenRequest with a token that opens what the account's roles allow, until it
 * expires or the account is gone.
 */
import type { KubeObject } from "../../../apis/meta.ts";
import { toRfc3339 } from "../../../base/clock.ts";
import { isObject } from "../../../base/json.ts";
import type { KubeResponse } from "../../../kube/transport/transport.ts";
import { issueToken } from "../access/identity.ts";
import { mutate, review } from "../admission/admission.ts";
import { type Call, managerOf } from "../engine.ts";
import { getObject } from "../objects/read.ts";
import { type ApiError, badRequest, invalid, notFound } from "../request/status.ts";
import { invalid as invalidField } from "../schema/field-error.ts";
import { postedBody } from "./posted-body.ts";

const DEFAULT_LIFETIME_SECONDS = 3_600;
const SHORTEST_SECONDS = 600;
const LONGEST_SECONDS = 2 ** 32;
const AUDIENCE = "https://kubernetes.default.svc";
const ADMISSION = {
  operation: "CREATE",
  old: undefined,
  subresource: "token",
  kind: { group: "authentication.k8s.io", version: "v1", kind: "TokenRequest" },
} as const;

export async function requestToken(call: Call): Promise<KubeResponse> {
  const account = await getObject(call);
  const { engine, path } = call;
  const body = postedBody(ADMISSION.kind, call.body);
  const sent = isObject(body["spec"]) ? body["spec"] : {};
  const { name, namespace = "", uid = "" } = account.metadata;
  const asked = await mutate(call, { ...ADMISSION, object: requestOf(sent, namespace) });
  const creationTimestamp = toRfc3339(engine.clock.now());
  const spec = specOf(asked);
  const metadata = { ...asked.metadata, name, namespace, uid, creationTimestamp };
  checkLifetime(spec.expirationSeconds);
  await review(call, { ...ADMISSION, object: { ...asked, metadata, spec } as KubeObject });
  checkBound(call, spec.boundObjectRef);
  const { token, expiresMs } = issueToken(
    engine,
    { namespace, name, uid },
    spec.expirationSeconds,
    spec.audiences,
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
    spec,
    status: { token, expirationTimestamp: toRfc3339(expiresMs) },
  };
  return { status: 201, headers: { "content-type": "application/json" }, body: answer };
}

/** As it was sent, and so as mutating webhooks see it: what it does not say of itself is filled in after them. */
function requestOf(sent: object, namespace: string): KubeObject {
  return {
    apiVersion: "authentication.k8s.io/v1",
    kind: "TokenRequest",
    metadata: { namespace },
    spec: {
      audiences: null,
      expirationSeconds: DEFAULT_LIFETIME_SECONDS,
      boundObjectRef: null,
      ...sent,
    },
    status: { token: "", expirationTimestamp: null },
  } as unknown as KubeObject;
}

interface TokenSpec {
  readonly audiences: readonly string[];
  readonly expirationSeconds: number;
  readonly boundObjectRef?: unknown;
}

function specOf(asked: KubeObject): TokenSpec {
  const { spec } = asked as { readonly spec?: { readonly [Field in keyof TokenSpec]?: unknown } };
  const audiences = (spec?.audiences ?? []) as readonly string[];
  return {
    boundObjectRef: null,
    ...spec,
    audiences: audiences.length === 0 ? [AUDIENCE] : audiences,
    expirationSeconds: Number(spec?.expirationSeconds ?? DEFAULT_LIFETIME_SECONDS),
  };
}

function checkLifetime(seconds: number): void {
  if (seconds < SHORTEST_SECONDS)
    throw refusedLifetime(seconds, "may not specify a duration less than 10 minutes");
  if (seconds > LONGEST_SECONDS)
    throw refusedLifetime(seconds, "may not specify a duration larger than 2^32 seconds");
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
