/**
 * `deploy/aws` grants exactly the calls that the provider makes. The calls of `api.ts` and the actions of the
 * policies are compared as sets. The requests of a node class' whole life are evaluated under the policies'
 * conditions.
 */
import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { afterEach, describe, expect, it } from "vitest";
import {
  CONTROLLER_POLICIES,
  eventRules,
  NODE_POLICIES,
  policyText,
} from "../scripts/aws-stack.ts";
import { AWS_NODE_TEMPLATE } from "../src/apis/aws/awsnodetemplate.ts";
import { EC2_NODE_CLASS } from "../src/apis/aws/ec2nodeclass.ts";
import { NODE_CLAIM, type NodeClaim } from "../src/apis/karpenter/nodeclaim.ts";
import { createSdkApi } from "../src/providers/aws/sdk.ts";
import type { JournalEntry } from "../src/sandbox/ec2/account/journal.ts";
import {
  type AwsWorld,
  awsClaim,
  awsWorld,
  CLUSTER,
  ec2NodeClass,
} from "../src/testing/aws-world.ts";
import {
  actionsOf,
  evaluate,
  type IamRequest,
  type Policy,
  requestsOf,
  type Table,
} from "./deploy-aws-iam.ts";

const FOLDER = fileURLToPath(new URL("../deploy/aws/", import.meta.url));
const PLACES = {
  ClusterName: CLUSTER,
  Partition: "aws",
  Region: "us-east-1",
  AccountId: "123456789012",
} as const;

/** Calls of `karpenter plan`, which run with the user's own credentials. */
const OF_PLAN = ["ec2.describeAvailabilityZones"];
/** Calls that need no permission. */
const FREE = ["sts.getCallerIdentity"];

function policy(file: string): Policy {
  const text = policyText(file).replaceAll(
    /\$\{(\w+)\}/g,
    (_, name: keyof typeof PLACES) => PLACES[name] ?? `no ${name}`,
  );
  return JSON.parse(text) as Policy;
}

const POLICIES = CONTROLLER_POLICIES.map(({ file }) => policy(file));
const STATEMENTS = POLICIES.flatMap((one) => one.Statement);

let world: AwsWorld;
afterEach(() => world?.stop());

describe("the IAM policies of deploy/aws", () => {
  it("grant each call of api.ts, and no action that no call needs", () => {
    const credentials = { accessKeyId: "a", secretAccessKey: "b" };
    const api = createSdkApi({ region: "us-east-1", credentials });
    const calls = Object.entries(api).flatMap(([service, methods]) =>
      Object.keys(methods as object).map((method) => `${service}.${method}`),
    );
    const needed = calls
      .filter((call) => !OF_PLAN.includes(call) && !FREE.includes(call))
      .flatMap(actionsOf);
    const granted = STATEMENTS.flatMap((one) => one.Action);
    expect([...new Set(granted)].sort()).toEqual([...new Set(needed)].sort());
  });

  it("contain each call of api.ts at least once", () => {
    const credentials = { accessKeyId: "a", secretAccessKey: "b" };
    const api = createSdkApi({ region: "us-east-1", credentials });
    const source = sources("../src/providers/aws") + sources("../src/cli");
    const never = Object.values(api)
      .flatMap((methods) => Object.keys(methods as object))
      .filter((method) => !source.includes(`.${method}(`))
      .filter((method) => method !== "getCallerIdentity");
    expect(never).toEqual([]);
  });

  it("keep each policy within IAM's size, and the names of statements unique", () => {
    for (const { file } of CONTROLLER_POLICIES) {
      expect(policyText(file).replaceAll(/\s/g, "").length, file).toBeLessThanOrEqual(6_144);
    }
    const names = STATEMENTS.map((one) => one.Sid);
    expect(new Set(names).size).toBe(names.length);
  });

  it("are the same in Terraform: policies, node policies, queue and rules", () => {
    const text = readFileSync(`${FOLDER}terraform/main.tf`, "utf8");
    for (const { file, name } of CONTROLLER_POLICIES) {
      expect(text).toMatch(new RegExp(`${name}\\s+= "${file}"`));
    }
    for (const name of NODE_POLICIES) expect(text).toContain(`"${name}"`);
    expect(
      readdirSync(`${FOLDER}policies`)
        .map((file) => file.replace(".json", ""))
        .sort(),
    ).toEqual(CONTROLLER_POLICIES.map(({ file }) => file).sort());
    expect(text).toContain("/../event-rules.json");
    expect(eventRules().map((rule) => rule.detailType)).toContain(
      "EC2 Spot Instance Interruption Warning",
    );
  });
});

