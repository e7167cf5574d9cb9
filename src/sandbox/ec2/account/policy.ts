/**
 * An IAM policy for the resources of a launch, for accounts that let Karpenter use only resources with certain tags.
 * Unlike in AWS, an action on a type of resource that no statement mentions is allowed. So a test can give a policy
 * with only one statement.
 */

/** One statement of an IAM policy. Actions and resources may contain `*`. */
export interface PolicyStatement {
  readonly Sid?: string;
  readonly Effect: "Allow" | "Deny";
  readonly Action: string | readonly string[];
  readonly Resource: string | readonly string[];
  /** The conditions of the statement, by operator and key: `{StringEquals: {"ec2:ResourceTag/team": ["a"]}}`. */
  readonly Condition?: Readonly<
    Record<string, Readonly<Record<string, string | readonly string[]>>>
  >;
}

/** An IAM policy. */
export interface PolicyDocument {
  readonly Version?: string;
  readonly Statement: readonly PolicyStatement[];
}

/** The question to a policy. */
export interface PolicyRequest {
  /** The IAM action, such as `ec2:RunInstances`. */
  readonly action: string;
  /** The ARN of the resource, such as `arn:aws:ec2:us-west-2:123456789012:launch-template/lt-1`. */
  readonly resource: string;
  readonly tags: ReadonlyMap<string, string> | undefined;
}

const TAG_KEY = /^(?:ec2|aws):ResourceTag\/(.+)$/;
const OPERATORS: ReadonlySet<string> = new Set(["StringEquals", "StringLike"]);

/** Returns the policy. Throws if it has a condition that is not simulated. */
export function checkPolicy(policy: PolicyDocument): PolicyDocument {
  for (const { Condition = {} } of policy.Statement) {
    for (const [operator, keys] of Object.entries(Condition)) {
      const key = Object.keys(keys).find((one) => !TAG_KEY.test(one));
      if (OPERATORS.has(operator) && key === undefined) continue;
      const what = OPERATORS.has(operator) ? `key ${key}` : `operator ${operator}`;
      throw new Error(
        `policy condition: ${what} is not simulated; use StringEquals or StringLike on ec2:ResourceTag/<key>`,
      );
    }
  }
  return policy;
}

/**
 * Whether the policy allows the request. A Deny wins over an Allow. Unlike in AWS, a call that no Allow statement is
 * about is allowed.
 */
export function isAllowed(policy: PolicyDocument | undefined, request: PolicyRequest): boolean {
  const speaking = (policy?.Statement ?? []).filter(
    ({ Action, Resource }) =>
      many(Action).some((pattern) => like(pattern, request.action)) &&
      many(Resource).some((pattern) => speaksOf(pattern, request.resource)),
  );
  const holding = speaking.filter((statement) => holds(statement, request));
  if (holding.some(({ Effect }) => Effect === "Deny")) return false;
  return (
    !speaking.some(({ Effect }) => Effect === "Allow") ||
    holding.some(({ Effect }) => Effect === "Allow")
  );
}

function holds({ Resource, Condition = {} }: PolicyStatement, request: PolicyRequest): boolean {
  if (!many(Resource).some((pattern) => like(pattern, request.resource))) return false;
  return Object.entries(Condition).every(([operator, keys]) =>
    Object.entries(keys).every(([key, values]) => {
      const actual = request.tags?.get(TAG_KEY.exec(key)?.[1] ?? "");
      if (actual === undefined) return false;
      return many(values).some((value) =>
        operator === "StringLike" ? like(value, actual) : value === actual,
      );
    }),
  );
}

function many(value: string | readonly string[]): readonly string[] {
  return typeof value === "string" ? [value] : value;
}

/** Whether a pattern covers resources of this type, such as `launch-template`. */
function speaksOf(pattern: string, arn: string): boolean {
  const typeOf = (text: string): string => text.split(":").at(-1)?.split("/")[0] ?? "";
  return like(typeOf(pattern), typeOf(arn));
}

function like(pattern: string, text: string): boolean {
  const parts = pattern.split("*").map((part) => part.replaceAll(/[.+?^${}()|[\]\\]/g, "\\$&"));
  return new RegExp(`^${parts.join(".*")}$`).test(text);
}
