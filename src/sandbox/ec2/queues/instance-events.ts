/**
 * The events that EC2 and AWS Health send about instances: each change of state, the notice of a spot
 * interruption, rebalance recommendations, scheduled retirements.
 */

import type { AwsState, InstanceChange, InstanceRecord } from "../account/state.ts";
import { publish } from "./event-bus.ts";

/** Sends the event for a change of an instance. */
export function tellChange(state: AwsState, record: InstanceRecord, change: InstanceChange): void {
  // EC2 sends no event for a reboot, because the instance stays running.
  if (change === "rebooted") return;
  const detail =
    change === "interruption-notice"
      ? { "instance-id": record.id, "instance-action": "terminate" }
      : { "instance-id": record.id, state: change };
  const detailType =
    change === "interruption-notice"
      ? "EC2 Spot Instance Interruption Warning"
      : "EC2 Instance State-change Notification";
  publish(state, {
    source: "aws.ec2",
    "detail-type": detailType,
    resources: [instanceArn(state, record)],
    detail,
  });
}

/** Sends the event that a spot instance has a higher risk of interruption. */
export function tellRebalance(state: AwsState, record: InstanceRecord): void {
  trace(state, record, "rebalance recommendation");
  publish(state, {
    source: "aws.ec2",
    "detail-type": "EC2 Instance Rebalance Recommendation",
    resources: [instanceArn(state, record)],
    detail: { "instance-id": record.id },
  });
}

/** How long before a retirement AWS Health announces it; two weeks is usual. */
const RETIREMENT_MS = 14 * 86_400_000;

/** Sends the event that the host of these instances will be retired. */
export function tellRetirement(state: AwsState, records: readonly InstanceRecord[]): void {
  for (const record of records) trace(state, record, "retirement scheduled");
  const code = "AWS_EC2_INSTANCE_RETIREMENT_SCHEDULED";
  publish(state, {
    source: "aws.health",
    "detail-type": "AWS Health Event",
    resources: records.map(({ id }) => id),
    detail: {
      eventArn: `arn:aws:health:${state.region}::event/EC2/${code}/${state.messageIds.uuid()}`,
      service: "EC2",
      eventTypeCode: code,
      eventTypeCategory: "scheduledChange",
      startTime: new Date(state.clock.now() + RETIREMENT_MS).toUTCString(),
      endTime: "",
      eventDescription: [
        { language: "en_US", latestDescription: "The host of these instances is to be retired." },
      ],
      affectedEntities: records.map(({ id }) => ({ entityValue: id })),
    },
  });
}

function instanceArn({ region, accountId }: AwsState, { id }: InstanceRecord): string {
  return `arn:aws:ec2:${region}:${accountId}:instance/${id}`;
}

function trace(state: AwsState, record: InstanceRecord, why: string): void {
  state.trace?.({
    atMs: state.clock.now(),
    actor: "ec2",
    verb: "warned",
    object: `instance ${record.id}`,
    what: record.type,
    why,
  });
}
