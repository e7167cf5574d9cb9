/**
 * A model of IAM as far as `deploy/aws` uses it: the actions that a call needs, the resources and tags that it
 * touches, and whether statements allow that. A request is denied unless a statement allows it and all its
 * conditions hold.
 */
import type { TagSpecification } from "../src/providers/aws/api/launches.ts";
import type { JournalEntry } from "../src/sandbox/ec2/account/journal.ts";
import type { SimulatedAws } from "../src/sandbox/ec2/simulated-aws.ts";

/** Tags by key, or condition keys with their values. */
export type Table = Readonly<Record<string, string>>;

export interface Statement {
  readonly Sid: string;
  readonly Effect: "Allow";
  readonly Action: readonly string[];
  readonly Resource: readonly string[];
  readonly Condition?: Readonly<Record<string, Readonly<Record<string, string | string[]>>>>;
}

export interface Policy {
  readonly Statement: readonly Statement[];
}

export interface IamRequest {
  /** The IAM action, such as `ec2:RunInstances`. */
  readonly action: string;
  readonly resource: string;
  readonly resourceTags: Table;
  readonly requestTags: Table;
  /** Further condition keys of the request, such as `aws:RequestedRegion`. */
  readonly context: Table;
}

/** Calls that need several actions, or an action of another name. */
const BATCHES: Readonly<Record<string, readonly string[]>> = {
  // A fleet runs instances, which get a role.
  "ec2.createFleet": ["ec2:CreateFleet", "ec2:RunInstances", "iam:PassRole", "ec2:CreateTags"],
  "ec2.runInstances": ["ec2:RunInstances", "iam:PassRole", "ec2:CreateTags"],
  "ec2.createLaunchTemplate": ["ec2:CreateLaunchTemplate", "ec2:CreateTags"],
  "iam.addRoleToInstanceProfile": ["iam:AddRoleToInstanceProfile", "iam:PassRole"],
  "iam.createInstanceProfile": ["iam:CreateInstanceProfile", "iam:TagInstanceProfile"],
  // A batch needs the same permission as one message.
  "sqs.deleteMessageBatch": ["sqs:DeleteMessage"],
  "zonalShift.getManagedResource": ["arc-zonal-shift:GetManagedResource"],
};

/** The IAM actions that a call needs: `ec2.describeSubnets` → `ec2:DescribeSubnets`. */
export function actionsOf(call: string): readonly string[] {
  const [service = "", method = ""] = call.split(".");
  const plain = `${service}:${method.slice(0, 1).toUpperCase()}${method.slice(1)}`;
  return BATCHES[call] ?? [plain];
}

export function evaluate(statements: readonly Statement[], request: IamRequest): boolean {
  return statements.some(
    ({ Action, Resource, Condition = {} }) =>
      Action.includes(request.action) &&
      Resource.some((pattern) => like(pattern, request.resource)) &&
      Object.entries(Condition).every(([operator, keys]) =>
        Object.entries(keys).every(([key, wanted]) => holds(operator, key, wanted, request)),
      ),
  );
}

function holds(
  operator: string,
  key: string,
  wanted: string | readonly string[],
  request: IamRequest,
): boolean {
  const values = typeof wanted === "string" ? [wanted] : wanted;
  if (operator === "ForAllValues:StringEquals" && key === "aws:TagKeys") {
    return Object.keys(request.requestTags).every((one) => values.includes(one));
  }
  const actual = contextValue(key, request);
  if (actual === undefined) return operator.endsWith("IfExists");
  switch (operator) {
    case "StringEquals":
    case "StringEqualsIfExists":
      return values.includes(actual);
    case "StringLike":
      return values.some((pattern) => like(pattern, actual));
    default:
      throw new Error(`condition operator ${operator} is not known here`);
  }
}

function contextValue(key: string, { resourceTags, requestTags, context }: IamRequest) {
  const [where = "", ...rest] = key.split("/");
  const tag = rest.join("/");
  if (where === "aws:ResourceTag") return resourceTags[tag];
  if (where === "aws:RequestTag") return requestTags[tag];
  return context[key];
}

