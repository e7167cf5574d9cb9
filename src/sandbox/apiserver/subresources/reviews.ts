/**
 * Questions about oneself that are posted and never stored: who am I, may I. There is one kind of
 * user here, and it may do everything.
 */
import { isObject } from "../../../base/json.ts";
import type { KubeRequest, KubeResponse } from "../../../kube/transport.ts";
import type { User } from "../api-server.ts";
import type { ResourcePath } from "../routing.ts";

const ALL_RULES = [{ verbs: ["*"], apiGroups: ["*"], resources: ["*"] }];

/** The answer to a review, or undefined when the path is none. */
export function answerReview(
  path: ResourcePath,
  request: KubeRequest,
  user: User,
): KubeResponse | undefined {
  if (request.method !== "POST" || path.name !== undefined) return undefined;
  const status = statusOf(path, user);
  if (status === undefined) return undefined;
  const body = isObject(request.body) ? request.body : {};
  return {
    status: 201,
    headers: { "content-type": "application/json" },
    body: { metadata: {}, ...body, status },
  };
}

function statusOf({ group, plural }: ResourcePath, user: User): unknown {
  const userInfo = { username: user.name, groups: user.groups };
  switch (`${group}/${plural}`) {
    case "authorization.k8s.io/selfsubjectaccessreviews":
    case "authorization.k8s.io/subjectaccessreviews":
    case "authorization.k8s.io/localsubjectaccessreviews":
      return { allowed: true };
    case "authorization.k8s.io/selfsubjectrulesreviews":
      return {
        incomplete: false,
        resourceRules: ALL_RULES,
        nonResourceRules: [{ verbs: ["*"], nonResourceURLs: ["*"] }],
      };
    case "authentication.k8s.io/selfsubjectreviews":
      return { userInfo };
    case "authentication.k8s.io/tokenreviews":
      return { authenticated: true, user: userInfo };
    default:
      return undefined;
  }
}
