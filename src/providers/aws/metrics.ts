/** Every metric that the AWS provider moves, beside the controllers' own. upstream: pkg/metrics */
import { DURATION_BUCKETS, type MetricSpec } from "../../base/metrics.ts";

export const AWS_METRICS: readonly MetricSpec[] = [
  {
    name: "interruption_received_messages_total",
    type: "counter",
    help: "Count of messages received from the SQS queue, by kind of message.",
    labels: ["message_type"],
  },
  {
    name: "interruption_deleted_messages_total",
    type: "counter",
    help: "Count of messages deleted from the SQS queue.",
    labels: [],
  },
  {
    name: "interruption_message_queue_duration_seconds",
    type: "histogram",
    help: "Time from a message's sending until it was handled.",
    labels: [],
    buckets: DURATION_BUCKETS,
  },
  {
    name: "interruption_instance_status_unhealthy_total",
    type: "counter",
    help: "Count of instances that EC2's status checks say are unhealthy, by category of check.",
    labels: ["category"],
  },
];
