/**
 * Computes how many replicas each metric of an autoscaler asks for. Resource metrics come from the metrics
 * API. Other metrics need adapters that the sandbox does not have, so they fail as on a cluster without
 * adapters.
 * upstream: pkg/controller/podautoscaler/horizontal.go
 */
import type { AutoscalerMetric, MetricTarget } from "../../../apis/autoscaling/kinds.ts";
import type { Pod } from "../../../apis/core/pod.ts";
import type { LabelSelector } from "../../../apis/meta.ts";
import type { PodMetrics } from "../../../apis/metrics/kinds.ts";
import { fromRfc3339 } from "../../../base/clock.ts";
import { parseDuration } from "../../../base/duration.ts";
import { formatBytes, formatMilli, parseMilli } from "../../../base/quantity.ts";
import {
  type Problem,
  type ReplicaProposal,
  replicasForAverage,
  replicasForUtilization,
  type Sample,
  type Samples,
} from "./replica-count.ts";

/** The pods of the target, with their metrics. */
export interface MeasuredPods {
  readonly namespace: string;
  readonly currentReplicas: number;
  readonly pods: readonly Pod[];
  readonly metrics: readonly PodMetrics[];
  readonly nowMs: number;
}

/** The result of one metric: `name` for events, `status` for status.currentMetrics. */
export interface MetricAnswer {
  readonly name: string;
  readonly replicas: number;
  readonly status: unknown;
}

/** Why a metric could not be read: the event's reason and message, and the message of the condition. */
export interface MetricFailure {
  readonly reason: string;
  readonly problem: string;
  readonly told: string;
}

/** The number of replicas that one metric demands, or why the metric could not be read. */
export function answerMetric(
  metric: AutoscalerMetric,
  measured: MeasuredPods,
): MetricAnswer | MetricFailure {
  if (metric.type === "Resource" && metric.resource !== undefined) {
    const { name, target } = metric.resource;
    return resourceAnswer(
      { kind: "resource", name, container: undefined, target, measured },
      (current) => ({ type: "Resource", resource: { name, current } }),
    );
  }
  if (metric.type === "ContainerResource" && metric.containerResource !== undefined) {
    const { name, container, target } = metric.containerResource;
    return resourceAnswer({ kind: "container", name, container, target, measured }, (current) => ({
      type: "ContainerResource",
      containerResource: { name, container, current },
    }));
  }
  return adapterMissing(metric, measured.namespace);
}

interface ResourceQuestion {
  readonly kind: "resource" | "container";
  readonly name: string;
  readonly container: string | undefined;
  readonly target: MetricTarget;
  readonly measured: MeasuredPods;
}

function resourceAnswer(
  question: ResourceQuestion,
  statusOf: (current: unknown) => unknown,
): MetricAnswer | MetricFailure {
  const { kind, name, container, target } = question;
  const failed = (problem: string): MetricFailure => ({
    reason: kind === "resource" ? "FailedGetResourceMetric" : "FailedGetContainerResourceMetric",
    problem,
    told: `failed to get ${container ?? name} ${kind} metric value: ${problem}`,
  });
  const isAmount = target.averageValue !== undefined;
  if (!isAmount && target.averageUtilization === undefined)
    return failed(
      "invalid resource metric source: neither an average utilization target nor an average value (usage) target was set",
    );
  const proposal = proposalFor(question);
  if ("problem" in proposal)
    return failed(
      `failed to get ${name} ${isAmount ? "usage" : "utilization"}: ${proposal.problem}`,
    );
  const { replicas, utilization, milli } = proposal;
  const what = kind === "resource" ? "resource" : "container resource";
  return {
    name: isAmount ? `${name} resource` : `${name} ${what} utilization (percentage of request)`,
    replicas,
    status: statusOf({
      ...(utilization === undefined ? {} : { averageUtilization: utilization }),
      averageValue: averageText(name, milli),
    }),
  };
}

function proposalFor({
  name,
  container,
  target,
  measured,
}: ResourceQuestion): ReplicaProposal | Problem {
  const { currentReplicas, pods, metrics, nowMs } = measured;
  if (metrics.length === 0) {
    const why = "no metrics returned from resource metrics API";
    return { problem: `unable to get metrics for resource ${name}: ${why}` };
  }
  const samples = samplesOf(metrics, name, container);
  const question = { resource: name, container, currentReplicas, pods, samples, nowMs };
  return target.averageValue === undefined
    ? replicasForUtilization(question, target.averageUtilization ?? 0)
    : replicasForAverage(question, parseMilli(target.averageValue) ?? 0);
}

