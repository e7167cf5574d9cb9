import { Environment } from "@marcbachmann/cel-js";
import { describe, expect, it } from "vitest";
import { type Ask, Authorizer, registerAuthorizer } from "./authorizer.ts";

const REQUESTED = {
  group: "apps",
  resource: "deployments",
  subresource: "scale",
  namespace: "web",
  name: "a",
};
const ANYTHING = { group: "", resource: "pods", subresource: "", namespace: "", name: "" };

/**
 * The value of an expression when every request is `allowed` (or refused), and the questions that it asked.
 */
function asked(expression: string, allowed = true) {
  const questions: Parameters<Ask>[] = [];
  const authorizer = new Authorizer((...question) => {
    questions.push(question);
    return { allowed, reason: "by a role" };
  }, REQUESTED);
  const environment = new Environment();
  registerAuthorizer(environment);
  const value = environment.parse(expression)({ authorizer });
  return { value, questions };
}

describe("the variable authorizer in an admission expression", () => {
  it.each<[string, object, object | undefined]>([
    ["authorizer.path('/metrics').check('get')", { verb: "get", path: "/metrics" }, undefined],
    [
      "authorizer.group('').resource('pods').check('create')",
      { verb: "create", ...ANYTHING },
      undefined,
    ],
    [
      "authorizer.group('apps').resource('deployments').subresource('scale').namespace('web').name('a').check('update')",
      { verb: "update", ...REQUESTED },
      undefined,
    ],
    ["authorizer.requestResource.check('delete')", { verb: "delete", ...REQUESTED }, undefined],
    [
      "authorizer.serviceAccount('web', 'bot').group('').resource('pods').check('list')",
      { verb: "list", ...ANYTHING },
      { namespace: "web", name: "bot" },
    ],
    [
      "authorizer.serviceAccount('web', 'bot').requestResource.check('get')",
      { verb: "get", ...REQUESTED },
      { namespace: "web", name: "bot" },
    ],
  ])("%s asks about exactly that request", (expression, question, account) => {
    expect(asked(`${expression}.allowed()`)).toEqual({
      value: true,
      questions: [[question, account]],
    });
    expect(asked(`${expression}.allowed()`, false).value).toBe(false);
    expect(asked(`${expression}.reason()`).value).toBe("by a role");
  });

  it("refuses an empty path, and a service account with an impossible name", () => {
    expect(() => asked("authorizer.path('').check('get').allowed()")).toThrow("must not be empty");
    for (const [namespace, name] of [
      ["web", "A_b"],
      ["de.fault", "bot"],
    ])
      expect(() =>
        asked(
          `authorizer.serviceAccount('${namespace}', '${name}').path('/a').check('get').allowed()`,
        ),
      ).toThrow("Invalid service account");
  });
});
