/**
 * IAM as far as `deploy/aws` uses it: which actions a call needs, which resources it touches with which tags,
 * and whether a list of statements allows that. Denied unless allowed; every condition must hold.
 */
import type { TagSpecification } from "../src/providers/aws/api.ts";
import type { JournalEntry } from "../src/sandbox/ec2/journal.ts";
import type { SimulatedAws } from "../src/sandbox/ec2/simulated-aws.ts";

type Table = Readonly<Record<string, string>>;

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
  /** `ec2:RunInstances` */
  readonly action: string;
  readonly resource: string;
  readonly resourceTags: Table;
  readonly requestTags: Table;
  /** Further condition keys: `aws:RequestedRegion`. */
  readonly context: Table;
}

/** Services whose actions have another prefix than our name for them. */
const BATCHES: Readonly<Record<string, readonly string[]>> = {
  // A fleet runs instances, which get a role.
  "ec2.createFleet": ["ec2:CreateFleet", "ec2:RunInstances", "iam:PassRole", "ec2:CreateTags"],
  "ec2.runInstances": ["ec2:RunInstances", "iam:PassRole", "ec2:CreateTags"],
  "ec2.createLaunchTemplate": ["ec2:CreateLaunchTemplate", "ec2:CreateTags"],
  "iam.addRoleToInstanceProfile": ["iam:AddRoleToInstanceProfile", "iam:PassRole"],
  "iam.createInstanceProfile": ["iam:CreateInstanceProfile", "iam:TagInstanceProfile"],
  // Permission for the batch is permission for the message.
  "sqs.deleteMessageBatch": ["sqs:DeleteMessage"],
  "zonalShift.getManagedResource": ["arc-zonal-shift:GetManagedResource"],
};

/** `ec2.describeSubnets` → `ec2:DescribeSubnets`. */
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

/** What IAM is asked for a call of the journal that was not refused. */
export function requestsOf(
  entry: JournalEntry,
  aws: SimulatedAws,
  region: string,
): readonly IamRequest[] {
  const { service, action, input } = entry;
  const given = input as Record<string, unknown>;
  const arn = (kind: string, id = "*", account = ACCOUNT): string =>
    `arn:aws:ec2:${region}:${account}:${kind}/${id}`;
  const base = { resourceTags: {}, requestTags: {}, context: { "aws:RequestedRegion": region } };
  const one = (resource: string, more: Partial<IamRequest> = {}): IamRequest => ({
    action: `${service}:${action}`,
    resource,
    ...base,
    ...more,
  });
  const withTags = (resource: string, requestTags: Table, more: Partial<IamRequest> = {}) => [
    one(resource, { requestTags, ...more }),
    one(resource, {
      action: "ec2:CreateTags",
      requestTags,
      context: { "ec2:CreateAction": action },
      ...more,
    }),
  ];
  const passRole = one(`arn:aws:iam::${ACCOUNT}:role/KarpenterNodeRole-${aws.state.clusterName}`, {
    action: "iam:PassRole",
    context: { "iam:PassedToService": "ec2.amazonaws.com" },
  });
  const profile = `arn:aws:iam::${ACCOUNT}:instance-profile/${String(given["InstanceProfileName"])}`;
  switch (action) {
    case "CreateLaunchTemplate":
      return withTags(arn("launch-template"), tagsIn(given, "launch-template"));
    case "CreateFleet": {
      const names = templatesOf(given);
      const tags = tagsIn(given, "instance");
      return [
        ...["instance", "volume", "fleet", "network-interface", "spot-instances-request"].flatMap(
          (kind) => withTags(arn(kind), tags),
        ),
        ...["CreateFleet", "RunInstances"].flatMap((verb) => [
          ...["security-group", "subnet"].map((kind) => one(arn(kind), { action: `ec2:${verb}` })),
          one(arn("image", "*", ""), { action: `ec2:${verb}` }),
          ...names.map((name) =>
            one(arn("launch-template"), {
              action: `ec2:${verb}`,
              resourceTags: made(aws, "CreateLaunchTemplate", "LaunchTemplateName", name),
            }),
          ),
        ]),
        passRole,
      ];
    }
    case "RunInstances": {
      const tags = tagsIn(given, "instance");
      return [
        ...["instance", "volume", "network-interface"].flatMap((kind) => withTags(arn(kind), tags)),
        ...["security-group", "subnet"].map((kind) => one(arn(kind))),
        one(arn("image", "*", "")),
        passRole,
      ];
    }
    case "DeleteLaunchTemplate": {
      const name = String(given["LaunchTemplateName"]);
      const resourceTags = made(aws, "CreateLaunchTemplate", "LaunchTemplateName", name);
      return [one(arn("launch-template"), { resourceTags })];
    }
    case "TerminateInstances":
      return (given["InstanceIds"] as string[]).map((id) =>
        one(arn("instance", id), {
          resourceTags: Object.fromEntries(aws.state.tags.get(id) ?? []),
        }),
      );
    case "CreateTags":
      return (given["Resources"] as string[]).map((id) =>
        one(arn("instance", id), {
          resourceTags: Object.fromEntries(aws.state.tags.get(id) ?? []),
          requestTags: toTable(given["Tags"] as TagSpecification["Tags"]),
        }),
      );
    case "CreateInstanceProfile": {
      const requestTags = toTable(given["Tags"] as TagSpecification["Tags"]);
      return [one(profile, { requestTags })];
    }
    case "TagInstanceProfile": {
      const name = String(given["InstanceProfileName"]);
      const resourceTags = made(aws, "CreateInstanceProfile", "InstanceProfileName", name);
      const requestTags = toTable(given["Tags"] as TagSpecification["Tags"]);
      return [one(profile, { resourceTags, requestTags })];
    }
    case "AddRoleToInstanceProfile":
    case "RemoveRoleFromInstanceProfile":
    case "DeleteInstanceProfile": {
      const name = String(given["InstanceProfileName"]);
      const resourceTags = made(aws, "CreateInstanceProfile", "InstanceProfileName", name);
      const pass = action === "AddRoleToInstanceProfile" ? [passRole] : [];
      return [one(profile, { resourceTags }), ...pass];
    }
    case "GetInstanceProfile":
      return [one(profile)];
    case "GetParameter":
      return [one(`arn:aws:ssm:${region}::parameter${String(given["Name"])}`)];
    case "DescribeCluster":
      return [one(`arn:aws:eks:${region}:${ACCOUNT}:cluster/${String(given["name"])}`)];
    case "GetQueueUrl":
    case "ReceiveMessage":
      return [one(`arn:aws:sqs:${region}:${ACCOUNT}:${aws.state.clusterName}`)];
    case "DeleteMessageBatch":
      return [
        one(`arn:aws:sqs:${region}:${ACCOUNT}:${aws.state.clusterName}`, {
          action: "sqs:DeleteMessage",
        }),
      ];
    default:
      return [one("*")];
  }
}

function templatesOf(input: Record<string, unknown>): readonly string[] {
  const configs = input["LaunchTemplateConfigs"] as readonly {
    LaunchTemplateSpecification: { LaunchTemplateName?: string };
  }[];
  return configs.map((one) => one.LaunchTemplateSpecification.LaunchTemplateName ?? "");
}

function tagsIn(input: Record<string, unknown>, resourceType: string): Table {
  const specifications = (input["TagSpecifications"] ?? []) as readonly TagSpecification[];
  return toTable(specifications.find((one) => one.ResourceType === resourceType)?.Tags ?? []);
}

/** The tags that a resource was made with, from the journal. */
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