/** The usage of each pod, or of one container in each pod. A pod without this resource has no sample. */
function samplesOf(
  metrics: readonly PodMetrics[],
  resource: string,
  container: string | undefined,
): Samples {
  const samples = new Map<string, Sample>();
  for (const { metadata, timestamp, window, containers } of metrics) {
    const own = containers.filter(({ name }) => container === undefined || name === container);
    const amounts = own.map(({ usage }) => usage[resource]);
    if (amounts.length === 0 || amounts.includes(undefined)) continue;
    samples.set(metadata.name, {
      milli: amounts.reduce<number>((sum, amount) => sum + (parseMilli(amount ?? "0") ?? 0), 0),
      atMs: fromRfc3339(timestamp) ?? 0,
      windowMs: parseDuration(window) ?? 0,
    });
  }
  return samples;
}

/** Formats an amount: memory in binary units, other resources in decimal units, fractions in thousandths. */
function averageText(resource: string, milli: number): string {
  if (milli % 1_000 !== 0) return `${milli}m`;
  const units = milli / 1_000;
  if (resource === "memory" && units >= 1_024) return formatBytes(units);
  return resource === "cpu" && units < 1_000 ? formatMilli(milli) : decimal(units);
}

/** Formats with a decimal suffix: `50000000` → `50M`. */
function decimal(units: number): string {
  const suffixes = ["", "k", "M", "G", "T", "P"];
  let value = units;
  let at = 0;
  while (value !== 0 && value % 1_000 === 0 && at < suffixes.length - 1) {
    value /= 1_000;
    at++;
  }
  return `${value}${suffixes[at]}`;
}

const NO_CUSTOM_METRICS =
  "unable to fetch metrics from custom metrics API: no custom metrics API (custom.metrics.k8s.io) registered";

/**
 * The error of a cluster without adapters. upstream's text for an object metric has words in the wrong order,
 * which is kept.
 */
function adapterMissing(metric: AutoscalerMetric, namespace: string): MetricFailure {
  const { pods, object, external } = metric;
  if (pods !== undefined) {
    const problem = `unable to get metric ${pods.metric.name}: ${NO_CUSTOM_METRICS}`;
    return failure("pods", { reason: "FailedGetPodsMetric", problem });
  }
  if (object !== undefined) {
    const { kind, name } = object.describedObject;
    const problem = `unable to get metric ${object.metric.name}: ${kind} on ${namespace} ${name}/${NO_CUSTOM_METRICS}`;
    const isAverage = object.target.averageValue !== undefined;
    const about = isAverage ? `failed to get ${object.metric.name} object metric: ` : "";
    const wrapped = `${about}${problem}`;
    return failure("object", { reason: "FailedGetObjectMetric", problem, wrapped });
  }
  if (external !== undefined) {
    const { name, selector } = external.metric;
    const missing = `the server could not find the requested resource (get ${name}.external.metrics.k8s.io)`;
    const problem = `unable to get external metric ${namespace}/${name}/${shownSelector(selector)}: unable to fetch metrics from external metrics API: ${missing}`;
    const about =
      external.target.averageValue === undefined
        ? `failed to get external metric ${name}: `
        : `failed to get ${name} external metric: `;
    const wrapped = `${about}${problem}`;
    return failure(`${name} external`, { reason: "FailedGetExternalMetric", problem, wrapped });
  }
  const problem = `unknown metric source type "${metric.type}"`;
  return { reason: "InvalidMetricSourceType", problem, told: problem };
}

/** A failure of one metric. `wrapped`: the problem as the HPA's condition quotes it, if that differs from `problem`. */
function failure(
  what: string,
  {
    reason,
    problem,
    wrapped = problem,
  }: Pick<MetricFailure, "reason" | "problem"> & {
    readonly wrapped?: string;
  },
): MetricFailure {
  return { reason, problem, told: `failed to get ${what} metric value: ${wrapped}` };
}

/** A label selector as Go prints the struct. */
function shownSelector(selector: LabelSelector | undefined): string {
  if (selector === undefined) return "nil";
  const labels = Object.entries(selector.matchLabels ?? {}).sort(([a], [b]) => (a < b ? -1 : 1));
  const expressions = (selector.matchExpressions ?? []).map(
    ({ key, operator, values = [] }) =>
      `LabelSelectorRequirement{Key:${key},Operator:${operator},Values:[${values.join(" ")}],},`,
  );
  const map = labels.map(([key, value]) => `${key}: ${value},`).join("");
  return `&LabelSelector{MatchLabels:map[string]string{${map}},MatchExpressions:[]LabelSelectorRequirement{${expressions.join("")}},}`;
}
