/**
 * moto creates a stack from `deploy/aws/cloudformation.yaml`, and the test reads its resources. The next commands of
 * `docs/tasks/aws-account.md` are run too, and the Terraform module is parsed.
 */
import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { CONTROLLER_POLICIES, eventRules } from "../../scripts/aws-stack.ts";
import { awsJson, type Moto, REGION, startMoto } from "./moto.ts";
import { pythonPrograms } from "./python.ts";

const DEPLOY = fileURLToPath(new URL("../../deploy/aws/", import.meta.url));
const PAGE = fileURLToPath(new URL("../../docs/tasks/aws-account.md", import.meta.url));
const CLUSTER = "stacked";
const STACK = `karpenter-${CLUSTER}`;
const ROLE = "controller";

let moto: Moto;

beforeAll(async () => {
  moto = await startMoto();
  const line = `cloudformation create-stack --stack-name ${STACK} --capabilities CAPABILITY_NAMED_IAM --parameters ParameterKey=ClusterName,ParameterValue=${CLUSTER}`;
  await awsJson(moto.url, [...line.split(" "), "--template-body", templateForMoto()]);
  const cluster = `eks create-cluster --name ${CLUSTER} --role-arn arn:aws:iam::123456789012:role/eks --resources-vpc-config {}`;
  await awsJson(moto.url, cluster.split(" "));
});

afterAll(() => moto?.close());

/** The page's command that begins with `start`, with its continuation lines. */
function documented(start: string): string {
  const lines = readFileSync(PAGE, "utf8").split("\n");
  const first = lines.findIndex((line) => line.startsWith(start));
  if (first === -1) throw new Error(`docs/tasks/aws-account.md has no command ${start}`);
  const last = lines.findIndex((line, at) => at >= first && !/[\\|]$/.test(line));
  return lines.slice(first, last + 1).join("\n");
}

/** The page's block of commands that begins with `start`, up to the line that begins with `last`. */
function blockOf(start: string, last: string): string {
  const [, block = ""] = readFileSync(PAGE, "utf8").split(`\`\`\`sh\n${start}`);
  const lines = block.slice(0, block.indexOf("```")).split("\n");
  const end = lines.findIndex((line) => line.startsWith(last));
  if (end === -1) throw new Error(`docs/tasks/aws-account.md has no block ${start} with ${last}`);
  return [start + (lines[0] ?? ""), ...lines.slice(1, end + 1)].join("\n");
}

/** Runs the text in a shell whose AWS endpoint is moto. */
async function shell(text: string, role = ROLE): Promise<{ code: number; stderr: string }> {
  const env = {
    PATH: `${await pythonPrograms()}:${process.env["PATH"]}`,
    AWS_ACCESS_KEY_ID: "a",
    AWS_SECRET_ACCESS_KEY: "b",
    AWS_CONFIG_FILE: "/dev/null",
    AWS_SHARED_CREDENTIALS_FILE: "/dev/null",
    AWS_DEFAULT_REGION: REGION,
    AWS_ENDPOINT_URL: moto.url,
    CLUSTER_NAME: CLUSTER,
    ACCOUNT: "123456789012",
    KARPENTER_ROLE_ARN: `arn:aws:iam::123456789012:role/${role}`,
  };
  const cwd = mkdtempSync(join(tmpdir(), "karpenter-stacks-"));
  try {
    return await new Promise((resolve) => {
      const args = ["--norc", "-c", `set -o pipefail\n${text}`];
      execFile("bash", args, { env, cwd }, (error, _, stderr) => {
        resolve({ code: error === null ? 0 : Number(error.code ?? 1), stderr });
      });
    });
  } finally {
    rmSync(cwd, { recursive: true });
  }
}

/**
 * The template, with policies as objects and the cluster's name filled in. CloudFormation takes a policy as text,
 * because only text can fill in a condition's key. moto encodes such text as JSON again and then refuses it.
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
  const { Stacks } = await aws<Stacks>(`cloudformation describe-stacks --stack-name ${STACK}`);
  expect(Stacks[0]?.StackStatus).toBe("CREATE_COMPLETE");
  return Object.fromEntries(
    Stacks[0]?.Outputs.map((one) => [one.OutputKey, one.OutputValue]) ?? [],
  );
}

describe("the page's first commands", () => {
  it("need no region beside those that they export", async () => {
    const block = blockOf("export CLUSTER_NAME", "export KARPENTER_ROLE_ARN");
    const { code, stderr } = await shell(`unset AWS_DEFAULT_REGION ACCOUNT KARPENTER_ROLE_ARN
${block}
test "$KARPENTER_ROLE_ARN" = arn:aws:iam::123456789012:role/karpenter-prod`);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  });
});

describe("the CloudFormation stack", () => {
  it("is created, with a node role that EC2 may assume", async () => {
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

  it("has the queue and its rules, each with the queue as target", async () => {
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

  it.each([
    [ROLE, "cat > trust.json", '"Service":"pods.eks.amazonaws.com"'],
    [`${ROLE}-irsa`, "OIDC=", ':sub":"system:serviceaccount:karpenter:karpenter"'],
  ])(
    "has a role %s for the controller, created by the page's commands",
    async (role, start, trust) => {
      const { code, stderr } = await shell(blockOf(start, "aws iam create-role"), role);
      expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
      const { Role } = await aws<{ Role: { AssumeRolePolicyDocument: unknown } }>(
        `iam get-role --role-name ${role}`,
      );
      const text = JSON.stringify(Role.AssumeRolePolicyDocument);
      expect(text).toContain(trust);
      expect(text).not.toContain("$");
    },
  );

  it("gets its policies attached by the page's command", async () => {
    const { code, stderr } = await shell(documented("aws cloudformation describe-stacks"));
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    const attached = `iam list-attached-role-policies --role-name ${ROLE}`;
    const { AttachedPolicies } = await aws<{ AttachedPolicies: { PolicyName: string }[] }>(
      attached,
    );
    expect(AttachedPolicies.map((policy) => policy.PolicyName).sort()).toEqual(
      CONTROLLER_POLICIES.map(({ name }) => `KarpenterController${name}Policy-${CLUSTER}`).sort(),
    );
    for (const { PolicyName } of AttachedPolicies) {
      const arn = `arn:aws:iam::123456789012:policy/${PolicyName}`;
      await aws(`iam detach-role-policy --role-name ${ROLE} --policy-arn ${arn}`);
    }
  });

  it.each(["aws eks create-access-entry", "aws eks create-pod-identity-association"])(
    "%s of the page is accepted by the AWS CLI",
    async (start) => {
      // moto has neither call and answers 404. That the CLI gets an answer shows that it accepts the arguments.
      const { stderr } = await shell(documented(start));
      expect(stderr).toContain("404 Not Found");
      const wrong = await shell(documented(start).replace("--cluster-name", "--cluster-nam-e"));
      expect(wrong.stderr).not.toContain("404 Not Found");
    },
  );

  it("is deleted, with queue and rules", async () => {
    await aws(`cloudformation delete-stack --stack-name ${STACK}`);
    const { Rules } = await aws<{ Rules: unknown[] }>("events list-rules");
    expect(Rules).toEqual([]);
    // Only the queue is checked: moto keeps a copy of managed policies.
    const { QueueUrls } =
      (await aws<{ QueueUrls?: string[] } | undefined>("sqs list-queues")) ?? {};
    expect(QueueUrls ?? []).toEqual([]);
  });
});

describe("the Terraform module", () => {
  it("is valid HCL, and has the resources of the stack", async () => {
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
