/** Every metric that a controller moves: what the operator registers. */

import type { MetricSpec } from "../base/metrics.ts";
import { DISRUPTION_METRICS } from "./disruption/metrics.ts";
import { NODE_GAUGE_METRICS } from "./metrics/nodes.ts";
import { NODE_METRICS } from "./node/metrics.ts";
import { NODECLAIM_METRICS } from "./nodeclaim/metrics.ts";
import { NODEPOOL_METRICS } from "./nodepool/metrics.ts";
import { PROVISIONING_METRICS } from "./provisioning/metrics.ts";

export const ALL_METRICS: readonly MetricSpec[] = [
  ...PROVISIONING_METRICS,
  ...NODECLAIM_METRICS,
  ...NODE_METRICS,
  ...NODEPOOL_METRICS,
  ...DISRUPTION_METRICS,
  ...NODE_GAUGE_METRICS,
];
