/**
 * Evaluates all metrics of one autoscaler and joins the results. The largest number of replicas wins. Pods
 * are removed only if every metric could be read.
 * upstream: pkg/controller/podautoscaler/horizontal.go, computeReplicasForMetrics
 */
import type { HorizontalPodAutoscaler, Scale } from "../../../apis/autoscaling/kinds.ts";
import type { Pod } from "../../../apis/core/pod.ts";
import { matchesNodeSelectorTerm } from "../../../apis/core/selectors.ts";
import { POD_METRICS } from "../../../apis/metrics/kinds.ts";
import { parseLabelSelector } from "../../apiserver/request/label-selector.ts";
import { type PartDeps, podMirror } from "../../parts.ts";
import { answerMetric, type MetricAnswer, type MetricFailure } from "./metric-replicas.ts";

/** The condition ScalingActive without its type. */
interface Active {
  readonly status: "True" | "False";
  readonly reason: string;
  readonly message: string;
}

/** The joined result of all metrics. */
export interface MetricsAnswer {
  readonly active: Active;
  /**
   * The largest result. Undefined if no metric could be read, or if one could not and the result would remove
   * pods.
   */
  readonly desired: { readonly replicas: number; readonly name: string } | undefined;
  /** The values for status.currentMetrics. A metric that could not be read has an empty entry. */
  readonly metrics: readonly unknown[];
  /** Why some or all metrics could not be read. */
  readonly problem: string | undefined;
  readonly warnings: readonly { readonly reason: string; readonly message: string }[];
}

/** Evaluates the metrics. `others` are the selectors of all autoscalers, by key. */
export async function askMetrics(
  { clock, kube, mirrors }: PartDeps,
  autoscaler: HorizontalPodAutoscaler,
  scale: Scale,
  others: ReadonlyMap<string, { readonly selector?: string }>,
): Promise<MetricsAnswer> {
  const { namespace = "" } = autoscaler.metadata;
  const selector = scale.status?.selector ?? "";
  const currentReplicas = scale.spec?.replicas ?? 0;
  if (selector === "") return unselected();
  const inNamespace = podMirror(mirrors)
    .list()
    .filter(({ metadata }) => metadata.namespace === namespace);
  const pods = inNamespace.filter(selects(selector));
  const rivals = autoscalersOf(pods, namespace, others);
  if (rivals.length > 1) return ambiguous(selector, rivals);
  const options = { namespace, labelSelector: selector };
  const { items: metrics } = await kube.list(POD_METRICS, options);
  const measured = { namespace, currentReplicas, pods, metrics, nowMs: clock.now() };
  const specs = autoscaler.spec.metrics ?? [];
  return joined(
    specs.map((metric) => answerMetric(metric, measured)),
    currentReplicas,
  );
}

/** Joins the results of all metrics. */
function joined(
  answers: readonly (MetricAnswer | MetricFailure)[],
  currentReplicas: number,
): MetricsAnswer {
  const failures = answers.filter(isFailure);
  const found = answers.filter((one): one is MetricAnswer => !isFailure(one));
  const largest = found.reduce<MetricAnswer | undefined>(
    (best, one) =>
      best === undefined || best.replicas === 0 || one.replicas > best.replicas ? one : best,
    undefined,
  );
  const [first] = failures;
  const counts = `${failures.length} invalid out of ${answers.length}`;
  const problem =
    first === undefined ? undefined : `invalid metrics (${counts}), first error is: ${first.told}`;
  const metrics = answers.map((one) => (isFailure(one) ? { type: "" } : one.status));
  const warnings = failures.map(({ reason, problem: message }) => ({ reason, message }));
  const isSmaller = (largest?.replicas ?? 0) < currentReplicas;
  if (largest === undefined || (first !== undefined && isSmaller)) {
    const message = `the HPA was unable to compute the replica count: ${first?.problem ?? ""}`;
    const active: Active = { status: "False", reason: first?.reason ?? "", message };
    return { active, desired: undefined, metrics, problem, warnings };
  }
  const message = `the HPA was able to successfully calculate a replica count from ${largest.name}`;
  return {
    active: { status: "True", reason: "ValidMetricFound", message },
    desired: largest,
    metrics,
    problem,
    warnings,
  };
}

function isFailure(answer: MetricAnswer | MetricFailure): answer is MetricFailure {
  return "problem" in answer;
}

function selects(selector: string): (pod: Pod) => boolean {
  const matchExpressions = parseLabelSelector(selector);
  return ({ metadata }) => matchesNodeSelectorTerm({ matchExpressions }, metadata.labels);
}

/** Keys of the autoscalers whose selectors match at least one of the pods. */
function autoscalersOf(
  pods: readonly Pod[],
  namespace: string,
  others: ReadonlyMap<string, { readonly selector?: string }>,
): readonly string[] {
  return [...others]
    .filter(([key]) => key.startsWith(`${namespace}/`))
    .filter(([, { selector = "" }]) => selector !== "" && pods.some(selects(selector)))
    .map(([key]) => key)
    .sort();
}

function unselected(): MetricsAnswer {
  const message = "the HPA target's scale is missing a selector";
  return unusable("InvalidSelector", message, "SelectorRequired", "selector is required");
}

function ambiguous(selector: string, rivals: readonly string[]): MetricsAnswer {
  const message = `pods by selector ${selector} are controlled by multiple HPAs: [${rivals.join(" ")}]`;
  return unusable("AmbiguousSelector", message, "AmbiguousSelector", message);
}

function unusable(
  reason: string,
  message: string,
  eventReason: string,
  problem: string,
): MetricsAnswer {
  return {
    active: { status: "False", reason, message },
    desired: undefined,
    metrics: [],
    problem,
    warnings: [{ reason: eventReason, message: problem }],
  };
}