describe("the IAM policies of deploy/aws, evaluated on requests,", () => {
  it("allow all requests that a node class, a launch and a termination send", async () => {
    await liveOnce();
    expect(refused()).toEqual([]);
    const made = new Set(world.aws.journal.calls({}).map((one) => one.action));
    expect([...made]).toEqual(
      expect.arrayContaining([
        "CreateFleet",
        "RunInstances",
        "CreateLaunchTemplate",
        "DeleteLaunchTemplate",
        "CreateTags",
        "RebootInstances",
        "TerminateInstances",
        "CreateInstanceProfile",
        "DeleteInstanceProfile",
        "ReceiveMessage",
      ]),
    );
  });

  it("allow the requests of a v1alpha5 Machine, unless former generations are not served", async () => {
    world = await awsWorld({ defaultInstanceProfile: `KarpenterNodeInstanceProfile-${CLUSTER}` });
    await world.kube.create(AWS_NODE_TEMPLATE, {
      metadata: { name: "default" },
      spec: {
        subnetSelector: { "alpha.eksctl.io/cluster-name": CLUSTER },
        securityGroupSelector: { [`kubernetes.io/cluster/${CLUSTER}`]: "owned" },
      },
    } as never);
    await world.clock.advance(1_000);
    const claim = await world.settle(world.cloud.create(machine()));
    await world.settle(world.cloud.delete(claim));
    await world.clock.advance(700_000);
    expect(refused()).toEqual([]);
    const without = STATEMENTS.filter(
      (one) => !policy("former-generations").Statement.some(({ Sid }) => Sid === one.Sid),
    );
    expect(refused(without).join("\n")).toContain("ec2:CreateFleet");
  });

  it("refuse each of these calls for resources of another cluster or of no owner", async () => {
    await liveOnce();
    const about = recorded().filter(({ resourceTags }) => Object.keys(resourceTags).length > 0);
    expect([...new Set(about.map(({ action }) => action))].sort()).toEqual([
      "ec2:CreateFleet",
      "ec2:CreateTags",
      "ec2:DeleteLaunchTemplate",
      "ec2:RebootInstances",
      "ec2:RunInstances",
      "ec2:TerminateInstances",
      "iam:AddRoleToInstanceProfile",
      "iam:DeleteInstanceProfile",
      "iam:RemoveRoleFromInstanceProfile",
    ]);
    const wrong = about.flatMap((request) => [
      { ...request, resourceTags: ofAnother(request.resourceTags) },
      { ...request, resourceTags: {} },
    ]);
    expect(wrong.filter((request) => evaluate(STATEMENTS, request))).toEqual([]);
  });

  it("refuse each of these calls that would create something in another cluster's name", async () => {
    await liveOnce();
    const isOwned = (tags: Table) => `kubernetes.io/cluster/${CLUSTER}` in tags;
    const making = recorded().filter(({ requestTags }) => isOwned(requestTags));
    expect(new Set(making.map(({ action }) => action))).toContain("ec2:RunInstances");
    const wrong = making.map((request) => ({
      ...request,
      requestTags: ofAnother(request.requestTags),
    }));
    expect(wrong.filter((request) => evaluate(STATEMENTS, request))).toEqual([]);
  });

  it("refuse calls for resources that belong to another cluster", () => {
    const instance = "arn:aws:ec2:us-east-1:123456789012:instance/i-1";
    const tags = (cluster: string) => ({
      [`kubernetes.io/cluster/${cluster}`]: "owned",
      "karpenter.sh/nodepool": "default",
    });
    const end = (cluster: string): boolean =>
      evaluate(STATEMENTS, {
        action: "ec2:TerminateInstances",
        resource: instance,
        resourceTags: tags(cluster),
        requestTags: {},
        context: {},
      });
    expect([end(CLUSTER), end("other")]).toEqual([true, false]);
    const rename = (key: string): boolean =>
      evaluate(STATEMENTS, {
        action: "ec2:CreateTags",
        resource: instance,
        resourceTags: tags(CLUSTER),
        requestTags: { [key]: "x" },
        context: {},
      });
    expect([rename("Name"), rename(`kubernetes.io/cluster/${CLUSTER}`)]).toEqual([true, false]);
  });
});