function like(pattern: string, text: string): boolean {
  const parts = pattern.split("*").map((part) => part.replaceAll(/[.+?^${}()|[\]\\]/g, "\\$&"));
  return new RegExp(`^${parts.join(".*")}$`).test(text);
}

const ACCOUNT = "123456789012";

/** The IAM requests of a journal entry that was not refused. */
export function requestsOf(
  entry: JournalEntry,
  aws: SimulatedAws,
  region: string,
): readonly IamRequest[] {
  const { service, action, input } = entry;
  const given = input as Record<string, unknown>;
  const call = callOf(entry, aws, region);
  const queue = `arn:aws:sqs:${region}:${ACCOUNT}:${aws.state.clusterName}`;
  if (service === "iam") return profileRequests(call, action, given, aws);
  switch (action) {
    case "CreateFleet":
    case "RunInstances":
      return launchRequests(call, action, given, aws);
    case "CreateLaunchTemplate":
      return call.withTags(call.arn("launch-template"), tagsIn(given, "launch-template"));
    case "DeleteLaunchTemplate": {
      const name = String(given["LaunchTemplateName"]);
      const resourceTags = made(aws, "CreateLaunchTemplate", "LaunchTemplateName", name);
      return [call.one(call.arn("launch-template"), { resourceTags })];
    }
    case "RebootInstances":
    case "TerminateInstances":
      return (given["InstanceIds"] as string[]).map((id) =>
        call.one(call.arn("instance", id), { resourceTags: tagsOf(aws, id) }),
      );
    case "CreateTags":
      return (given["Resources"] as string[]).map((id) =>
        call.one(call.arn("instance", id), {
          resourceTags: tagsOf(aws, id),
          requestTags: toTable(given["Tags"] as TagSpecification["Tags"]),
        }),
      );
    case "GetParameter":
      return [call.one(`arn:aws:ssm:${region}::parameter${String(given["Name"])}`)];
    case "DescribeCluster":
      return [call.one(`arn:aws:eks:${region}:${ACCOUNT}:cluster/${String(given["name"])}`)];
    case "GetQueueUrl":
    case "ReceiveMessage":
      return [call.one(queue)];
    case "DeleteMessageBatch":
      return [call.one(queue, { action: "sqs:DeleteMessage" })];
    default:
      return [call.one("*")];
  }
}

/** Builds the IAM requests of one call. */
interface Call {
  readonly arn: (kind: string, id?: string, account?: string) => string;
  readonly one: (resource: string, more?: Partial<IamRequest>) => IamRequest;
  /** The requests to create a resource with tags. */
  readonly withTags: (resource: string, requestTags: Table) => readonly IamRequest[];
  readonly passRole: IamRequest;
}

function callOf({ service, action }: JournalEntry, aws: SimulatedAws, region: string): Call {
  const one: Call["one"] = (resource, more = {}) => ({
    action: `${service}:${action}`,
    resource,
    resourceTags: {},
    requestTags: {},
    context: { "aws:RequestedRegion": region },
    ...more,
  });
  return {
    one,
    arn: (kind, id = "*", account = ACCOUNT) => `arn:aws:ec2:${region}:${account}:${kind}/${id}`,
    withTags: (resource, requestTags) => [
      one(resource, { requestTags }),
      one(resource, {
        action: "ec2:CreateTags",
        requestTags,
        context: { "ec2:CreateAction": action },
      }),
    ],
    passRole: one(`arn:aws:iam::${ACCOUNT}:role/KarpenterNodeRole-${aws.state.clusterName}`, {
      action: "iam:PassRole",
      context: { "iam:PassedToService": "ec2.amazonaws.com" },
    }),
  };
}

