/**
 * The variable `authorizer` of admission expressions. It tells what the sender of a request, or a service
 * account, may do.
 * upstream: apiserver pkg/cel/library/authz.go
 */
import type { Environment } from "@marcbachmann/cel-js";
import { nameProblems } from "../schema/metadata.ts";

/** What an expression asks about: a resource, or a path such as /healthz. */
type Question =
  | {
      readonly verb: string;
      readonly group: string;
      readonly resource: string;
      readonly subresource: string;
      readonly namespace: string;
      readonly name: string;
    }
  | { readonly verb: string; readonly path: string };

interface Answer {
  readonly allowed: boolean;
  readonly reason: string;
}

/** Asks whether a request is allowed. `account` is a service account to ask about instead of the sender. */
export type Ask = (
  question: Question,
  account: { readonly namespace: string; readonly name: string } | undefined,
) => Answer;

type Resource = Omit<Extract<Question, { readonly group: string }>, "verb">;

const PACKAGE = "kubernetes.authorization";
const AUTHORIZER_TYPE = `${PACKAGE}.Authorizer`;

/** The value of the variable `authorizer`. `requestResource`: the resource of the request under admission. */
export class Authorizer {
  readonly requestResource: ResourceCheck;
  readonly ask: Ask;
  readonly account: Parameters<Ask>[1];

  constructor(ask: Ask, requestResource: Resource, account?: Parameters<Ask>[1]) {
    this.ask = ask;
    this.account = account;
    this.requestResource = new ResourceCheck(this, requestResource);
  }

  check(question: Question): Decision {
    return new Decision(this.ask(question, this.account));
  }
}

/**
 * A question to the authorizer, which an expression builds in several calls. Each stage is a class of its own, because
 * the CEL engine distinguishes types by class.
 */
class Check<About> {
  readonly authorizer: Authorizer;
  readonly about: About;
  constructor(authorizer: Authorizer, about: About) {
    this.authorizer = authorizer;
    this.about = about;
  }
}

class PathCheck extends Check<string> {}

class GroupCheck extends Check<string> {}

class ResourceCheck extends Check<Resource> {
  with(more: Partial<Resource>): ResourceCheck {
    return new ResourceCheck(this.authorizer, { ...this.about, ...more });
  }
}

class Decision {
  readonly answer: Answer;
  constructor(answer: Answer) {
    this.answer = answer;
  }
}

/** Registers the types and the variable `authorizer`. */
export function registerAuthorizer(environment: Environment): void {
  const [path, group, resource, decision] = [
    `${PACKAGE}.PathCheck`,
    `${PACKAGE}.GroupCheck`,
    `${PACKAGE}.ResourceCheck`,
    `${PACKAGE}.Decision`,
  ];
  environment
    .registerType(decision, { ctor: Decision, fields: {} })
    .registerType(path, { ctor: PathCheck, fields: {} })
    .registerType(resource, { ctor: ResourceCheck, fields: {} })
    .registerType(group, { ctor: GroupCheck, fields: {} })
    .registerType(AUTHORIZER_TYPE, { ctor: Authorizer, fields: { requestResource: resource } })
    .registerVariable("authorizer", AUTHORIZER_TYPE)
    .registerFunction(`${AUTHORIZER_TYPE}.path(string): ${path}`, (one: Authorizer, to: string) => {
      if (to === "") throw new Error("path must not be empty");
      return new PathCheck(one, to);
    })
    .registerFunction(
      `${AUTHORIZER_TYPE}.group(string): ${group}`,
      (one: Authorizer, name: string) => new GroupCheck(one, name),
    )
    .registerFunction(
      `${AUTHORIZER_TYPE}.serviceAccount(string, string): ${AUTHORIZER_TYPE}`,
      ({ ask, requestResource }: Authorizer, namespace: string, name: string) => {
        if (nameProblems(name, "subdomain").length > 0)
          throw new Error("Invalid service account name");
        if (nameProblems(namespace, "label").length > 0)
          throw new Error("Invalid service account namespace");
        return new Authorizer(ask, requestResource.about, { namespace, name });
      },
    )
    .registerFunction(`${path}.check(string): ${decision}`, (one: PathCheck, verb: string) =>
      one.authorizer.check({ verb, path: one.about }),
    )
    .registerFunction(
      `${group}.resource(string): ${resource}`,
      (one: GroupCheck, name: string) =>
        new ResourceCheck(one.authorizer, {
          group: one.about,
          resource: name,
          subresource: "",
          namespace: "",
          name: "",
        }),
    )
    .registerFunction(
      `${resource}.check(string): ${decision}`,
      (one: ResourceCheck, verb: string) => one.authorizer.check({ verb, ...one.about }),
    );
  for (const key of ["subresource", "namespace", "name"] as const)
    environment.registerFunction(
      `${resource}.${key}(string): ${resource}`,
      (one: ResourceCheck, value: string) => one.with({ [key]: value }),
    );
  // RBAC always gives an answer, so `errored()` is always false.
  environment
    .registerFunction(`${decision}.allowed(): bool`, ({ answer }: Decision) => answer.allowed)
    .registerFunction(`${decision}.reason(): string`, ({ answer }: Decision) => answer.reason)
    .registerFunction(`${decision}.errored(): bool`, () => false)
    .registerFunction(`${decision}.error(): string`, () => "");
}
