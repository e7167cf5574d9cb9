/** The kinds of metrics.k8s.io/v1beta1: the measured usage of nodes and of containers. */
import type { Kind, KubeObject, ResourceAmounts } from "../meta.ts";

interface Sampled extends KubeObject {
  /** End of the interval that was measured. */
  readonly timestamp: string;
  /** Length of that interval, such as `15s`. */
  readonly window: string;
}

/** Usage of a node, as `kubectl top nodes` shows it. */
export interface NodeMetrics extends Sampled {
  readonly usage: ResourceAmounts;
}

/** Usage of each container of a pod, as autoscalers read it. */
export interface PodMetrics extends Sampled {
  readonly containers: readonly { readonly name: string; readonly usage: ResourceAmounts }[];
}

export const NODE_METRICS: Kind<NodeMetrics> = {
  group: "metrics.k8s.io",
  version: "v1beta1",
  kind: "NodeMetrics",
  plural: "nodes",
  namespaced: false,
};

export const POD_METRICS: Kind<PodMetrics> = {
  group: "metrics.k8s.io",
  version: "v1beta1",
  kind: "PodMetrics",
  plural: "pods",
  namespaced: true,
};
