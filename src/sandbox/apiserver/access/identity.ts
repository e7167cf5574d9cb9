/**
 * Finds the user of a request: from the token of a service account, which this server issued, or from the
 * impersonation headers (`kubectl --as`).
 * upstream: apiserver pkg/authentication/serviceaccount, pkg/endpoints/filters/impersonation.go
 */
import type { User } from "../api-server.ts";
import type { Engine } from "../engine.ts";
import { PlainError } from "../request/status.ts";
import type { Store } from "../store/store.ts";
import { type ResourceAttributes, refused } from "./attributes.ts";
import { authorize } from "./rbac.ts";
import type { Claims, Reference } from "./tokens.ts";

const ACCOUNT = /^system:serviceaccount:([^:]+):([^:]+)$/;
const AUTHENTICATION = "authentication.k8s.io";
const ISSUER = "https://kubernetes.default.svc";
/** The audience of this server. A token is accepted only if its audiences include this one. */
export const OWN_AUDIENCE = ISSUER;
/** Milliseconds for which a token bound to an object stays valid after the object's deletion was requested. */
const LEEWAY_MS = 60_000;

/** What a new token must contain. */
export interface TokenWish {
  readonly account: { readonly namespace: string; readonly name: string; readonly uid: string };
  readonly lifetimeSeconds: number;
  readonly audiences: readonly string[];
  readonly bound?: Pick<Claims["kubernetes.io"], "node" | "pod" | "secret">;
}

/** A token for a service account, with the claims that kube-apiserver writes. */
export function issueToken(
  { clock, random, tokens }: Engine,
  { account, lifetimeSeconds, audiences, bound }: TokenWish,
): { readonly token: string; readonly expiresMs: number } {
  const nowMs = clock.now();
  const issued = Math.floor(nowMs / 1_000);
  const { namespace, name, uid } = account;
  const token = tokens.sign({
    aud: audiences,
    exp: issued + lifetimeSeconds,
    iat: issued,
    iss: ISSUER,
    jti: random.uuid(),
    "kubernetes.io": { namespace, ...bound, serviceaccount: { name, uid } },
    nbf: issued,
    sub: `system:serviceaccount:${namespace}:${name}`,
  });
  return { token, expiresMs: nowMs + lifetimeSeconds * 1_000 };
}

/** The user of a token and the audiences that match, or why the token is rejected. */
export type TokenAnswer =
  | { readonly user: User; readonly audiences: readonly string[] }
  | { readonly user: undefined; readonly problem: string };

/**
 * Checks a token against the present time and the objects that exist now. `problem` is kube-apiserver's text. A
 * token is rejected if another server signed it, if it has expired, if it is for other audiences, or if its
 * account, pod, secret or node is gone.
 * upstream: pkg/serviceaccount/jwt.go, pkg/serviceaccount/claims.go
 */
export function readToken(
  engine: Engine,
  token: string,
  audiences: readonly string[] = [OWN_AUDIENCE],
): TokenAnswer {
  const claims = engine.tokens.read(token);
  if (claims === undefined) return { user: undefined, problem: "invalid bearer token" };
  const common = claims.aud.filter((one) => audiences.includes(one));
  const problem = common.length === 0 ? foreign(claims.aud, audiences) : endOf(engine, claims);
  if (problem !== undefined)
    return { user: undefined, problem: `[invalid bearer token, ${problem}]` };
  return { user: holderOf(claims), audiences: common };
}

/** The message for wrong audiences, with both lists formatted as Go does. */
function foreign(given: readonly string[], wanted: readonly string[]): string {
  const [mine, theirs] = [given, wanted].map((list) => JSON.stringify(list).replaceAll(",", " "));
  return `token audiences ${mine} is invalid for the target audiences ${theirs}`;
}

const INVALIDATED = "service account token has been invalidated";

/** Why a token of this server is not valid now, or undefined. */
function endOf({ clock, store }: Engine, claims: Claims): string | undefined {
  const nowMs = clock.now();
  if (nowMs + LEEWAY_MS < claims.nbf * 1_000) return "service account token is not valid yet";
  if (nowMs - LEEWAY_MS > claims.exp * 1_000) return "service account token has expired";
  const { namespace, node, pod, secret, serviceaccount } = claims["kubernetes.io"];
  const bound: readonly (readonly [string, string | undefined, Reference | undefined])[] = [
    ["serviceaccounts", namespace, serviceaccount],
    ["secrets", namespace, secret],
    ["pods", namespace, pod],
    // A pod's token only records the pod's node, so the node may be deleted.
    ["nodes", undefined, pod === undefined ? node : undefined],
  ];
  for (const [storageKey, where, reference] of bound) {
    if (reference === undefined) continue;
    const object = store.get(storageKey, where, reference.name);
    const isAccount = storageKey === "serviceaccounts";
    if (object === undefined)
      return isAccount ? `serviceaccounts "${reference.name}" not found` : INVALIDATED;
    const { deletionTimestamp, uid = "" } = object.metadata;
    if (uid !== reference.uid) return otherUid(storageKey, uid, reference.uid ?? "");
    if (deletionTimestamp !== undefined && Date.parse(deletionTimestamp) < nowMs - LEEWAY_MS)
      return INVALIDATED;
  }
  return undefined;
}

