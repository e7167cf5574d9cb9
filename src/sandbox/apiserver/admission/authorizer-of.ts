/** The `authorizer` that expressions of admission ask: the server's own roles, and the sender of the request. */
import { authorize } from "../access/rbac.ts";
import { Authorizer } from "../cel/authorizer.ts";
import type { Call } from "../engine.ts";

/** `name`: of the object that the request is about. */
export function authorizerOf({ engine, user, definition, path }: Call, name: string): Authorizer {
  const requestResource = {
    group: definition.group,
    resource: definition.plural,
    subresource: path.subresource ?? "",
    namespace: path.namespace ?? "",
    name,
  };
  return new Authorizer((question, account) => {
    const sender =
      account === undefined
        ? user
        : {
            name: `system:serviceaccount:${account.namespace}:${account.name}`,
            // Unlike who sends a token it is not in system:authenticated.
            groups: ["system:serviceaccounts", `system:serviceaccounts:${account.namespace}`],
          };
    return authorize(engine.store, sender, question);
  }, requestResource);
}
