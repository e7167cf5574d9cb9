/**
 * Makes the variable `authorizer` of admission expressions. It asks the server's RBAC about the sender of a
 * request or about a service account.
 */
import { authorize } from "../access/rbac.ts";
import { Authorizer } from "../cel/authorizer.ts";
import type { Call } from "../engine.ts";

/** The variable `authorizer` for one request. `name`: the name of the request's object. */
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
            // A real token of this account would also have the group system:authenticated. Upstream's expressions
            // do not add that group.
            groups: ["system:serviceaccounts", `system:serviceaccounts:${account.namespace}`],
          };
    return authorize(engine.store, sender, question);
  }, requestResource);
}