function launchRequests(
  { arn, one, withTags, passRole }: Call,
  action: "CreateFleet" | "RunInstances",
  given: Record<string, unknown>,
  aws: SimulatedAws,
): readonly IamRequest[] {
  const isFleet = action === "CreateFleet";
  const names = isFleet ? templatesOf(given) : [];
  const templates = names.map((name) =>
    made(aws, "CreateLaunchTemplate", "LaunchTemplateName", name),
  );
  // EC2 authorizes each created resource with the tags it will have: those of the call, or of the template.
  const specifications = [given, ...names.map((name) => templateDataOf(aws, name))];
  const tagsBornWith = (kind: string): Table =>
    specifications.map((one) => tagsIn(one, kind)).find((tags) => Object.keys(tags).length > 0) ??
    {};
  const born = ["instance", "volume"];
  if (isFleet) born.push("fleet");
  // A dry run of a fleet names a template that does not exist, so EC2 checks no network interface of it.
  if (!isFleet || given["DryRun"] !== true) born.push("network-interface");
  if (isFleet && isSpot(given)) born.push("spot-instances-request");
  // A fleet runs instances with its caller's permissions.
  const verbs = isFleet ? ["CreateFleet", "RunInstances"] : ["RunInstances"];
  return [
    ...born.flatMap((kind) => withTags(arn(kind), tagsBornWith(kind))),
    ...verbs.flatMap((verb) => [
      ...[arn("security-group"), arn("subnet"), arn("image", "*", "")].map((resource) =>
        one(resource, { action: `ec2:${verb}` }),
      ),
      ...templates.map((resourceTags) =>
        one(arn("launch-template"), { action: `ec2:${verb}`, resourceTags }),
      ),
    ]),
    passRole,
  ];
}

function profileRequests(
  { one, passRole }: Call,
  action: string,
  given: Record<string, unknown>,
  aws: SimulatedAws,
): readonly IamRequest[] {
  const name = String(given["InstanceProfileName"]);
  const profile = `arn:aws:iam::${ACCOUNT}:instance-profile/${name}`;
  const requestTags = () => toTable(given["Tags"] as TagSpecification["Tags"]);
  const resourceTags = () => made(aws, "CreateInstanceProfile", "InstanceProfileName", name);
  switch (action) {
    case "CreateInstanceProfile":
      return [one(profile, { requestTags: requestTags() })];
    case "TagInstanceProfile":
      return [one(profile, { resourceTags: resourceTags(), requestTags: requestTags() })];
    case "AddRoleToInstanceProfile":
      return [one(profile, { resourceTags: resourceTags() }), passRole];
    case "RemoveRoleFromInstanceProfile":
    case "DeleteInstanceProfile":
      return [one(profile, { resourceTags: resourceTags() })];
    case "GetInstanceProfile":
      return [one(profile)];
    default:
      return [one("*")];
  }
}

function tagsOf(aws: SimulatedAws, id: string): Table {
  return Object.fromEntries(aws.state.tags.get(id) ?? []);
}

function templatesOf(input: Record<string, unknown>): readonly string[] {
  const configs = input["LaunchTemplateConfigs"] as readonly {
    LaunchTemplateSpecification: { LaunchTemplateName?: string };
  }[];
  return configs.map((one) => one.LaunchTemplateSpecification.LaunchTemplateName ?? "");
}

function isSpot(input: Record<string, unknown>): boolean {
  const target = input["TargetCapacitySpecification"] as { DefaultTargetCapacityType?: string };
  return target.DefaultTargetCapacityType === "spot";
}

function templateDataOf(aws: SimulatedAws, name: string): Record<string, unknown> {
  const [input] = aws.journal
    .calls({ action: "CreateLaunchTemplate" })
    .map((entry) => entry.input as Record<string, unknown>)
    .filter((one) => one["LaunchTemplateName"] === name);
  return (input?.["LaunchTemplateData"] ?? {}) as Record<string, unknown>;
}

function tagsIn(input: Record<string, unknown>, resourceType: string): Table {
  const specifications = (input["TagSpecifications"] ?? []) as readonly TagSpecification[];
  return toTable(specifications.find((one) => one.ResourceType === resourceType)?.Tags ?? []);
}

/** The tags of a resource at its creation, from the journal. */
function made(aws: SimulatedAws, action: string, field: string, name: string): Table {
  const input = aws.journal
    .calls({ action })
    .map((entry) => entry.input as Record<string, unknown>)
    .find((one) => one[field] === name);
  if (input === undefined) return {};
  return action === "CreateLaunchTemplate"
    ? tagsIn(input, "launch-template")
    : toTable(input["Tags"] as TagSpecification["Tags"]);
}

function toTable(tags: TagSpecification["Tags"]): Table {
  return Object.fromEntries(tags.map(({ Key, Value }) => [Key, Value]));
}
