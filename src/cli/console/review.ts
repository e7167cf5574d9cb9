/**
 * Asks the API server whose token it is, and whether that user may `get` a non-resource URL (TokenReview and
 * SubjectAccessReview).
 */
import { isObject } from "../../base/json.ts";
import type { KubeClient } from "../../kube/client/client.ts";

type Json = Readonly<Record<string, unknown>>;

/**
 * Whether the token's user may get the URL. False for an unknown token. Rejects if the API server does not answer or
 * refuses the review.
 */
export function reviewBy(
  client: Pick<KubeClient, "raw">,
): (token: string, path: string) => Promise<boolean> {
  const ask = async (group: string, plural: string, kind: string, spec: Json): Promise<Json> => {
    const apiVersion = `${group}/v1`;
    const body = { apiVersion, kind, metadata: {}, spec };
    const path = `/apis/${group}/v1/${plural}`;
    const answer = await client.raw({ method: "POST", path, body });
    return objectIn(objectIn(answer.body)["status"]);
  };
  return async (token, path) => {
    const known = await ask("authentication.k8s.io", "tokenreviews", "TokenReview", { token });
    const { username, uid, groups, extra } = objectIn(known["user"]);
    if (known["authenticated"] !== true || typeof username !== "string") return false;
    const verdict = await ask(
      "authorization.k8s.io",
      "subjectaccessreviews",
      "SubjectAccessReview",
      { user: username, uid, groups, extra, nonResourceAttributes: { path, verb: "get" } },
    );
    return verdict["allowed"] === true && verdict["denied"] !== true;
  };
}

function objectIn(value: unknown): Json {
  return isObject(value) ? (value as Json) : {};
}
