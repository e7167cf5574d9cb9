/**
 * HorizontalPodAutoscalers of autoscaling/v2, and the Scale subresource through which they set the replicas of a
 * workload.
 */
import type { Condition, Kind, KubeObject, LabelSelector } from "../meta.ts";

/** The target value of a metric. `type` says which of the other fields applies. */
export interface MetricTarget {
  readonly type: string;
  /** Average usage in percent of the pods' requests. */
  readonly averageUtilization?: number;
  readonly averageValue?: string | number;
  readonly value?: string | number;
}

interface NamedMetric {
  readonly name: string;
  readonly selector?: LabelSelector;
}

/** One metric of an autoscaler. The metric that requires the most replicas decides. */
export interface AutoscalerMetric {
  readonly type: "Resource" | "ContainerResource" | "Pods" | "Object" | "External";
  readonly resource?: { readonly name: string; readonly target: MetricTarget };
  readonly containerResource?: {
    readonly name: string;
    readonly container: string;
    readonly target: MetricTarget;
  };
  readonly pods?: { readonly metric: NamedMetric; readonly target: MetricTarget };
  readonly object?: {
    readonly metric: NamedMetric;
    readonly target: MetricTarget;
    readonly describedObject: { readonly kind: string; readonly name: string };
  };
  readonly external?: { readonly metric: NamedMetric; readonly target: MetricTarget };
}

/** How much may change in a period: `value` pods or percent in `periodSeconds`. */
export interface ScalingPolicy {
  readonly type: "Pods" | "Percent";
  readonly value: number;
  readonly periodSeconds: number;
}

/** Limits on the speed of scaling, in one direction. */
export interface ScalingRules {
  readonly stabilizationWindowSeconds?: number;
  readonly selectPolicy?: "Max" | "Min" | "Disabled";
  readonly policies?: readonly ScalingPolicy[];
}

/** A HorizontalPodAutoscaler of autoscaling/v2. */
export interface HorizontalPodAutoscaler extends KubeObject {
  readonly spec: {
    readonly scaleTargetRef: {
      readonly apiVersion?: string;
      readonly kind: string;
      readonly name: string;
    };
    readonly minReplicas?: number;
    readonly maxReplicas: number;
    readonly metrics?: readonly AutoscalerMetric[];
    readonly behavior?: { readonly scaleUp?: ScalingRules; readonly scaleDown?: ScalingRules };
  };
  readonly status?: {
    readonly currentReplicas?: number;
    readonly desiredReplicas?: number;
    readonly lastScaleTime?: string;
    readonly currentMetrics?: readonly unknown[] | null;
    readonly conditions?: readonly Condition[];
  };
}

/** The subresource `scale` of a workload, as autoscalers read and write it. */
export interface Scale extends KubeObject {
  readonly spec?: { readonly replicas?: number };
  readonly status?: { readonly replicas?: number; readonly selector?: string };
}

export const HORIZONTAL_POD_AUTOSCALER: Kind<HorizontalPodAutoscaler> = {
  group: "autoscaling",
  version: "v2",
  kind: "HorizontalPodAutoscaler",
  plural: "horizontalpodautoscalers",
  namespaced: true,
};
