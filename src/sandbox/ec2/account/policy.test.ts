import { describe, expect, it } from "vitest";
import { checkPolicy, isAllowed, type PolicyStatement } from "./policy.ts";

const TEMPLATE = "arn:aws:ec2:us-west-2:1:launch-template/lt-1";
const MINE: PolicyStatement = {
  Effect: "Allow",
  Action: "ec2:RunInstances",
  Resource: "arn:aws:ec2:*:1:launch-template/*",
  Condition: { StringEquals: { "ec2:ResourceTag/team": ["a", "b"] } },
};

function allows(statements: readonly PolicyStatement[], tags: Record<string, string>): boolean {
  return isAllowed(
    { Statement: statements },
    { action: "ec2:RunInstances", resource: TEMPLATE, tags: new Map(Object.entries(tags)) },
  );
}

describe("a simulated IAM policy", () => {
  it("allows what one of its statements allows, by account and by tag", () => {
    expect(allows([MINE], { team: "b" })).toBe(true);
    expect(allows([MINE], { team: "c" })).toBe(false);
    expect(allows([MINE], {})).toBe(false);
    const elsewhere = { ...MINE, Resource: "arn:aws:ec2:*:2:launch-template/*" };
    expect(allows([elsewhere], { team: "b" })).toBe(false);
  });

  it("denies with Deny whatever else allows, and allows actions on resource types that it does not mention", () => {
    const deny: PolicyStatement = { Effect: "Deny", Action: "ec2:*", Resource: "*" };
    expect(allows([MINE, deny], { team: "b" })).toBe(false);
    const subnets = { ...MINE, Resource: "arn:aws:ec2:*:1:subnet/*" };
    expect(allows([subnets], {})).toBe(true);
    expect(isAllowed(undefined, { action: "x", resource: TEMPLATE, tags: undefined })).toBe(true);
  });

  it("is refused if it has a condition that is not simulated", () => {
    const odd = { ...MINE, Condition: { IpAddress: { "aws:SourceIp": "10.0.0.0/8" } } };
    expect(() => checkPolicy({ Statement: [odd] })).toThrow("operator IpAddress is not simulated");
  });
});
