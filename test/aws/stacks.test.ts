/** `deploy/aws/cloudformation.yaml` made into a stack by moto, and what is there then; the Terraform read. */
import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { CONTROLLER_POLICIES, eventRules } from "../../scripts/aws-stack.ts";
import { awsJson, type Moto, startMoto } from "./moto.ts";
import { pythonPrograms } from "./python.ts";

const DEPLOY = fileURLToPath(new URL("../../deploy/aws/", import.meta.url));
const CLUSTER = "stacked";

let moto: Moto;

beforeAll(async () => {
  moto = await startMoto();
  const line = `cloudformation create-stack --stack-name karpenter --capabilities CAPABILITY_NAMED_IAM --parameters ParameterKey=ClusterName,ParameterValue=${CLUSTER}`;
  await awsJson(moto.url, [...line.split(" "), "--template-body", templateForMoto()]);
});

afterAll(() => moto?.close());

/**
 * CloudFormation takes a policy as text, the only way to fill in a condition's key; moto writes such a text
 * as JSON once more and refuses it. It gets the same policies as objects, the cluster's name filled in.
 */
function templateForMoto(): string {
  const text = readFileSync(`${DEPLOY}cloudformation.yaml`, "utf8");
  return text.replaceAll(/PolicyDocument: !Sub \|\n((?: {8}.*\n)+)/g, (_, policy: string) => {
    const filled = policy.replaceAll(/\$\{ClusterName\}/g, CLUSTER).trim();
    const asObject = JSON.stringify(JSON.parse(filled)).replaceAll(
      /"[^"]*\$\{[^"]*"/g,
      (value) => `{"Fn::Sub":${value}}`,
    );
    return `PolicyDocument: ${asObject}\n`;
  });
}

function aws<T = unknown>(line: string): Promise<T> {
  return awsJson<T>(moto.url, line.split(" "));
}

interface Stacks {
  readonly Stacks: {
    readonly StackStatus: string;
    readonly Outputs: { readonly OutputKey: string; readonly OutputValue: string }[];
  }[];
}

async function outputs(): Promise<Readonly<Record<string, string>>> {
  const { Stacks } = await aws<Stacks>("cloudformation describe-stacks --stack-name karpenter");
  expect(Stacks[0]?.StackStatus).toBe("CREATE_COMPLETE");
  return Object.fromEntries(
    Stacks[0]?.Outputs.map((one) => [one.OutputKey, one.OutputValue]) ?? [],
  );
}

describe("the CloudFormation stack", () => {
  it("is created, with a node role that EC2 may take", async () => {
    expect((await outputs())["NodeRoleName"]).toBe(`KarpenterNodeRole-${CLUSTER}`);
    const { Role } = await aws<{ Role: { AssumeRolePolicyDocument: unknown } }>(
      `iam get-role --role-name KarpenterNodeRole-${CLUSTER}`,
    );
    expect(JSON.stringify(Role.AssumeRolePolicyDocument)).toContain("ec2.amazonaws.com");
  });

  it("has each policy, with the cluster's name and region filled in", async () => {
    const found = await outputs();
    for (const { name } of CONTROLLER_POLICIES) {
      const arn = found[`${name}PolicyArn`];
      expect(arn, name).toContain(`policy/KarpenterController${name}Policy-${CLUSTER}`);
      const { PolicyVersion } = await aws<{ PolicyVersion: { Document: unknown } }>(
        `iam get-policy-version --policy-arn ${arn} --version-id v1`,
      );
      const text = JSON.stringify(PolicyVersion.Document);
      expect(text, name).not.toContain("${");
      expect(text, name).toContain("2012-10-17");
    }
  });

  it("has the queue with its rules, each with the queue as target", async () => {
    expect((await outputs())["InterruptionQueue"]).toBe(CLUSTER);
    const { QueueUrl } = await aws<{ QueueUrl: string }>(
      `sqs get-queue-url --queue-name ${CLUSTER}`,
    );
    const { Attributes } = await aws<{ Attributes: Record<string, string> }>(
      `sqs get-queue-attributes --queue-url ${QueueUrl} --attribute-names All`,
    );
    expect(Attributes["MessageRetentionPeriod"]).toBe("300");
    const { Rules } = await aws<{ Rules: { Name: string; EventPattern: string }[] }>(
      "events list-rules",
    );
    expect(Rules.map((rule) => JSON.parse(rule.EventPattern)["detail-type"][0]).sort()).toEqual(
      eventRules()
        .map((rule) => rule.detailType)
        .sort(),
    );
    for (const { Name } of Rules) {
      const { Targets } = await aws<{ Targets: { Arn: string }[] }>(
        `events list-targets-by-rule --rule ${Name}`,
      );
      expect(Targets.map((target) => target.Arn)).toEqual([Attributes["QueueArn"]]);
    }
  });

  it("goes again, with queue and rules", async () => {
    await aws("cloudformation delete-stack --stack-name karpenter");
    const { Rules } = await aws<{ Rules: unknown[] }>("events list-rules");
    expect(Rules).toEqual([]);
    // Of managed policies moto keeps a copy; the queue is gone.
    const { QueueUrls } =
      (await aws<{ QueueUrls?: string[] } | undefined>("sqs list-queues")) ?? {};
    expect(QueueUrls ?? []).toEqual([]);
  });
});

describe("the Terraform module", () => {
  it("is HCL, and its resources are those of the stack", async () => {
    const script = `
import hcl2, json, sys
with open(sys.argv[1]) as f: print(json.dumps(sorted({k.strip('"') for r in hcl2.load(f)["resource"] for k in r})))`;
    const python = join(await pythonPrograms(), "python");
    const run = promisify(execFile);
    const { stdout } = await run(python, ["-c", script, `${DEPLOY}terraform/main.tf`]);
    expect(JSON.parse(stdout)).toEqual([
      "aws_cloudwatch_event_rule",
      "aws_cloudwatch_event_target",
      "aws_iam_policy",
      "aws_iam_role",
      "aws_iam_role_policy_attachment",
      "aws_sqs_queue",
      "aws_sqs_queue_policy",
    ]);
  });
});
