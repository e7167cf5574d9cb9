/**
 * HorizontalPodAutoscalers are stored as autoscaling/v2 and also served as autoscaling/v1, which has only a
 * CPU target. The other fields of v2 are kept in annotations of v1, so that nothing is lost.
 * upstream: kubernetes pkg/apis/autoscaling/v1/conversion.go
 */

import type { KubeObject } from "../../../apis/meta.ts";
import { parseBoundedJson } from "../../../base/bounded-json.ts";
import { isObject } from "../../../base/json.ts";

// biome-ignore lint/suspicious/noExplicitAny: raw JSON whose shape the schema holds
type Raw = any;

const ANNOTATIONS = "autoscaling.alpha.kubernetes.io/";
const METRICS = `${ANNOTATIONS}metrics`;
const BEHAVIOR = `${ANNOTATIONS}behavior`;
const CONDITIONS = `${ANNOTATIONS}conditions`;
const CURRENT_METRICS = `${ANNOTATIONS}current-metrics`;

/** A v2 autoscaler as v1. */
export function olderAutoscalerOf(object: KubeObject): KubeObject {
  const { metadata, spec = {}, status = {} } = object as Raw;
  const { metrics = [], behavior, ...restOfSpec } = spec;
  const { currentMetrics, conditions, ...restOfStatus } = status;
  const cpu = metrics.find(isCpu);
  const others = metrics.filter((metric: Raw) => metric !== cpu);
  const currentCpu = (currentMetrics ?? []).find(
    ({ type, resource }: Raw) => type === "Resource" && resource?.name === "cpu",
  );
  const utilization = currentCpu?.resource.current?.averageUtilization;
  const notes = {
    ...(others.length === 0 ? {} : { [METRICS]: JSON.stringify(others.map(olderMetric)) }),
    ...(behavior === undefined ? {} : { [BEHAVIOR]: JSON.stringify(innerBehavior(behavior)) }),
    ...(conditions === undefined ? {} : { [CONDITIONS]: JSON.stringify(conditions) }),
    ...(currentMetrics?.length ? { [CURRENT_METRICS]: JSON.stringify(currentMetrics) } : {}),
  };
  const annotations = { ...metadata.annotations, ...notes };
  return {
    ...object,
    apiVersion: "autoscaling/v1",
    metadata: Object.keys(annotations).length === 0 ? metadata : { ...metadata, annotations },
    spec: {
      ...restOfSpec,
      ...(cpu === undefined
        ? {}
        : { targetCPUUtilizationPercentage: cpu.resource.target.averageUtilization }),
    },
    status: {
      currentReplicas: 0,
      ...restOfStatus,
      ...(utilization === undefined ? {} : { currentCPUUtilizationPercentage: utilization }),
    },
  } as KubeObject;
}

/** A v1 autoscaler as v2. */
export function newerAutoscalerOf(object: KubeObject): KubeObject {
  const { metadata, spec = {}, status = {} } = object as Raw;
  const { targetCPUUtilizationPercentage: target, ...restOfSpec } = spec;
  const { currentCPUUtilizationPercentage: _shown, currentReplicas, ...restOfStatus } = status;
  const annotations: Record<string, string> = { ...metadata.annotations };
  const note = (name: string): Raw => {
    const text = annotations[name];
    delete annotations[name];
    try {
      return text === undefined ? undefined : parseBoundedJson(text);
    } catch {
      return undefined;
    }
  };
  const cpu =
    target === undefined
      ? []
      : [
          {
            type: "Resource",
            resource: { name: "cpu", target: { type: "Utilization", averageUtilization: target } },
          },
        ];
  const others = note(METRICS);
  // Users may write the annotation, so its value is checked.
  const noted = Array.isArray(others) ? others.filter(isObject).map(newerMetric) : [];
  const metrics = [...noted, ...cpu];
  const behavior = outerNames(note(BEHAVIOR));
  const conditions = note(CONDITIONS);
  const currentMetrics = note(CURRENT_METRICS) ?? null;
  const { annotations: _before, ...bare } = metadata;
  return {
    ...object,
    apiVersion: "autoscaling/v2",
    metadata: Object.keys(annotations).length === 0 ? bare : { ...bare, annotations },
    spec: {
      ...restOfSpec,
      ...(metrics.length === 0 ? {} : { metrics }),
      ...(behavior === undefined ? {} : { behavior }),
    },
    status: {
      ...restOfStatus,
      ...(currentReplicas ? { currentReplicas } : {}),
      currentMetrics,
      ...(conditions === undefined ? {} : { conditions }),
    },
  } as KubeObject;
}

