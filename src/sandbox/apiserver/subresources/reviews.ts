/**
 * Reviews that are posted and answered but never stored: who the caller is, what the caller may do, to whom a token
 * belongs.
 * upstream: pkg/registry/authorization, pkg/registry/authentication
 */

import type { PolicyRule } from "../../../apis/rbac/kinds.ts";
import { toRfc3339 } from "../../../base/clock.ts";
import { isObject } from "../../../base/json.ts";
import type { KubeRequest, KubeResponse } from "../../../kube/transport/transport.ts";
import type { Attributes } from "../access/attributes.ts";
import { OWN_AUDIENCE, readToken } from "../access/identity.ts";
import { authorize, rulesFor } from "../access/rbac.ts";
import type { User } from "../api-server.ts";
import { type Engine, managerOf } from "../engine.ts";
import { parseTarget, type ResourcePath } from "../request/routing.ts";
import { badRequest, invalid, methodNotAllowed } from "../request/status.ts";
import { invalid as invalidField } from "../schema/field-error.ts";
import type { FieldError } from "../schema/schema.ts";
import { postedBody } from "./posted-body.ts";

type Json = Readonly<Record<string, unknown>>;

const KINDS = {
  "authentication.k8s.io/selfsubjectreviews": "SelfSubjectReview",
  "authentication.k8s.io/tokenreviews": "TokenReview",
  "authorization.k8s.io/localsubjectaccessreviews": "LocalSubjectAccessReview",
  "authorization.k8s.io/selfsubjectaccessreviews": "SelfSubjectAccessReview",
  "authorization.k8s.io/selfsubjectrulesreviews": "SelfSubjectRulesReview",
  "authorization.k8s.io/subjectaccessreviews": "SubjectAccessReview",
} as const;

type Review = (typeof KINDS)[keyof typeof KINDS];
const REVIEWS: ReadonlyMap<string, Review> = new Map(Object.entries(KINDS));

/** The answer to a review; undefined for other paths. Throws 400 and 422 for an invalid review. */
export function answerReview(
  engine: Engine,
  path: ResourcePath,
  request: KubeRequest,
  user: User,
): KubeResponse | undefined {
  const { group, version, plural, name, namespace } = path;
  const kind = REVIEWS.get(`${group}/${plural}`);
  if (kind === undefined || name !== undefined || version !== "v1") return undefined;
  if (request.method !== "POST") throw methodNotAllowed();
  const sent = postedBody({ group, version, kind }, request.body);
  const spec = (isObject(sent["spec"]) ? sent["spec"] : {}) as Json;
  const answer = answerOf(kind, engine, namespace, spec, user);
  const apiVersion = `${group}/${version}`;
  const owned = Object.keys(spec).length > 0 && kind !== "SelfSubjectRulesReview";
  const metadata = {
    ...(namespace === undefined ? {} : { namespace }),
    ...(owned ? { managedFields: [ownedSpec(engine, request, user, apiVersion, spec)] } : {}),
  };
  const body = { kind, apiVersion, metadata, ...answer };
  return { status: 201, headers: { "content-type": "application/json" }, body };
}

/** The managedFields entry of the answer. The answer has one although it is not stored. */
function ownedSpec(
  engine: Engine,
  request: KubeRequest,
  user: User,
  apiVersion: string,
  spec: Json,
): unknown {
  return {
    manager: managerOf({
      query: parseTarget(request.path).query,
      headers: request.headers ?? {},
      user,
    }),
    operation: "Update",
    apiVersion,
    time: toRfc3339(engine.clock.now()),
    fieldsType: "FieldsV1",
    fieldsV1: { "f:spec": fieldsOf(spec) },
  };
}

function fieldsOf(value: Json): Json {
  return Object.fromEntries(
    Object.entries(value).map(([name, field]) => [
      `f:${name}`,
      isObject(field) ? { ".": {}, ...fieldsOf(field) } : {},
    ]),
  );
}

