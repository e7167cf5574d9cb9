/**
 * The account's EventBridge bus: rules with patterns select events, and send each one to queues at once. The
 * message body is the whole event. A pattern may use literals and `prefix`; all other patterns are refused.
 */
import { parseBoundedJson } from "../../../base/bounded-json.ts";
import { toRfc3339 } from "../../../base/clock.ts";
import { isObject } from "../../../base/json.ts";
import { AwsError } from "../../../providers/aws/api/call.ts";
import type { AwsState, RuleRecord } from "../account/state.ts";

/** An event of an AWS service, without the fields that the bus adds. */
export interface ServiceEvent {
  readonly source: string;
  readonly "detail-type": string;
  readonly resources: readonly string[];
  readonly detail: Readonly<Record<string, unknown>>;
}

/** The rules of Karpenter's installation. upstream: cloudformation.yaml */
const INSTALLED: readonly (readonly [string, string, string])[] = [
  ["ScheduledChangeRule", "aws.health", "AWS Health Event"],
  ["SpotInterruptionRule", "aws.ec2", "EC2 Spot Instance Interruption Warning"],
  ["RebalanceRule", "aws.ec2", "EC2 Instance Rebalance Recommendation"],
  ["InstanceStateChangeRule", "aws.ec2", "EC2 Instance State-change Notification"],
  [
    "CapacityReservationInterruptionRule",
    "aws.ec2",
    "EC2 Capacity Reservation Instance Interruption Warning",
  ],
];

const TARGET_ID = "KarpenterInterruptionQueueTarget";

/** Sends the events that Karpenter handles to a queue. */
export function installRules(state: AwsState, queueArn: string): void {
  for (const [name, source, detailType] of INSTALLED) {
    const rule = putRule(state, name, { source: [source], "detail-type": [detailType] });
    rule.targets.set(TARGET_ID, queueArn);
  }
}

/** Creates a rule or changes its pattern. */
function putRule(
  state: AwsState,
  name: string,
  pattern: Readonly<Record<string, unknown>>,
): RuleRecord {
  checkPattern(pattern);
  const rule = { name, pattern, targets: state.rules.get(name)?.targets ?? new Map() };
  state.rules.set(name, rule);
  return rule;
}

/** Sends an event to the bus, as AWS's services do. Each rule that matches delivers it. */
export function publish(state: AwsState, event: ServiceEvent): void {
  const whole = {
    version: "0",
    id: state.messageIds.uuid(),
    "detail-type": event["detail-type"],
    source: event.source,
    account: state.accountId,
    time: toRfc3339(state.clock.now()),
    region: state.region,
    resources: event.resources,
    detail: event.detail,
  };
  for (const rule of state.rules.values()) {
    if (!matches(rule.pattern, whole)) continue;
    for (const arn of rule.targets.values()) {
      // If the target does not exist, the event is lost, as in AWS without a dead-letter queue.
      state.queues.get(arn.split(":").at(-1) ?? "")?.send(JSON.stringify(whole));
    }
  }
}

/** The calls of EventBridge that show and change rules, by method name. */
export function eventsCalls(state: AwsState): Readonly<Record<string, (input: never) => unknown>> {
  return {
    listRules: () => ({ Rules: [...state.rules.values()].map((rule) => described(state, rule)) }),
    listTargetsByRule({ Rule: name = "" }: { readonly Rule?: string }) {
      return { Targets: [...find(state, name).targets].map(([Id, Arn]) => ({ Id, Arn })) };
    },
    putRule(input: { readonly Name?: string; readonly EventPattern?: string }) {
      const pattern = parsePattern(input.EventPattern);
      return { RuleArn: ruleArn(state, putRule(state, input.Name ?? "", pattern).name) };
    },
    putTargets(input: {
      readonly Rule?: string;
      readonly Targets?: readonly { readonly Id: string; readonly Arn: string }[];
    }) {
      const { targets } = find(state, input.Rule ?? "");
      for (const { Id, Arn } of input.Targets ?? []) targets.set(Id, Arn);
      return { FailedEntryCount: 0, FailedEntries: [] };
    },
    removeTargets(input: { readonly Rule?: string; readonly Ids?: readonly string[] }) {
      const { targets } = find(state, input.Rule ?? "");
      for (const id of input.Ids ?? []) targets.delete(id);
      return { FailedEntryCount: 0, FailedEntries: [] };
    },
    deleteRule({ Name = "" }: { readonly Name?: string }) {
      if ((state.rules.get(Name)?.targets.size ?? 0) > 0) {
        throw new AwsError("ValidationException", "Rule can't be deleted since it has targets.");
      }
      state.rules.delete(Name);
    },
  };
}

function described(state: AwsState, { name, pattern }: RuleRecord): unknown {
  return {
    Name: name,
    Arn: ruleArn(state, name),
    EventPattern: JSON.stringify(pattern),
    State: "ENABLED",
    EventBusName: "default",
  };
}

function ruleArn({ region, accountId }: AwsState, name: string): string {
  return `arn:aws:events:${region}:${accountId}:rule/${name}`;
}

function find(state: AwsState, name: string): RuleRecord {
  const rule = state.rules.get(name);
  if (rule !== undefined) return rule;
  throw new AwsError("ResourceNotFoundException", `Rule ${name} does not exist.`);
}

function parsePattern(text: string | undefined): Record<string, unknown> {
  try {
    const pattern: unknown = parseBoundedJson(text ?? "");
    if (isObject(pattern)) return pattern;
  } catch {
    // Text that is not JSON gets the same error as JSON that is not an object.
  }
  throw invalidPattern("the pattern is no JSON object");
}

function checkPattern(pattern: Readonly<Record<string, unknown>>): void {
  for (const [field, wanted] of Object.entries(pattern)) {
    if (isObject(wanted)) checkPattern(wanted);
    else if (!Array.isArray(wanted) || wanted.length === 0) {
      throw invalidPattern(`${field} must be an object or a non-empty list`);
    } else if (wanted.some((one) => isObject(one) && typeof one["prefix"] !== "string")) {
      throw invalidPattern(`${field}: only literals and prefix are simulated`);
    }
  }
}

function invalidPattern(why: string): AwsError {
  return new AwsError("InvalidEventPatternException", `Event pattern is not valid. Reason: ${why}`);
}

/** Whether each field of the pattern matches the event. One value of a list is enough. */
function matches(pattern: Readonly<Record<string, unknown>>, event: unknown): boolean {
  if (!isObject(event)) return false;
  return Object.entries(pattern).every(([field, wanted]) => {
    const value = event[field];
    if (!Array.isArray(wanted)) return matches(wanted as Record<string, unknown>, value);
    const values: readonly unknown[] = Array.isArray(value) ? value : [value];
    return wanted.some((one) => values.some((found) => isWanted(one, found)));
  });
}

function isWanted(wanted: unknown, value: unknown): boolean {
  if (!isObject(wanted)) return wanted === value;
  return typeof value === "string" && value.startsWith(String(wanted["prefix"]));
}
