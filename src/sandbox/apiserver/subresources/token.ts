/**
 * serviceaccounts/token: answers a TokenRequest. The token has the rights of the account's roles until it expires or
 * the account is deleted.
 */
import type { KubeObject } from "../../../apis/meta.ts";
import { toRfc3339 } from "../../../base/clock.ts";
import { fieldOf, isObject } from "../../../base/json.ts";
import { compareText } from "../../../base/text-order.ts";
import type { KubeResponse } from "../../../kube/transport/transport.ts";
import { issueToken, OWN_AUDIENCE, type TokenWish } from "../access/identity.ts";
import { mutate, review } from "../admission/admission.ts";
import { type Call, managerOf } from "../engine.ts";
import { getObject } from "../objects/read.ts";
import { ApiError, badRequest, invalid, notFound } from "../request/status.ts";
import { invalid as invalidField } from "../schema/field-error.ts";
import { postedBody } from "./posted-body.ts";

const DEFAULT_LIFETIME_SECONDS = 3_600;
const SHORTEST_SECONDS = 600;
const LONGEST_SECONDS = 2 ** 32;
const ADMISSION = {
  operation: "CREATE",
  old: undefined,
  subresource: "token",
  kind: { group: "authentication.k8s.io", version: "v1", kind: "TokenRequest" },
} as const;

/** A token for the service account, as `kubectl create token` asks for it. */
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
  const { token, expiresMs } = issueToken(engine, {
    account: { namespace, name, uid },
    lifetimeSeconds: spec.expirationSeconds,
    audiences: spec.audiences,
    bound: boundTo(call, name, spec.boundObjectRef),
  });
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

/** The request as the client sent it and mutating webhooks see it. Defaults are added later. */
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
    audiences: audiences.length === 0 ? [OWN_AUDIENCE] : audiences,
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

/** The managedFields of the answer. The answer has them although it is not stored. */
function ownedBy(call: Call, spec: object, time: string): readonly unknown[] {
  return [
    {
      manager: managerOf(call),
      operation: "Update",
      apiVersion: "authentication.k8s.io/v1",
      time,
      fieldsType: "FieldsV1",
      fieldsV1: fieldsIn({ spec: { expirationSeconds: 0, ...spec } }),
      subresource: "token",
    },
  ];
}

function fieldsIn(value: object): Record<string, unknown> {
  const named = Object.entries(value).map(([field, below]) => [
    `f:${field}`,
    isObject(below) ? fieldsIn(below) : {},
  ]);
  return Object.fromEntries(named.sort(([left], [right]) => compareText(`${left}`, `${right}`)));
}

/** Kinds of objects that a token can be bound to: it becomes invalid when the object is deleted. */
const BINDABLE: Readonly<Record<string, string>> = {
  Pod: "pods",
  Secret: "secrets",
  Node: "nodes",
};

/** The object whose deletion ends the token. A pod's token also names the pod's node. */
function boundTo(
  { engine, path }: Call,
  account: string,
  reference: unknown,
): NonNullable<TokenWish["bound"]> {
  if (!isObject(reference)) return {};
  const {
    apiVersion = "",
    kind = "",
    name = "",
    uid: asked = "",
  } = reference as Partial<Record<string, string>>;
  const plural = apiVersion === "v1" ? fieldOf(BINDABLE, kind) : undefined;
  if (plural === undefined)
    throw badRequest(`cannot bind token to object of type /${apiVersion}, Kind=${kind}`);
  const namespace = kind === "Node" ? undefined : path.namespace;
  const object = engine.store.get(plural, namespace, name);
  if (object === undefined) throw notFound({ group: "", plural }, name);
  const { uid = "" } = object.metadata;
  const { spec } = object as { spec?: { serviceAccountName?: string; nodeName?: string } };
  if (kind === "Pod" && spec?.serviceAccountName !== account) {
    throw badRequest(
      `cannot bind token for serviceaccount "${account}" to pod running with different serviceaccount name.`,
    );
  }
  if (asked !== "" && asked !== uid) {
    const why = `the UID in the bound object reference (${asked}) does not match the UID in record. The object might have been deleted and then recreated`;
    const message = `Operation cannot be fulfilled on ${kind} "${name}": ${why}`;
    throw new ApiError(409, "Conflict", message, { name, kind });
  }
  const itself = { name, uid };
  if (kind === "Secret") return { secret: itself };
  if (kind === "Node") return { node: itself };
  const { nodeName } = spec ?? {};
  if (nodeName === undefined) return { pod: itself };
  const node = engine.store.get("nodes", undefined, nodeName)?.metadata.uid;
  return {
    pod: itself,
    node: { name: nodeName, ...(node === undefined ? {} : { uid: node }) },
  };
}
