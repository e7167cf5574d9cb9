/**
 * Wraps the cloud provider for one controller: each call is timed, and its errors are counted under the controller's
 * name. The last known instance types of each pool are kept, because the cost of running nodes is computed from them.
 * upstream: pkg/cloudprovider/metrics/cloudprovider.go
 */
import type { NodeClaim } from "../apis/karpenter/nodeclaim.ts";
import type { MetricSpec } from "../base/metrics.ts";
import type { CloudProvider } from "../core/cloudprovider/cloud-provider.ts";
import type { InstanceType } from "../core/cloudprovider/instance-type.ts";
import { poolLabel } from "./words.ts";
import type { World } from "./world.ts";

/** Metrics of calls to the cloud provider: duration and errors. */
export const CLOUD_METRICS: readonly MetricSpec[] = [
  {
    name: "cloudprovider_duration_seconds",
    type: "histogram",
    help: "Time that a call to the cloud provider took.",
    labels: ["controller", "method", "provider"],
  },
  {
    name: "cloudprovider_errors_total",
    type: "counter",
    help: "Number of errors that the cloud provider returned.",
    labels: ["controller", "method", "provider", "error", "nodepool"],
  },
];

/** Error classes that have their own label value in the metric. */
const NAMED: ReadonlySet<string> = new Set([
  "NodeClaimNotFoundError",
  "NodeClassNotReadyError",
  "InsufficientCapacityError",
]);

const OTHER_ERROR = "unknown";

/** The instance types of each pool (by id) from the last successful call. */
export type LastTypes = Map<string, readonly InstanceType[]>;

/** Wraps the cloud provider so that each call is timed and counted under the controller's name. */
export function meteredCloud(
  { cloud, clock, metrics }: Pick<World, "cloud" | "clock" | "metrics">,
  controller: string,
  lastTypes: LastTypes,
): CloudProvider {
  const provider = cloud.name;

  async function timed<T>(method: string, nodepool: string, call: () => Promise<T>): Promise<T> {
    const startMs = clock.now();
    try {
      return await call();
    } catch (error) {
      const name = error instanceof Error && NAMED.has(error.name) ? error.name : OTHER_ERROR;
      const labels = { controller, method, provider, error: name, nodepool };
      metrics.count("cloudprovider_errors_total", labels);
      throw error;
    } finally {
      const seconds = (clock.now() - startMs) / 1_000;
      metrics.observe("cloudprovider_duration_seconds", { controller, method, provider }, seconds);
    }
  }

  const timedOn = <T>(method: string, claim: NodeClaim, call: () => Promise<T>): Promise<T> =>
    timed(method, poolLabel(claim.metadata), call);

  return {
    name: cloud.name,
    nodeClassKinds: cloud.nodeClassKinds,
    wellKnownLabels: cloud.wellKnownLabels,
    // A getter, because tests replace the policies later.
    get repairPolicies() {
      return cloud.repairPolicies;
    },
    create: (claim) => timedOn("Create", claim, () => cloud.create(claim)),
    delete: (claim) => timedOn("Delete", claim, () => cloud.delete(claim)),
    reboot: (claim, operation) => timedOn("Reboot", claim, () => cloud.reboot(claim, operation)),
    get: (providerId) => timed("Get", "", () => cloud.get(providerId)),
    list: () => timed("List", "", () => cloud.list()),
    // These methods exist only in karpenter-ts, so upstream's metrics have no values for them.
    takeOver: (claim, providerId) => cloud.takeOver(claim, providerId),
    quotaRoom: () => cloud.quotaRoom(),
    labelsOfRunning: (claim) => cloud.labelsOfRunning(claim),
    isTakenBack: (claim) => cloud.isTakenBack(claim),
    isTypeGone: (claim) => cloud.isTypeGone(claim),
    isDrifted: (claim) => timedOn("IsDrifted", claim, () => cloud.isDrifted(claim)),
    getInstanceTypes: async (pool) => {
      try {
        const types = await timed("GetInstanceTypes", pool.name, () =>
          cloud.getInstanceTypes(pool),
        );
        lastTypes.set(pool.id, types);
        return types;
      } catch (error) {
        // The cost of the pool's nodes is then computed from the last known types, so it may be outdated.
        metrics.count("nodepools_cost_tracker_errors_total", { nodepool: pool.name });
        throw error;
      }
    },
  };
}
