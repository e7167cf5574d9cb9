/**
 * Who asks: tokens of service accounts, which the server hands out and knows again, and those who speak for
 * somebody else (`kubectl --as`).
 * upstream: apiserver pkg/authentication/serviceaccount, pkg/endpoints/filters/impersonation.go
 */
import type { User } from "../api-server.ts";
import type { Engine } from "../engine.ts";
import { PlainError } from "../request/status.ts";
import type { Store } from "../store/store.ts";
import { type ResourceAttributes, refused } from "./attributes.ts";
import { authorize } from "./rbac.ts";

const ACCOUNT = /^system:serviceaccount:([^:]+):([^:]+)$/;
const AUTHENTICATION = "authentication.k8s.io";
const ISSUER = "https://kubernetes.default.svc";

/** A token for a service account, made like those of kube-apiserver; only this server can tell it from a forged one. */
export function issueToken(
  engine: Engine,
  account: { readonly namespace: string; readonly name: string; readonly uid: string },
  lifetimeSeconds: number,
  audiences: readonly string[],
): { readonly token: string; readonly expiresMs: number } {
  const nowMs = engine.clock.now();
  const issued = Math.floor(nowMs / 1_000);
  const id = engine.random.uuid();
  const { namespace, name, uid } = account;
  const claims = {
    aud: audiences,
    exp: issued + lifetimeSeconds,
    iat: issued,
    iss: ISSUER,
    jti: id,
    "kubernetes.io": { namespace, serviceaccount: { name, uid } },
    nbf: issued,
    sub: `system:serviceaccount:${namespace}:${name}`,
  };
  const parts = [{ alg: "RS256", kid: "sandbox" }, claims].map((part) =>
    Buffer.from(JSON.stringify(part)).toString("base64url"),
  );
  const token = `${parts.join(".")}.${engine.random.hex(64)}`;
  const expiresMs = nowMs + lifetimeSeconds * 1_000;
  engine.tokens.set(token, { ...account, id, expiresMs, audiences });
  return { token, expiresMs };
}

/** Whose token it is; undefined for one that is not ours, too old, or of an account that is gone. */
export function accountOf(engine: Engine, token: string): User | undefined {
  const known = engine.tokens.get(token);
  if (known === undefined) return undefined;
  const { namespace, name, uid, id, expiresMs } = known;
  const account = engine.store.get("serviceaccounts", namespace, name);
  if (expiresMs <= engine.clock.now() || account?.metadata.uid !== uid) {
    engine.tokens.delete(token);
    return undefined;
  }
  return {
    name: `system:serviceaccount:${namespace}:${name}`,
    uid,
    groups: accountGroups(namespace),
    extra: { "authentication.kubernetes.io/credential-id": [`JTI=${id}`] },
  };
}

function accountGroups(namespace: string): readonly string[] {
  return ["system:serviceaccounts", `system:serviceaccounts:${namespace}`, "system:authenticated"];
}

/** The user that the request is to be judged as. Throws 403 for who may not speak for others; `path` is for sentences. */
export function impersonated(
  store: Store,
  user: User,
  headers: Readonly<Record<string, string>>,
  path: string,
): User {
  // An empty header is none.
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

/** Nobody's browser is to take the text for a page. */
function withoutMarkup(text: string): string {
  return text.replace(/[&<>]/g, (one) => MARKUP[one] ?? one);
}

/** As Go prints references: kind, namespace, name, id, version of the API, version, field. */
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

/** `Impersonate-Extra-Team: blue`, by key. */
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

/** What is escaped wrongly stays as it is. */
function unescaped(key: string): string {
  try {
    return decodeURIComponent(key);
  } catch {
    return key;
  }
}