const BOUND_KINDS: Readonly<Record<string, readonly [string, string]>> = {
  serviceaccounts: ["service account", ""],
  secrets: ["secret", "service account secret ref claim"],
  pods: ["pod", "service account pod ref claim"],
  nodes: ["node", "service account node ref claim"],
};

function otherUid(storageKey: string, now: string, claimed: string): string {
  const [kind = "", claim = ""] = BOUND_KINDS[storageKey] ?? [];
  if (claim === "") return `service account UID (${now}) does not match claim (${claimed})`;
  return `${kind} UID (${now}) does not match ${claim} (${claimed})`;
}

function holderOf({ jti, "kubernetes.io": about, sub }: Claims): User {
  const prefix = "authentication.kubernetes.io/";
  const { namespace, node, pod, serviceaccount } = about;
  const { uid } = serviceaccount;
  return {
    name: sub,
    ...(uid === undefined ? {} : { uid }),
    groups: accountGroups(namespace),
    extra: {
      [`${prefix}credential-id`]: [`JTI=${jti}`],
      ...(node === undefined ? {} : { [`${prefix}node-name`]: [node.name] }),
      ...(node?.uid === undefined ? {} : { [`${prefix}node-uid`]: [node.uid] }),
      ...(pod === undefined ? {} : { [`${prefix}pod-name`]: [pod.name] }),
      ...(pod?.uid === undefined ? {} : { [`${prefix}pod-uid`]: [pod.uid] }),
    },
  };
}

function accountGroups(namespace: string): readonly string[] {
  return ["system:serviceaccounts", `system:serviceaccounts:${namespace}`, "system:authenticated"];
}

/**
 * The user that the request acts as. Throws 403 if the sender may not impersonate that user. `path` appears
 * in the error text.
 */
export function impersonated(
  store: Store,
  user: User,
  headers: Readonly<Record<string, string>>,
  path: string,
): User {
  // An empty header counts as missing.
  const name = headers["impersonate-user"] || undefined;
  const asked = headers["impersonate-group"];
  const uid = headers["impersonate-uid"] || undefined;
  const extra = extraOf(headers);
  const groups = (asked ?? "").split(",").flatMap((group) => group.trim() || []);
  if (name === undefined) {
    const wishes = wishesOf(groups, extra, uid);
    if (wishes.length === 0) return user;
    const text = `requested [${wishes.join(" ")}] without impersonating a user`;
    throw new PlainError(withoutMarkup(`Internal Server Error: ${JSON.stringify(path)}: ${text}`));
  }
  const account = ACCOUNT.exec(name);
  const check = (
    resource: string,
    target: string,
    { namespace = "", group = "", subresource = "" } = {},
  ): void => {
    const attributes: ResourceAttributes = {
      verb: "impersonate",
      group,
      resource,
      subresource,
      namespace,
      name: target,
    };
    const { allowed, reason } = authorize(store, user, attributes);
    if (!allowed) throw refused(user.name, attributes, reason);
  };
  if (account !== null)
    check("serviceaccounts", account[2] as string, { namespace: account[1] as string });
  else check("users", name);
  for (const group of groups) check("groups", group);
  if (uid !== undefined) check("uids", uid, { group: AUTHENTICATION });
  for (const [key, values] of Object.entries(extra))
    for (const value of values)
      check("userextras", value, { group: AUTHENTICATION, subresource: key });
  const known =
    groups.length > 0 ? groups : account === null ? [] : accountGroups(account[1] as string);
  const standing = name === "system:anonymous" ? "system:unauthenticated" : "system:authenticated";
  return {
    name,
    groups: known.includes(standing) ? known : [...known, standing],
    ...(uid === undefined ? {} : { uid }),
    ...(Object.keys(extra).length === 0 ? {} : { extra }),
  };
}

const MARKUP: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;" };

/** Escapes markup, so that a browser does not show the text as a page. */
function withoutMarkup(text: string): string {
  return text.replace(/[&<>]/g, (one) => MARKUP[one] ?? one);
}

/**
 * The impersonated groups, extra values and UID, each as Go prints an object reference. Its fields: kind, namespace,
 * name, UID, API version, resource version, field path.
 */
function wishesOf(
  groups: readonly string[],
  extra: Readonly<Record<string, string[]>>,
  uid: string | undefined,
): readonly string[] {
  const version = `${AUTHENTICATION}/v1`;
  return [
    ...groups.map((group) => `{Group  ${group}    }`),
    ...Object.entries(extra).flatMap(([key, values]) =>
      values.map((value) => `{UserExtra  ${value}  ${version}  ${key}}`),
    ),
    ...(uid === undefined ? [] : [`{UID  ${uid}  ${version}  }`]),
  ];
}

/** The values of `Impersonate-Extra-…` headers, by key: `Impersonate-Extra-Team: blue` gives `team`. */
function extraOf(headers: Readonly<Record<string, string>>): Readonly<Record<string, string[]>> {
  const prefix = "impersonate-extra-";
  const found = Object.entries(headers).filter(([header]) => header.startsWith(prefix));
  return Object.fromEntries(
    found.map(([header, values]) => [
      unescaped(header.slice(prefix.length)),
      values.split(",").map((value) => value.trim()),
    ]),
  );
}

/** Decodes percent escapes. A text with a wrong escape stays unchanged. */
function unescaped(key: string): string {
  try {
    return decodeURIComponent(key);
  } catch {
    return key;
  }
}
