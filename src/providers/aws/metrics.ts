/**
 * Metrics of the AWS provider, beyond those of the controllers.
 * upstream: pkg/metrics
 */
import { DURATION_BUCKETS, type MetricSpec } from "../../base/metrics.ts";

/** Labels of a call, such as `EC2`, `CreateFleet`, `200`. */
const CALL = ["service", "action", "code"];
/** Upper bounds of the histogram's buckets in seconds: the first is 0.01, and each next one is 1.5 times as large. */
const CALL_SECONDS = Array.from({ length: 20 }, (_, index) => 0.01 * 1.5 ** index);
const BATCH_SIZES = [
  1, 2, 4, 5, 10, 15, 20, 25, 30, 40, 50, 75, 100, 125, 150, 175, 200, 225, 250, 275, 300, 350, 400,
  450, 500, 550, 600, 700, 800, 900, 1000,
];

/** Metrics of the AWS provider, with upstream's names. */
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
    help: "Time from when a message was sent until it was handled.",
    labels: [],
    buckets: DURATION_BUCKETS,
  },
  {
    name: "interruption_instance_status_unhealthy_total",
    type: "counter",
    help: "Count of instances that EC2's status checks say are unhealthy, by category of check.",
    labels: ["category"],
  },
  {
    name: "cloudprovider_instance_type_offering_price_estimate",
    type: "gauge",
    help: "Price of an instance type in dollars per hour, by capacity type and zone.",
    labels: ["instance_type", "capacity_type", "zone"],
  },
  {
    name: "cloudprovider_instance_type_offering_available",
    type: "gauge",
    help: "1 if some nodepool can launch the instance type with this capacity type in this zone.",
    labels: ["instance_type", "capacity_type", "zone"],
  },
  {
    name: "cloudprovider_instance_type_cpu_cores",
    type: "gauge",
    help: "Number of vCPUs of an instance type.",
    labels: ["instance_type"],
  },
  {
    name: "cloudprovider_instance_type_memory_bytes",
    type: "gauge",
    help: "Memory of an instance type.",
    labels: ["instance_type"],
  },
  {
    name: "cloudprovider_instance_launch_failures_total",
    type: "counter",
    help: "Number of errors in CreateFleet responses, by reason.",
    labels: ["zone", "zone_id", "capacity_type", "reason"],
  },
  {
    name: "cloudprovider_instance_termination_failures_total",
    type: "counter",
    help: "Number of instances that EC2 refused to terminate.",
    labels: ["zone", "zone_id"],
  },
  {
    name: "cloudprovider_batcher_batch_time_seconds",
    type: "histogram",
    help: "How long a batch collected requests before it was sent.",
    labels: ["batcher"],
    buckets: DURATION_BUCKETS,
  },
  {
    name: "cloudprovider_batcher_batch_size",
    type: "histogram",
    help: "Number of requests in a batch.",
    labels: ["batcher"],
    buckets: BATCH_SIZES,
  },
  {
    name: "ec2nodeclasses_userdata_bytes",
    type: "gauge",
    help: "Size of the user data last rendered for an EC2NodeClass. EC2 accepts at most 16 KiB.",
    labels: ["nodeclass"],
  },
  {
    name: "aws_sdk_go_request_total",
    unprefixed: true,
    type: "counter",
    help: "Number of requests to AWS, by the status code of the last response.",
    labels: CALL,
  },
  {
    name: "aws_sdk_go_request_attempt_total",
    unprefixed: true,
    type: "counter",
    help: "Number of attempts of requests to AWS.",
    labels: CALL,
  },
  {
    name: "aws_sdk_go_request_retry_count",
    unprefixed: true,
    type: "histogram",
    help: "How often a request to AWS was retried.",
    labels: CALL,
    buckets: [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10],
  },
  {
    name: "aws_sdk_go_request_duration_seconds",
    unprefixed: true,
    type: "histogram",
    help: "How long a request to AWS took, all attempts included.",
    labels: CALL,
    buckets: CALL_SECONDS,
  },
  {
    name: "aws_sdk_go_request_attempt_duration_seconds",
    unprefixed: true,
    type: "histogram",
    help: "How long one attempt of a request to AWS took.",
    labels: CALL,
    buckets: CALL_SECONDS,
  },
];