function isCpu({ type, resource }: Raw): boolean {
  return (
    type === "Resource" &&
    resource?.name === "cpu" &&
    resource.target?.averageUtilization !== undefined
  );
}

/**
 * A metric as v1. Both versions name the source's field by the metric type. v1 has flat target fields, v2 has
 * a target object.
 */
function olderMetric(metric: Raw): object {
  const [field, source] = sourceOf(metric);
  const { target = {}, metric: id, describedObject, ...rest } = source;
  const values =
    field === "resource" || field === "containerResource"
      ? {
          targetAverageUtilization: target.averageUtilization,
          targetAverageValue: target.averageValue,
        }
      : field === "object"
        ? { target: describedObject, targetValue: target.value, averageValue: target.averageValue }
        : { targetValue: target.value, targetAverageValue: target.averageValue };
  // The fields are in the order of Go's, because annotations are compared as text.
  const named = id === undefined ? {} : { metricName: id.name };
  const selector = field === "external" ? { metricSelector: id?.selector } : {};
  const last = field === "pods" || field === "object" ? { selector: id?.selector } : {};
  const { container, ...first } = rest;
  return {
    type: metric.type,
    [field]: { ...first, ...named, ...selector, ...values, ...last, container },
  };
}

function newerMetric(metric: Raw): object {
  const [field, source] = sourceOf(metric);
  const { name, container, metricName, selector, metricSelector } = source;
  const utilization = source.targetAverageUtilization;
  const average = source.targetAverageValue ?? source.averageValue;
  const value = average === undefined ? source.targetValue : undefined;
  const target = {
    type:
      utilization !== undefined ? "Utilization" : value !== undefined ? "Value" : "AverageValue",
    averageUtilization: utilization,
    averageValue: average,
    value,
  };
  const id =
    metricName === undefined
      ? undefined
      : { name: metricName, selector: selector ?? metricSelector };
  const described = field === "object" ? source.target : undefined;
  const parts = { name, container, describedObject: described, metric: id, target };
  return JSON.parse(JSON.stringify({ type: metric.type, [field]: parts }));
}

/** Scaling rules as Go prints its structs, with capitalized field names. */
function innerBehavior({ scaleUp, scaleDown }: Raw): object {
  const rules = (one: Raw) =>
    one === undefined
      ? null
      : {
          StabilizationWindowSeconds: one.stabilizationWindowSeconds ?? null,
          SelectPolicy: one.selectPolicy ?? null,
          Policies: (one.policies ?? []).map(({ type, value, periodSeconds }: Raw) => ({
            Type: type,
            Value: value,
            PeriodSeconds: periodSeconds,
          })),
          Tolerance: one.tolerance ?? null,
        };
  return { ScaleUp: rules(scaleUp), ScaleDown: rules(scaleDown) };
}

function outerNames(value: Raw): Raw {
  if (Array.isArray(value)) return value.map(outerNames);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, field]) => field !== null)
      .map(([name, field]) => [`${name[0]?.toLowerCase()}${name.slice(1)}`, outerNames(field)]),
  );
}

function sourceOf(metric: Raw): readonly [string, Raw] {
  const found = Object.entries(metric).find(([name]) => name !== "type");
  return found !== undefined && isObject(found[1]) ? [found[0], found[1]] : ["resource", {}];
}
