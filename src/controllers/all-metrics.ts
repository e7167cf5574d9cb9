/** The metrics of all controllers, which the operator registers. Some have labels that the provider defines. */
import type { MetricSpec } from "../base/metrics.ts";
import type { CloudProvider } from "../core/cloudprovider/cloud-provider.ts";
import { DELETION_COST_METRICS } from "./deletioncost/metrics.ts";
import { DISRUPTION_METRICS } from "./disruption/metrics.ts";
import { ENDING_METRICS } from "./ending/ended.ts";
import { CLOUD_METRICS } from "./metered-cloud.ts";
import { nodeGaugeMetrics } from "./metrics/nodes.ts";
import { POD_METRICS } from "./metrics/pods.ts";
import { POOL_METRICS } from "./metrics/pools.ts";
import { statusMetrics } from "./metrics/status.ts";
import { NODE_METRICS } from "./node/metrics.ts";
import { NODECLAIM_METRICS } from "./nodeclaim/metrics.ts";
import { PROVISIONING_METRICS } from "./provisioning/metrics.ts";
import { STATE_METRICS } from "./state/metrics.ts";

/** All metrics of the controllers. */
export function controllerMetrics(
  provider: Pick<CloudProvider, "nodeClassKinds" | "wellKnownLabels">,
): readonly MetricSpec[] {
  return [
    ...PROVISIONING_METRICS,
    ...NODECLAIM_METRICS,
    ...NODE_METRICS,
    ...DISRUPTION_METRICS,
    ...DELETION_COST_METRICS,
    ...STATE_METRICS,
    ...CLOUD_METRICS,
    ...ENDING_METRICS,
    ...POOL_METRICS,
    ...nodeGaugeMetrics(provider.wellKnownLabels),
    ...POD_METRICS,
    ...statusMetrics(provider),
  ];
}