/** `Action on resource` for each recorded request that the statements do not allow. */
function refused(statements = STATEMENTS): readonly string[] {
  return recorded()
    .filter((request) => !evaluate(statements, request))
    .map(({ action, resource }) => `${action} on ${resource}`);
}

/** The IAM requests of all calls so far. */
function recorded(): readonly IamRequest[] {
  const entries: readonly JournalEntry[] = world.aws.journal.calls({});
  return entries.flatMap((entry) => requestsOf(entry, world.aws, PLACES.Region));
}

/** The same tags, as the Karpenter of another cluster writes them. */
function ofAnother(tags: Table): Table {
  return Object.fromEntries(
    Object.entries(tags).map(([key, value]) => [
      key.replace(`kubernetes.io/cluster/${CLUSTER}`, "kubernetes.io/cluster/other"),
      value === CLUSTER ? "other" : value,
    ]),
  );
}

/** Creates a class, launches and registers a node, reboots it, and deletes everything. */
async function liveOnce(): Promise<void> {
  world = await awsWorld({ interruptionQueue: CLUSTER });
  await world.kube.create(EC2_NODE_CLASS, ec2NodeClass({ tags: { team: "a" } }));
  await world.clock.advance(1_000);
  const claim = await world.settle(world.cloud.create(small()));
  await register(claim);
  await world.settle(world.cloud.reboot(claim, "operation"));
  await world.settle(world.cloud.delete(claim));
  await world.kube.delete(EC2_NODE_CLASS, { name: "default" });
  await world.clock.advance(700_000);
}

function small(): NodeClaim {
  return awsClaim([
    { key: "node.kubernetes.io/instance-type", operator: "In", values: ["m5.large"] },
    { key: "karpenter.sh/capacity-type", operator: "In", values: ["spot"] },
  ]);
}

function machine(): NodeClaim {
  const ref = { group: "karpenter.k8s.aws", kind: "AWSNodeTemplate", name: "default" };
  const labels = { "karpenter.sh/provisioner-name": "default" };
  const claim = awsClaim(small().spec.requirements, {
    nodeClassRef: ref,
    metadata: { labels },
  });
  return { ...claim, apiVersion: "karpenter.sh/v1alpha5", kind: "Machine" };
}

async function register(claim: NodeClaim): Promise<void> {
  const status = { ...claim.status, nodeName: "ip-10-0-0-1" };
  await world.kube.create(NODE_CLAIM, { ...claim, status });
  await world.clock.advance(5_000);
  world.kube.vanish(NODE_CLAIM, claim.metadata.name);
}

function sources(folder: string): string {
  const root = fileURLToPath(new URL(folder, import.meta.url));
  return readdirSync(root, { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(".ts") && !/(\.test|^api|^sdk)\.ts$/.test(file))
    .map((file) => readFileSync(`${root}/${file}`, "utf8"))
    .join("\n");
}