function answerOf(
  kind: Review,
  engine: Engine,
  namespace: string | undefined,
  spec: Json,
  user: User,
): Json {
  const { store } = engine;
  switch (kind) {
    case "SelfSubjectAccessReview": {
      checkQuestion(spec, []);
      return { spec, status: verdict(authorize(store, user, attributesOf(spec))) };
    }
    case "SubjectAccessReview":
    case "LocalSubjectAccessReview": {
      const groups = (spec["groups"] ?? []) as readonly string[];
      const name = String(spec["user"] ?? "");
      checkQuestion(spec, [
        ...(name === "" && groups.length === 0 ? [NOBODY] : []),
        ...elsewhere(spec, namespace),
      ]);
      return { spec, status: verdict(authorize(store, { name, groups }, attributesOf(spec))) };
    }
    case "SelfSubjectRulesReview": {
      const where = String(spec["namespace"] ?? "");
      if (where === "") throw badRequest("no namespace on request");
      return { spec: {}, status: rulesStatus(engine, user, where) };
    }
    case "SelfSubjectReview":
      return {
        metadata: { creationTimestamp: toRfc3339(engine.clock.now()) },
        status: { userInfo: userInfo(user) },
      };
    case "TokenReview":
      return { spec, status: tokenStatus(engine, spec) };
  }
}

const NOBODY: FieldError = {
  field: "spec.user",
  reason: "FieldValueInvalid",
  message: 'Invalid value: "": at least one of user or group must be specified',
};

/** A review posted in a namespace must ask about that namespace. */
function elsewhere(spec: Json, namespace: string | undefined): readonly FieldError[] {
  const asked = spec["resourceAttributes"];
  if (namespace === undefined || !isObject(asked) || asked["namespace"] === namespace) return [];
  const field = "spec.resourceAttributes.namespace";
  return [invalidField(field, asked["namespace"] ?? "", "must match metadata.namespace")];
}

function checkQuestion(spec: Json, others: readonly FieldError[]): void {
  const asked = [spec["resourceAttributes"], spec["nonResourceAttributes"]].filter(isObject);
  const unclear: FieldError = {
    field: "spec.resourceAttributes",
    reason: "FieldValueInvalid",
    message:
      "Invalid value: null: exactly one of nonResourceAttributes or resourceAttributes must be specified",
  };
  const both = isObject(spec["nonResourceAttributes"]) ? spec["nonResourceAttributes"] : {};
  const shown = { Path: both["path"] ?? "", Verb: both["verb"] ?? "" };
  const combined = invalidField(
    "spec.nonResourceAttributes",
    shown,
    "cannot be specified in combination with resourceAttributes",
  );
  const wrong = asked.length === 2 ? [combined] : asked.length === 0 ? [unclear] : [];
  const errors = [...wrong, ...others];
  if (errors.length > 0) throw invalid({ group: "authorization.k8s.io", kind: "" }, "", errors);
}

function attributesOf(spec: Json): Attributes {
  const text = (from: Json, field: string): string => String(from[field] ?? "");
  const path = spec["nonResourceAttributes"];
  if (isObject(path)) return { verb: text(path, "verb"), path: text(path, "path") };
  const asked = spec["resourceAttributes"] as Json;
  return {
    verb: text(asked, "verb"),
    group: text(asked, "group"),
    resource: text(asked, "resource"),
    subresource: text(asked, "subresource"),
    namespace: text(asked, "namespace"),
    name: text(asked, "name"),
  };
}

function verdict({ allowed, reason }: { allowed: boolean; reason: string }): unknown {
  return { allowed, ...(reason === "" ? {} : { reason }) };
}

function rulesStatus(engine: Engine, user: User, namespace: string): unknown {
  const rules = rulesFor(engine.store, user, namespace);
  return {
    resourceRules: rules.filter((rule) => (rule.resources ?? []).length > 0).map(resourceRule),
    nonResourceRules: rules
      .filter((rule) => (rule.nonResourceURLs ?? []).length > 0)
      .map(({ verbs, nonResourceURLs }) => ({ verbs, nonResourceURLs })),
    incomplete: false,
  };
}

function resourceRule({ verbs, apiGroups, resources, resourceNames }: PolicyRule): unknown {
  return { verbs, apiGroups, resources, ...(resourceNames === undefined ? {} : { resourceNames }) };
}

function userInfo({ name, groups, uid, extra }: User): unknown {
  return {
    username: name,
    ...(uid === undefined ? {} : { uid }),
    groups,
    ...(extra === undefined ? {} : { extra }),
  };
}

function tokenStatus(engine: Engine, spec: Json): unknown {
  const token = String(spec["token"] ?? "");
  if (token === "") throw badRequest("token is required for TokenReview in authentication");
  const wanted = (spec["audiences"] ?? []) as readonly string[];
  const answer = readToken(engine, token, wanted.length === 0 ? [OWN_AUDIENCE] : wanted);
  if (answer.user === undefined) return { user: {}, error: answer.problem };
  return { authenticated: true, user: userInfo(answer.user), audiences: answer.audiences };
}
