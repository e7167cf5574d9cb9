/**
 * Parses messages of the interruption queue: EventBridge events, each with its kind and its instances. Pure. An invalid
 * body becomes a complaint, never an exception.
 * upstream: pkg/controllers/interruption/messages
 */
import { parseBoundedJson } from "../../../base/bounded-json.ts";
import { isObject, textOf } from "../../../base/json.ts";

/** Kinds of events that are acted on. `no_op`: a state change that needs no action. */
export type MessageKind =
  | "spot_interrupted"
  | "rebalance_recommendation"
  | "scheduled_change"
  | "instance_stopped"
  | "instance_terminated"
  | "capacity_reservation_interrupted"
  | "no_op";

/** One parsed message of the queue. */
export interface InterruptionMessage {
  /** `unreadable`: the body is no event, or it lacks a field that its kind needs. */
  readonly kind: MessageKind | "unreadable";
  readonly instanceIds: readonly string[];
  /** Why the message should not be in this queue. It is logged. */
  readonly complaint?: string;
}

type Detail = Readonly<Record<string, unknown>>;
type Parser = (detail: Detail) => InterruptionMessage;

const NO_OP: InterruptionMessage = Object.freeze({ kind: "no_op", instanceIds: [] });

/** Parsers by source and detail-type, all for version 0 of the envelope. */
const PARSERS: ReadonlyMap<string, Parser> = new Map<string, Parser>([
  ["aws.ec2/EC2 Spot Instance Interruption Warning", ofInstance("spot_interrupted")],
  ["aws.ec2/EC2 Instance Rebalance Recommendation", ofInstance("rebalance_recommendation")],
  [
    "aws.ec2/EC2 Capacity Reservation Instance Interruption Warning",
    ofInstance("capacity_reservation_interrupted"),
  ],
  ["aws.ec2/EC2 Instance State-change Notification", stateChange],
  ["aws.health/AWS Health Event", healthEvent],
]);

/** Parses a body. A state or health event that needs no action is `no_op` without a complaint. */
export function parseMessage(body: string): InterruptionMessage {
  let event: unknown;
  try {
    event = parseBoundedJson(body);
  } catch {
    // The parser's own error text would reveal parts of the body.
    return unreadable(`the body is no JSON (${body.length} characters)`);
  }
  if (!isObject(event)) return unreadable("the body is no JSON object");
  const { version, source, "detail-type": detailType, detail } = event;
  const parser =
    version === "0" ? PARSERS.get(`${textOf(source)}/${textOf(detailType)}`) : undefined;
  if (parser === undefined) {
    const named = `version ${text(version)}, source ${text(source)}, detail-type ${text(detailType)}`;
    return {
      ...NO_OP,
      complaint: `unknown message (${named}); check the rules that feed the queue`,
    };
  }
  return isObject(detail) ? parser(detail) : unreadable("detail must be an object");
}

function ofInstance(kind: MessageKind): Parser {
  return (detail) => {
    const id = detail["instance-id"];
    if (typeof id === "string" && id !== "") return { kind, instanceIds: [id] };
    return unreadable(`detail.instance-id must be an instance id, got ${text(id)}`);
  };
}

const ENDING_STATES: ReadonlyMap<string, MessageKind> = new Map([
  ["stopping", "instance_stopped"],
  ["stopped", "instance_stopped"],
  ["shutting-down", "instance_terminated"],
  ["terminated", "instance_terminated"],
]);

function stateChange(detail: Detail): InterruptionMessage {
  const { state } = detail;
  if (typeof state !== "string") {
    return unreadable(`detail.state must be an instance state, got ${text(state)}`);
  }
  const kind = ENDING_STATES.get(state.toLowerCase());
  return kind === undefined ? NO_OP : ofInstance(kind)(detail);
}

function healthEvent(detail: Detail): InterruptionMessage {
  const { service, eventTypeCategory, affectedEntities } = detail;
  if (service !== "EC2" || eventTypeCategory !== "scheduledChange") return NO_OP;
  if (!Array.isArray(affectedEntities)) {
    return unreadable(`detail.affectedEntities must be a list, got ${text(affectedEntities)}`);
  }
  const ids = affectedEntities.map((entity) => (isObject(entity) ? entity["entityValue"] : ""));
  const instanceIds = ids.filter((id): id is string => typeof id === "string" && id !== "");
  return { kind: "scheduled_change", instanceIds: [...new Set(instanceIds)].sort() };
}

function unreadable(complaint: string): InterruptionMessage {
  return { kind: "unreadable", instanceIds: [], complaint };
}

/** A value shortened for a log line, because an invalid body can be long. */
function text(value: unknown): string {
  const whole = JSON.stringify(value) ?? "undefined";
  return whole.length > 100 ? `${whole.slice(0, 100)}…` : whole;
}
